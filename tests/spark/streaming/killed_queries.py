"""Three streaming queries that die together: `python killed_queries.py <folder> <epoch> [<table>=<point> …]`.

`sink` appends files to a table, `cdc` applies the events of files, `pair` copies a table. Each query whose table has a point
waits there in that epoch, noted in `<folder>/hit`; when the last one has arrived, the process group is killed. Without points
the queries run to their ends.

`pair` is the one query whose source runs in a Python process, for which Spark waits 10 seconds only. It is started first, and
again where that was too short, because the others cannot go back from their points.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import floeberg as fb
from floeberg.catalogs.filesystem_pointer import FilesystemPointer
from floeberg.spark.cdc import apply
from floeberg.spark.cdc.sink import CdcSink
from floeberg.spark.streaming.sink import TableSink
from floeberg.spark.write import commands
from spark_runs.spark_session import STARTS, TOO_SLOW, spark_session

TABLES = ("sink", "cdc", "pair")
POINTS = ("files written", "reply lost", "before the commit log")


class Points:
    """Where each query waits for the others, to die with them."""

    def __init__(self, folder: Path, epoch: int, points: dict[str, str]) -> None:
        self.folder, self.epoch, self.points = folder, epoch, points
        self.now = threading.local()
        self.lock = threading.Lock()
        self.arrived: set[str] = set()

    def stop_if_here(self, point: str) -> None:
        table, epoch = getattr(self.now, "call", (None, None))
        if epoch != self.epoch or self.points.get(table) != point:
            return
        with self.lock:
            self.arrived.add(table)
            with (self.folder / "hit").open("a") as hit:
                hit.write(f"{table}={point}\n")
            if self.arrived == self.points.keys():
                os.killpg(0, signal.SIGKILL)
        threading.Event().wait()

    def in_call(self, called: Callable[..., Any], table_of: Callable[[Any], str]) -> Callable[..., Any]:
        def call(sink: Any, batch: Any, epoch_id: int) -> Any:
            self.now.call = (table_of(sink), epoch_id)
            result = called(sink, batch, epoch_id)
            self.stop_if_here("before the commit log")
            return result

        return call

    def before(self, act: Callable[..., Any], point: str) -> Callable[..., Any]:
        def run(*args: Any, **named: Any) -> Any:
            self.stop_if_here(point)
            return act(*args, **named)

        return run

    def after(self, act: Callable[..., Any], point: str) -> Callable[..., Any]:
        def run(*args: Any, **named: Any) -> Any:
            result = act(*args, **named)
            self.stop_if_here(point)
            return result

        return run

    def arm(self) -> None:
        TableSink.__call__ = self.in_call(TableSink.__call__, lambda sink: sink.identifier.path[-1])  # type: ignore[method-assign]
        CdcSink.__call__ = self.in_call(CdcSink.__call__, lambda sink: sink.target.rpartition(".")[2])  # type: ignore[method-assign]
        commands.commit_operations = self.before(commands.commit_operations, "files written")
        apply.commit_operations = self.before(apply.commit_operations, "files written")
        FilesystemPointer.swap = self.after(FilesystemPointer.swap, "reply lost")  # type: ignore[method-assign]


class Queries:
    """The queries, each with one small file an epoch."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder

    def sink(self) -> Any:
        return self._append(self._files("sink-input", "id BIGINT"), "sink")

    def cdc(self) -> Any:
        options = {"keys": "id", "op": "op", "order_by": "ord", "checkpoint": self._checkpoint("cdc")}
        events = self._files("cdc-input", "op STRING, ord BIGINT, id BIGINT, name STRING")
        return fb.cdc(events, "lake.db.cdc", **options).trigger(availableNow=True).start()

    def pair(self, arrived: set[str]) -> Any:
        """When it is at its point or has ended. It is started again where only its source was too slow."""
        for _ in range(STARTS):
            self.spark.streams.resetTerminated()
            origin = self.spark.readStream.option("streaming-max-files-per-micro-batch", 1).table("lake.db.origin")
            query = self._append(origin, "pair")
            while query.isActive and "pair" not in arrived:
                time.sleep(0.05)
            if query.isActive or TOO_SLOW not in str(query.exception()):
                break
        return query

    def _append(self, frame: Any, name: str) -> Any:
        writer = frame.writeStream.format("iceberg").option("checkpointLocation", self._checkpoint(name))
        return writer.trigger(availableNow=True).toTable(f"lake.db.{name}")

    def _files(self, name: str, schema: str) -> Any:
        return self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(self.folder / name))

    def _checkpoint(self, name: str) -> str:
        return str(self.folder / "checkpoints" / name)


def main(folder: Path, epoch: int, points: dict[str, str]) -> None:
    waiting = Points(folder, epoch, points)
    if points:
        waiting.arm()
    with spark_session() as spark:
        fb.attach(spark, fb.catalog("lake", warehouse=str(folder / "lake")))
        queries = Queries(spark, folder)
        started = [queries.pair(waiting.arrived), queries.sink(), queries.cdc()]
        if points:
            spark.streams.awaitAnyTermination()
            sys.exit("a query ended before its point")
        for query in started:
            query.awaitTermination()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]), dict(one.split("=") for one in sys.argv[3:]))
    except BaseException:
        traceback.print_exc()
        os.killpg(0, signal.SIGTERM)  # queries that wait at their points would keep the process
