"""CDC in Structured Streaming: each epoch is one commit, and takes effect once."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import floeberg as fb

OPTIONS: dict[str, Any] = {"keys": "id", "op": "op", "order_by": "ord"}
EVENTS = "op string, ord bigint, id bigint, name string"


class Source:
    """A folder of JSON files, each of which is one epoch."""

    def __init__(self, spark: Any, folder: Path, schema: str = EVENTS) -> None:
        self.spark, self.schema = spark, schema
        self.files, self.checkpoint = folder / "input", str(folder / "checkpoint")
        self.files.mkdir()

    def add(self, *rows: dict[str, Any]) -> None:
        number = len(list(self.files.iterdir()))
        path = self.files / f"{number:04}.json"
        path.write_text("\n".join(json.dumps(row) for row in rows))
        os.utime(path, (number, number))  # Spark takes files in the order of their times

    def frame(self) -> Any:
        return self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1).json(str(self.files))

    def run(self, table: Any, **options: Any) -> None:
        writer = fb.cdc(self.frame(), table, checkpoint=self.checkpoint, **{**OPTIONS, **options})
        writer.trigger(availableNow=True).start().awaitTermination()

    def forget_last_commit(self) -> None:
        """What a crash leaves between the table's commit and Spark's own."""
        log = Path(self.checkpoint) / "commits"
        last = max((path for path in log.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
        last.unlink()
        for crc in log.glob(".*.crc"):
            crc.unlink()


@pytest.fixture
def source(session: Any, tmp_path: Path) -> Source:
    return Source(session, tmp_path)


def _event(op: str, order: int, key: int, name: str | None = None, **more: Any) -> dict[str, Any]:
    return {"op": op, "ord": order, "id": key, "name": name, **more}


def _rows(spark: Any, table: str) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in spark.table(table).collect()}


@pytest.mark.connect
def test_a_stream_commits_each_epoch_once_also_when_the_last_one_is_replayed(session: Any, source: Source) -> None:
    session.sql("CREATE TABLE lake.db.streamed (id bigint, name string)")
    source.add(_event("I", 1, 1, "X"), _event("I", 2, 2, "A"))
    source.add(_event("I", 3, 3, "Q"), _event("U", 4, 2, "B"))
    source.run("lake.db.streamed")
    table = session.lake.load_table("db.streamed")
    assert len(list(table.metadata.snapshots)) == 2
    assert len(session.sql("SELECT * FROM lake.db.streamed.files").collect()) <= 8  # not one for each shuffle partition
    assert _rows(session, "lake.db.streamed") == {(1, "X"), (3, "Q"), (2, "B")}
    source.forget_last_commit()
    source.add(_event("D", 5, 3), _event("I", 6, 4, "Y"))
    source.run("lake.db.streamed")
    assert len(list(table.refresh().metadata.snapshots)) == 3
    assert _rows(session, "lake.db.streamed") == {(1, "X"), (2, "B"), (4, "Y")}


def test_several_tables_are_each_committed_once_after_a_crash_between_them(session: Any, source: Source) -> None:
    for name in ("orders", "users"):
        session.sql(f"CREATE TABLE lake.db.{name} (id bigint, name string)")
    source.schema = f"{EVENTS}, tbl string"
    source.add(_event("I", 1, 1, "o", tbl="orders"), _event("I", 1, 1, "u", tbl="users"))
    tables = {"orders": "lake.db.orders", "users": "lake.db.users"}
    sink = fb.cdc_sink(tables, route="tbl", checkpoint=source.checkpoint, **OPTIONS)
    first = fb.cdc_sink("lake.db.orders", checkpoint=source.checkpoint, **OPTIONS)

    def dies_between(batch: Any, epoch: int) -> None:
        first(batch.where("tbl = 'orders'").drop("tbl"), epoch)
        raise RuntimeError("killed")

    def run(function: Any) -> None:
        writer = source.frame().writeStream.foreachBatch(function).option("checkpointLocation", source.checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(Exception, match="killed"):
        run(dies_between)
    results: list[Any] = []
    run(lambda batch, epoch: results.extend(sink(batch, epoch)))
    assert [result.skipped for result in results] == [True, False]
    assert _rows(session, "lake.db.orders") == {(1, "o")}
    assert _rows(session, "lake.db.users") == {(1, "u")}
    source.add(_event("I", 1, 1, "o", tbl="others"))
    with pytest.raises(Exception, match="an event is for 'others' by 'tbl'"):
        run(sink)


def test_a_copied_checkpoint_another_one_and_a_table_made_anew_are_errors(
    session: Any, source: Source, tmp_path: Path
) -> None:
    session.sql("CREATE TABLE lake.db.guarded (id bigint, name string)")
    source.add(_event("I", 1, 1, "a"))
    source.run("lake.db.guarded")
    sink = fb.cdc_sink("lake.db.guarded", checkpoint=source.checkpoint, **OPTIONS)
    frame = session.createDataFrame([("I", 2, 2, "b")], EVENTS)
    assert sink(frame, 0).skipped
    with pytest.raises(fb.errors.InvalidInput, match="knows nothing of epoch 7"):
        sink(frame, 7)
    copied = tmp_path / "copied"
    shutil.copytree(source.checkpoint, copied)
    offsets = copied / "offsets" / "0"
    offsets.write_text(offsets.read_text().replace('"logOffset":0', '"logOffset":9'))
    with pytest.raises(fb.errors.InvalidInput, match="with other content"):
        fb.cdc_sink("lake.db.guarded", checkpoint=str(copied), **OPTIONS)(frame, 0)
    by_app = fb.cdc_sink("lake.db.guarded", app_id="job", **OPTIONS)
    by_app(frame, 0)
    session.sql("DROP TABLE lake.db.guarded")
    session.sql("CREATE TABLE lake.db.guarded (id bigint, name string)")
    with pytest.raises(fb.errors.InvalidInput, match="was dropped and created anew"):
        by_app(frame, 1)


def test_what_a_stream_or_a_batch_cannot_have_is_refused(session: Any, source: Source) -> None:
    session.sql("CREATE TABLE lake.db.refusing (id bigint, name string)")
    with pytest.raises(fb.errors.InvalidInput, match="give checkpoint="):
        fb.cdc(source.frame(), "lake.db.refusing", **OPTIONS)
    with pytest.raises(fb.errors.InvalidInput, match="leave txn out"):
        fb.cdc(source.frame(), "lake.db.refusing", txn=("a", 1), checkpoint="x", **OPTIONS)
    with pytest.raises(fb.errors.InvalidInput, match="route="):
        fb.cdc(source.frame(), {"a": "lake.db.refusing"}, checkpoint="x", **OPTIONS)
    with pytest.raises(fb.errors.InvalidInput, match="no option 'order'; there are keys, op, "):
        fb.cdc_sink("lake.db.refusing", order="ord", **OPTIONS)
