"""A streaming query that kills itself and its JVM at a named point: `python killed_query.py <folder> <point> <epoch>`.

The point is noted in `<folder>/hit` first. Without a point (`-`) the query runs to its end.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import floeberg as fb
from floeberg.catalogs.filesystem_pointer import FilesystemPointer
from floeberg.spark.streaming.sink import TableSink
from floeberg.spark.write import commands
from spark_runs.spark_session import spark_session

POINTS = ("files written", "reply lost", "before the commit log")


def die(folder: Path, point: str) -> None:
    (folder / "hit").write_text(point)
    os.killpg(0, signal.SIGKILL)


def arm(folder: Path, point: str, epoch: int) -> None:
    """Lets the process die at the point, in that epoch."""
    called, commit, swap = TableSink.__call__, commands.commit_operations, FilesystemPointer.swap
    now: list[int] = []

    def in_epoch(at: str, act: Callable[..., Any], *, after: bool) -> Callable[..., Any]:
        def run(*args: Any, **named: Any) -> Any:
            is_here = point == at and now == [epoch]
            if is_here and not after:
                die(folder, point)
            result = act(*args, **named)
            if is_here:
                die(folder, point)
            return result

        return run

    def call(self: TableSink, batch: Any, epoch_id: int) -> Any:
        now[:] = [epoch_id]
        return in_epoch("before the commit log", called, after=True)(self, batch, epoch_id)

    TableSink.__call__ = call  # type: ignore[method-assign]
    commands.commit_operations = in_epoch("files written", commit, after=False)
    FilesystemPointer.swap = in_epoch("reply lost", swap, after=True)  # type: ignore[method-assign]


def main(folder: Path, point: str, epoch: int) -> None:
    if point in POINTS:
        arm(folder, point, epoch)
    with spark_session() as spark:
        fb.attach(spark, fb.catalog("lake", warehouse=str(folder / "lake")))
        rows = spark.readStream.schema("id BIGINT").option("maxFilesPerTrigger", 1).json(str(folder / "input"))
        writer = rows.writeStream.format("iceberg").option("checkpointLocation", str(folder / "checkpoint"))
        writer.trigger(availableNow=True).toTable("lake.db.t").awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
