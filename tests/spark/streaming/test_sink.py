"""`df.writeStream` into tables: one commit per epoch, once, in the modes that a table takes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException

from floeberg.errors import InvalidInput, TableNotFound, UnsupportedFeature
from floeberg.spark.workers import check as worker_check


def ids(session, name: str = "lake.db.t") -> list[int]:
    return sorted(row[0] for row in session.table(name).select("id").collect())


def forget_last_commit(stream) -> None:
    """As after a crash between our commit and Spark's."""
    log = Path(stream.checkpoint) / "commits"
    last = max(int(one.name) for one in log.iterdir() if one.name.isdecimal())
    for name in (str(last), f".{last}.crc"):
        (log / name).unlink(missing_ok=True)


def killed_in_the_first_entry(stream) -> None:
    """As after a kill while Spark wrote the first entry of its offset log: only the temporary file is there."""
    at = Path(stream.checkpoint)
    for log in ("offsets", "commits"):
        shutil.rmtree(at / log)
        (at / log).mkdir()
    (at / "offsets" / ".0.7e1c.tmp").write_text("v1")


@pytest.mark.connect
def test_a_query_that_was_killed_while_spark_wrote_its_first_entry_starts_again(session, table, stream):
    stream.run()
    stream.ids(1)
    stream.ids(2)
    killed_in_the_first_entry(stream)
    stream.run()
    assert ids(session) == [1, 2]


def test_a_checkpoint_that_lost_its_offsets_is_refused_as_spark_does(session, table, stream):
    stream.ids(1)
    stream.run()
    shutil.rmtree(Path(stream.checkpoint) / "offsets")
    with pytest.raises(StreamingQueryException, match=r"assertion failed|should be empty on batch 0"):
        stream.run()


@pytest.mark.connect
def test_each_epoch_is_one_commit_of_the_query(session, table, stream):
    for batch in ((1, 2), (3,), (4, 5)):
        stream.ids(*batch)
    stream.run()
    assert ids(session) == [1, 2, 3, 4, 5]
    query_id = json.loads((Path(stream.checkpoint) / "metadata").read_text())["id"]
    found = [snapshot.summary for snapshot in table.refresh().snapshots]
    assert [summary["spark.sql.streaming.epochId"] for summary in found] == ["0", "1", "2"]
    assert {summary["spark.sql.streaming.queryId"] for summary in found} == {query_id}
    assert table.txn_version(query_id) == 2


def test_a_replayed_epoch_commits_nothing(session, table, stream):
    stream.ids(1)
    stream.ids(2)
    stream.run()
    session.sql("INSERT INTO lake.db.t VALUES (100, 1)")
    before = table.refresh().metadata_location
    forget_last_commit(stream)
    stream.run()
    assert table.refresh().metadata_location == before
    stream.ids(3)
    stream.run()
    assert ids(session) == [1, 2, 3, 100]


def test_a_replayed_epoch_is_known_after_its_snapshot_expired(session, table, stream):
    stream.ids(1)
    stream.run()
    session.sql("INSERT INTO lake.db.t VALUES (100, 1)")
    session.sql(
        "CALL lake.system.expire_snapshots(table => 'db.t', older_than => TIMESTAMP '2100-01-01', retain_last => 1)"
    )
    assert len(table.refresh().snapshots) == 1
    forget_last_commit(stream)
    stream.run()
    assert ids(session) == [1, 100]


def test_a_new_checkpoint_is_a_new_query(session, table, stream):
    stream.ids(1)
    stream.run()
    shutil.rmtree(stream.checkpoint)
    stream.run()
    assert ids(session) == [1, 1]


def test_a_copied_checkpoint_is_an_error(session, table, stream):
    stream.ids(1)
    stream.run()
    copied = f"{stream.checkpoint}-copy"
    shutil.copytree(stream.checkpoint, copied)
    stream.ids(2)
    stream.run()
    stream.checkpoint = copied
    with pytest.raises(StreamingQueryException, match="checkpoint location of its own"):
        stream.run()
    assert ids(session) == [1, 2]


def test_complete_mode_replaces_the_rows_each_epoch(session, stream):
    stream.ids(1, 2, 3)
    stream.ids(4, 5)
    counts = stream.frame().groupBy("p").count()
    stream.writer(counts).outputMode("complete").toTable("lake.db.counts").awaitTermination()
    assert sorted(map(tuple, session.table("lake.db.counts").collect())) == [(0, 1), (1, 2), (2, 2)]
    operations = [one.operation for one in session.lake.load_table("db.counts").snapshots]
    assert operations == ["overwrite", "overwrite"]
    session.sql("DROP TABLE lake.db.counts")


def test_a_partitioned_and_sorted_table_is_made_and_written(session, stream):
    stream.ids(*range(12))
    stream.writer().partitionBy("p").toTable("lake.db.made").awaitTermination()
    session.sql("ALTER TABLE lake.db.made WRITE ORDERED BY id DESC")
    stream.ids(*range(12, 24))
    stream.run("lake.db.made")
    made = session.lake.load_table("db.made")
    assert [str(one.transform) for one in made.spec.fields] == ["identity"]
    assert {row["p"] for row in made.inspect.files().to_pylist() for row in [row["partition"]]} == {0, 1, 2}
    assert ids(session, "lake.db.made") == [*range(24)]
    newest = session.sql("SELECT id FROM lake.db.made WHERE p = 0 AND id >= 12").collect()
    assert [row[0] for row in newest] == sorted((row[0] for row in newest), reverse=True)
    session.sql("DROP TABLE lake.db.made")


