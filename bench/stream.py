"""Small appends by a stream: our sink beside the Java runtime's, on the same Spark and the same files.

    python -m bench.stream [--epochs N] [--rows N] [--pairs N] [--folder DIR]

Each run is a query of its own that takes one file an epoch until none is left (availableNow). The engines take turns, and the
order alternates; the figures are the medians of processor time (the JVM and Python) and of time for each epoch.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from bench.spark_engines import Answer, Engine

from floeberg.api.catalog import catalog

ENGINES: Final = ("java", "floeberg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as made, ExitStack() as stack:
        folder = Path(made)
        make(folder, epochs=given.epochs, rows=given.rows)
        engines = [stack.enter_context(Engine(name, folder / "lake")) for name in ENGINES]
        taken: dict[str, list[Answer]] = {name: [] for name in ENGINES}
        print(f"{given.epochs} epochs of {given.rows:,} rows; seconds an epoch (processor seconds)")
        for number in range(given.pairs + 1):
            for engine in engines if number % 2 else reversed(engines):
                checkpoint = folder / f"checkpoint-{engine.name}-{number}"
                where = {
                    "source": str(folder / "in"),
                    "table": f"bench.db.{engine.name}",
                    "checkpoint": str(checkpoint),
                }
                taken[engine.name].append(engine.call("bench.stream:append", **where))
            told = (
                f"{n} {a[-1].seconds / given.epochs:.3f} ({a[-1].cpu_seconds / given.epochs:.3f})"
                for n, a in taken.items()
            )
            print(f"  run {number}: {', '.join(told)}", flush=True)
        counted = {e.name: e.run(f"SELECT count(*), sum(id) FROM bench.db.{e.name}").rows for e in engines}
        if counted["java"] != counted["floeberg"]:
            raise SystemExit(f"the tables differ: {counted}")
        pairs = list(zip(taken["java"][1:], taken["floeberg"][1:], strict=True))
        by_cpu = statistics.median(ours.cpu_seconds / java.cpu_seconds for java, ours in pairs)
        by_clock = statistics.median(ours.seconds / java.seconds for java, ours in pairs)
        print(f"  ours by java's: processor time {by_cpu:.2f}, time {by_clock:.2f} (medians of {len(pairs)} pairs)")


def make(folder: Path, *, epochs: int, rows: int) -> None:
    (folder / "in").mkdir()
    for epoch in range(epochs):
        ids = range(epoch * rows, (epoch + 1) * rows)
        pq.write_table(pa.table({"id": ids, "s": [f"row {row}" for row in ids]}), folder / "in" / f"{epoch:04}.parquet")
    lake = catalog("bench", warehouse=str(folder / "lake"), properties={"local.fsync": "false"})
    lake.create_namespace("db")
    for name in ENGINES:
        lake.create_table(f"db.{name}", "id BIGINT, s STRING", format_version=2)


def append(session: Any, *, source: str, table: str, checkpoint: str) -> list[list[Any]]:
    """Runs in the engine's process."""
    stream = session.readStream.schema("id BIGINT, s STRING").option("maxFilesPerTrigger", 1).parquet(source)
    writer = stream.writeStream.format("iceberg").option("checkpointLocation", checkpoint).trigger(availableNow=True)
    query = writer.toTable(table)
    query.awaitTermination()
    return [[query.lastProgress["batchId"]]]


if __name__ == "__main__":
    main()
