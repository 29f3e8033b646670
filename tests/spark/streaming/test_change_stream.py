"""`streaming-changes` and `t.changes` as a stream: inserted and deleted rows of every snapshot, applied to a copy."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from floeberg.errors import InvalidInput

COLUMNS = ["id", "p", "_change_type", "_change_ordinal", "_commit_snapshot_id"]


class Copy:
    """A copy of `lake.db.t` that a stream of its changes keeps."""

    def __init__(self, session: Any, folder: Any) -> None:
        self.session, self.folder = session, folder
        self.rows: Counter[tuple[Any, ...]] = Counter()
        self.ordinals: list[int] = []

    def run(self, name: str = "lake.db.t", **options: str) -> list[Counter[tuple[Any, ...]]]:
        """Applies all there is; the changes of each new batch."""
        given = options if name.endswith(".changes") else {"streaming-changes": "true", **options}
        frame = self.session.readStream.format("iceberg").options(**given).load(name)
        assert frame.columns == COLUMNS
        batches: list[list[Any]] = []

        def collect(batch: Any, epoch: int) -> None:
            batches.append(sorted(tuple(row) for row in batch.drop("_commit_snapshot_id").collect()))

        writer = frame.writeStream.foreachBatch(collect).trigger(availableNow=True)
        writer.option("checkpointLocation", f"{self.folder}/checkpoint").start().awaitTermination()
        for batch in batches:
            self._apply(batch)
        return [Counter(row[:3] for row in batch) for batch in batches]

    def _apply(self, changes: list[Any]) -> None:
        for *row, kind, ordinal in sorted(changes, key=lambda change: (change[3], change[2])):
            self.ordinals.append(ordinal)
            self.rows[tuple(row)] += 1 if kind == "INSERT" else -1
        assert min(self.rows.values(), default=0) >= 0
        assert self.ordinals == sorted(self.ordinals)

    def is_equal(self) -> bool:
        return +self.rows == Counter(map(tuple, self.session.table("lake.db.t").collect()))


@pytest.fixture
def copy(session: Any, tmp_path: Any) -> Copy:
    return Copy(session, tmp_path)


@pytest.fixture(params=["copy-on-write", "merge-on-read"])
def changing(request: Any, session: Any, table: Any) -> Any:
    modes = ", ".join(f"'write.{kind}.mode' = '{request.param}'" for kind in ("delete", "update", "merge"))
    session.sql(f"ALTER TABLE lake.db.t SET TBLPROPERTIES ({modes})")
    session.sql("INSERT INTO lake.db.t SELECT /*+ COALESCE(1) */ id, 0 FROM range(4)")
    return table


def test_a_copy_follows_every_kind_of_change(session: Any, changing: Any, copy: Copy) -> None:
    session.sql("DELETE FROM lake.db.t WHERE id = 3")
    assert copy.run() == [Counter([*((id, 0, "INSERT") for id in range(4)), (3, 0, "DELETE")])]
    assert copy.is_equal()
    session.sql("UPDATE lake.db.t SET p = 5 WHERE id = 1")
    session.sql("CALL lake.system.rewrite_data_files(table => 'db.t', options => map('rewrite-all', 'true'))")
    session.sql("""
        MERGE INTO lake.db.t t USING (SELECT id, CAST(9 AS INT) AS p FROM range(2, 6)) s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
    """)
    session.sql("INSERT INTO lake.db.t VALUES (8, 8)")
    (batch,) = copy.run()  # the rows that were only copied are no changes
    updated = [(1, 0, "DELETE"), (1, 5, "INSERT"), (2, 0, "DELETE"), (2, 9, "INSERT")]
    assert batch == Counter([*updated, *((id, 9, "INSERT") for id in (3, 4, 5)), (8, 8, "INSERT")])
    assert copy.is_equal()
    assert copy.run() == []
    session.sql("INSERT OVERWRITE lake.db.t VALUES (1, 5), (7, 7)")
    copy.run()
    assert copy.is_equal()
    assert copy.ordinals[-1] == 5


@pytest.mark.connect
def test_a_stream_of_changes_to_a_table(session: Any, table: Any, tmp_path: Any) -> None:
    session.sql("INSERT INTO lake.db.t SELECT /*+ COALESCE(1) */ id, 0 FROM range(4)")
    for statement in ("UPDATE lake.db.t SET p = 5 WHERE id = 1", "DELETE FROM lake.db.t WHERE id = 2"):
        session.sql(statement)
        query = session.readStream.table("lake.db.t.changes").writeStream.format("iceberg")
        query = query.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
        query.toTable("lake.db.log").awaitTermination()
    found = session.sql("SELECT id, p, change FROM (SELECT *, _change_type AS change FROM lake.db.log)").collect()
    changed = [(1, 0, "DELETE"), (1, 5, "INSERT"), (2, 0, "DELETE")]
    assert Counter(map(tuple, found)) == Counter([*((id, 0, "INSERT") for id in range(4)), *changed])
    session.sql("DROP TABLE lake.db.log")


def test_limits_split_what_can_be_read_apart(session: Any, changing: Any, copy: Copy) -> None:
    session.sql("ALTER TABLE lake.db.t ADD PARTITION FIELD p")
    session.sql("INSERT INTO lake.db.t SELECT /*+ COALESCE(1) */ id, CAST(id % 3 AS INT) FROM range(10, 19)")
    session.sql("UPDATE lake.db.t SET id = id + 100 WHERE id % 2 = 0")
    batches = copy.run("lake.db.t.changes", **{"streaming-max-files-per-micro-batch": "1"})
    assert len(batches) >= 5
    assert copy.is_equal()


def test_a_stream_starts_at_a_snapshot_with_its_live_rows(session: Any, changing: Any, copy: Copy) -> None:
    session.sql("DELETE FROM lake.db.t WHERE id = 0")
    second = session.lake.load_table("db.t").current_snapshot.snapshot_id
    session.sql("DELETE FROM lake.db.t WHERE id = 1")
    (batch,) = copy.run(**{"stream-from-snapshot-id": str(second)})
    assert batch == Counter([(1, 0, "INSERT"), (2, 0, "INSERT"), (3, 0, "INSERT"), (1, 0, "DELETE")])
    session.sql("DELETE FROM lake.db.t WHERE id = 2")
    session.sql(
        "CALL lake.system.expire_snapshots(table => 'db.t', older_than => TIMESTAMP '2100-01-01', retain_last => 1)"
    )
    with pytest.raises(StreamingQueryException, match="streaming-on-expired"):
        copy.run(**{"stream-from-snapshot-id": str(second)})


def test_a_checkpoint_is_for_changes_or_for_appends(session: Any, changing: Any, copy: Copy) -> None:
    copy.run()
    query = session.readStream.table("lake.db.t").writeStream.format("noop").trigger(availableNow=True)
    query = query.option("checkpointLocation", f"{copy.folder}/checkpoint").start()
    with pytest.raises(StreamingQueryException, match="streaming-changes cannot be changed"):
        query.awaitTermination()


def test_changes_have_nothing_to_skip(session: Any, table: Any) -> None:
    options = {"streaming-changes": "true", "streaming-skip-delete-snapshots": "true"}
    with pytest.raises(InvalidInput, match="streaming-skip-delete-snapshots"):
        session.readStream.options(**options).table("lake.db.t")
    with pytest.raises(InvalidInput, match="a table, its changes or a branch"):
        session.readStream.table("lake.db.t.files")