def test_branches_and_write_audit_publish(session, table, stream):
    session.sql("INSERT INTO lake.db.t VALUES (100, 1)")
    session.sql("ALTER TABLE lake.db.t CREATE BRANCH b")
    stream.ids(1)
    stream.run("lake.db.t.branch_b")
    assert (ids(session), ids(session, "lake.db.t.branch_b")) == ([100], [1, 100])
    session.sql("ALTER TABLE lake.db.t SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    stream.checkpoint += "-2"
    session.conf.set("spark.wap.branch", "audit")
    try:
        stream.run()
        forget_last_commit(stream)
        stream.run()
    finally:
        session.conf.unset("spark.wap.branch")
    assert (ids(session), ids(session, "lake.db.t.branch_audit")) == ([100], [1, 100])
    session.sql("CALL lake.system.fast_forward('db.t', 'main', 'audit')")
    forget_last_commit(stream)
    stream.run()
    assert ids(session) == [1, 100]


def test_start_takes_the_name_of_a_table_that_is_there(session, table, stream):
    stream.ids(1)
    stream.writer().start("lake.db.t").awaitTermination()
    stream.ids(2)
    stream.writer().option("path", "lake.db.t").start().awaitTermination()
    assert ids(session) == [1, 2]
    with pytest.raises(TableNotFound):
        stream.writer().start("lake.db.nowhere")


def test_the_default_checkpoint_counts_with_a_query_name_only(session, table, stream):
    stream.ids(1)
    writer = stream.frame().writeStream.trigger(availableNow=True)
    with pytest.raises(InvalidInput, match="checkpointLocation"):
        writer.toTable("lake.db.t")
    session.conf.set("spark.sql.streaming.checkpointLocation", stream.checkpoint)
    try:
        with pytest.raises(InvalidInput, match="queryName"):
            writer.toTable("lake.db.t")
        writer.queryName("named").toTable("lake.db.t").awaitTermination()
    finally:
        session.conf.unset("spark.sql.streaming.checkpointLocation")
    assert ids(session) == [1]
    assert (Path(stream.checkpoint) / "named" / "metadata").is_file()


def test_a_table_that_was_made_anew_under_a_running_query_is_an_error(session, table, stream):
    stream.ids(1)
    query = stream.writer().trigger(processingTime="0 seconds").toTable("lake.db.t")
    query.processAllAvailable()
    session.sql("DROP TABLE lake.db.t")
    session.sql("CREATE TABLE lake.db.t (id BIGINT, p INT) USING iceberg")
    stream.ids(2)
    with pytest.raises(StreamingQueryException, match="created anew"):
        query.processAllAvailable()
    assert ids(session) == []


REFUSED = [
    (lambda writer: writer.outputMode("update"), UnsupportedFeature, "output mode update"),
    (lambda writer: writer.trigger(continuous="1 second"), UnsupportedFeature, "continuous processing"),
    (lambda writer: writer.option("txnAppId", "x").option("txnVersion", "1"), InvalidInput, "leave txnAppId out"),
    (lambda writer: writer.option("no-such-option", "x"), UnsupportedFeature, "no-such-option"),
    (lambda writer: writer.partitionBy("p"), InvalidInput, "is partitioned by nothing"),
    (lambda writer: writer.foreachBatch(lambda batch, epoch: None), InvalidInput, "not both"),
]


@pytest.mark.parametrize(("tell", "kind", "named"), REFUSED, ids=[named for _, _, named in REFUSED])
def test_what_a_table_cannot_take_is_refused_at_the_start(table, stream, tell, kind, named):
    with pytest.raises(kind, match=named):
        tell(stream.writer()).toTable("lake.db.t")
    assert len(table.refresh().snapshots) == 0


def test_streams_to_sparks_own_sinks_pass(session, stream):
    stream.ids(1, 2)
    target = f"{stream.folder}/out"
    writer = stream.frame().writeStream.option("checkpointLocation", stream.checkpoint).trigger(availableNow=True)
    writer.partitionBy("p").format("parquet").start(target).awaitTermination()
    assert sorted(one.name for one in Path(target).glob("p=*")) == ["p=1", "p=2"]


def test_workers_are_asked_what_they_have_once_for_all_epochs(session, table, stream, monkeypatch):
    asked = []
    ask = worker_check._asked

    def counted(spark):
        asked.append(spark)
        return ask(spark)

    monkeypatch.setattr(worker_check, "_asked", counted)
    monkeypatch.setattr(worker_check, "_checked", type(worker_check._checked)())
    monkeypatch.setattr(worker_check, "_equipped", set())
    for number in range(3):
        stream.ids(number)
    stream.run()
    assert len(table.refresh().snapshots) == 3
    assert len(asked) == 1
