"""`spark.readStream` of tables: the rows of the start snapshot, then what appends add."""

from __future__ import annotations

import pytest
from pyspark.errors import StreamingQueryException

import floeberg as fb
from floeberg.errors import InvalidInput, UnsupportedFeature


class Reading:
    """A query that reads `lake.db.t` into a folder of files, whose batches can be looked at."""

    def __init__(self, session, folder, **options):
        self.session, self.folder, self.options = session, folder, options

    def run(self, name="lake.db.t"):
        """All there is, as lists of ids, one for each new batch."""
        seen = []
        frame = self.session.readStream.format("iceberg").options(**self.options).load(name)

        def collect(batch, epoch):
            seen.append(sorted(row[0] for row in batch.select("id").collect()))

        writer = frame.writeStream.foreachBatch(collect).trigger(availableNow=True)
        writer.option("checkpointLocation", f"{self.folder}/checkpoint").start().awaitTermination()
        return seen


@pytest.fixture
def reading(session, tmp_path):
    return Reading(session, tmp_path)


def test_live_rows_come_first_then_appends_and_nothing_twice(session, table, reading):
    session.sql("ALTER TABLE lake.db.t SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    session.sql("INSERT INTO lake.db.t VALUES (1, 1), (2, 2), (3, 3)")
    session.sql("DELETE FROM lake.db.t WHERE id = 2")
    session.sql(
        "CALL lake.system.expire_snapshots(table => 'db.t', older_than => TIMESTAMP '2100-01-01', retain_last => 1)"
    )
    assert reading.run() == [[1, 3]]
    session.sql("INSERT INTO lake.db.t VALUES (4, 4)")
    session.sql("INSERT INTO lake.db.t VALUES (5, 5)")
    assert reading.run() == [[4, 5]]
    assert reading.run() == []


def test_limits_split_the_first_rows_and_the_appends(session, table, reading):
    for number in range(5):
        session.sql(f"INSERT INTO lake.db.t VALUES ({number}, 0)")
    reading.options = {"streaming-max-files-per-micro-batch": "2"}
    batches = reading.run()
    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert sorted(id for batch in batches for id in batch) == [0, 1, 2, 3, 4]


def test_a_query_keeps_its_schema_and_a_restart_sees_new_columns(session, table, reading):
    session.sql("INSERT INTO lake.db.t VALUES (1, 1)")
    frame = session.readStream.table("lake.db.t")
    session.sql("ALTER TABLE lake.db.t RENAME COLUMN p TO q")
    session.sql("ALTER TABLE lake.db.t ADD COLUMN x STRING")
    session.sql("INSERT INTO lake.db.t VALUES (2, 2, 'new')")
    assert frame.columns == ["id", "p"]
    writer = frame.writeStream.format("memory").queryName("kept").trigger(availableNow=True)
    writer.option("checkpointLocation", f"{reading.folder}/kept").start().awaitTermination()
    assert sorted(map(tuple, session.table("kept").collect())) == [(1, 1), (2, 2)]
    assert session.readStream.table("lake.db.t").columns == ["id", "q", "x"]


def test_deletes_are_errors_unless_they_are_skipped(session, table, reading):
    session.sql("INSERT INTO lake.db.t VALUES (1, 1)")
    assert reading.run() == [[1]]
    session.sql("DELETE FROM lake.db.t WHERE id = 1")
    session.sql("INSERT INTO lake.db.t VALUES (2, 2)")
    with pytest.raises(StreamingQueryException, match="streaming-skip-delete-snapshots"):
        reading.run()
    reading.options = {"streaming-skip-delete-snapshots": "true"}
    assert reading.run() == [[2]]


def test_a_table_that_was_made_anew_is_an_error(session, table, reading):
    session.sql("INSERT INTO lake.db.t VALUES (1, 1)")
    reading.run()
    session.sql("DROP TABLE lake.db.t")
    session.sql("CREATE TABLE lake.db.t (id BIGINT, p INT) USING iceberg")
    with pytest.raises(StreamingQueryException, match="another table"):
        reading.run()


@pytest.mark.connect
def test_a_stream_from_table_to_table(session, table, stream):
    session.sql("CREATE TABLE lake.db.copy (id BIGINT, p INT) USING iceberg")
    session.sql("INSERT INTO lake.db.t SELECT id, CAST(id AS INT) FROM range(100)")
    for _ in range(2):
        writer = stream.writer(session.readStream.table("lake.db.t"))
        writer.toTable("lake.db.copy").awaitTermination()
        session.sql("INSERT INTO lake.db.t VALUES (100, 1)")
    assert session.table("lake.db.copy").count() == 101
    session.sql("DROP TABLE lake.db.copy")


REFUSED = [
    ({"no-such": "1"}, InvalidInput, "no-such"),
    ({"streaming-max-files-per-micro-batch": "0"}, InvalidInput, "from 1 on"),
    ({"streaming-on-expired": "x"}, InvalidInput, "fail or oldest"),
    ({"stream-from-timestamp": "1", "stream-from-snapshot-id": "1"}, InvalidInput, "keep one"),
]


@pytest.mark.parametrize(("options", "kind", "named"), REFUSED, ids=[named for _, _, named in REFUSED])
def test_options_that_a_stream_does_not_know_are_refused(session, table, options, kind, named):
    with pytest.raises(kind, match=named):
        session.readStream.format("iceberg").options(**options).load("lake.db.t")


def test_what_another_process_cannot_reach_is_refused(session):
    memory = fb.catalog("mem", type="memory")
    memory.create_namespace("db")
    memory.create_table("db.t", "id bigint")
    fb.attach(session, memory)
    with pytest.raises(UnsupportedFeature, match="runs in another process"):
        session.readStream.table("mem.db.t")
