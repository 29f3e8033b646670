"""What a table reference of a statement costs before Spark begins to run it.

    python -m bench.references [--repeat N] [--columns N] [--profile] [--plot FILE.svg]

Statements of 1 to 8 references, each to a table of its own. `views` reads Spark's temporary views of the same files, which are
there before: what Spark takes to analyse the statement, whatever the tables are. `made` makes every DataFrame anew, as after a
commit; `reused` takes those of the statement before; `parquet` is `spark.read.parquet` of the same files, in Spark's own SQL
templates. Milliseconds a reference, and how much of that is above `views`: medians of the runs; processor time of the driver,
and calls of the JVM.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import pyarrow as pa
from bench.plots import write_plot
from pyspark.sql import SparkSession

import floeberg as fb
from floeberg.spark.host.kept_frames import KeptFrames
from floeberg.spark.host.session import session_of

REFERENCES: Final = (1, 2, 3, 4, 6, 8)
ROWS: Final = 100


@dataclass(slots=True)
class Gateway:
    """Counts the messages to the JVM."""

    calls: int = 0
    _send: Callable[..., Any] = field(init=False)

    def watch(self, spark: Any) -> None:
        client = spark._sc._gateway._gateway_client
        self._send = client.send_command
        client.send_command = self.send

    def send(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self._send(*args, **kwargs)


def make_tables(spark: Any, columns: int) -> list[str]:
    """Attaches a catalog with the tables; the data file of each."""
    lake = fb.catalog("lake", warehouse=tempfile.mkdtemp(prefix="floeberg-references-"))
    lake.create_namespace("db")
    files = []
    for number in range(max(REFERENCES)):
        names = ["id", *(f"c{place}" for place in range(columns - 1))]
        table = lake.create_table(f"db.t{number}", ", ".join(f"{name} bigint" for name in names))
        table.append(pa.table({name: pa.array(range(ROWS), pa.int64()) for name in names}))
        files += [task.data_file.file_path for task in table.scan().plan()]
    fb.attach(spark, lake)
    return files


def measure(run: Callable[[], object], gateway: Gateway, *, repeat: int) -> tuple[float, float, float]:
    """Milliseconds, the driver's processor milliseconds and calls of one run."""
    for _ in range(max(3, repeat // 2)):
        run()
    walls, cpus = [], []
    gateway.calls = 0
    for _ in range(repeat):
        cpu, wall = time.process_time(), time.perf_counter()
        run()
        walls.append((time.perf_counter() - wall) * 1000)
        cpus.append((time.process_time() - cpu) * 1000)
    return statistics.median(walls), statistics.median(cpus), gateway.calls / repeat


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--profile", action="store_true", help="where the driver's time goes, with 8 references")
    parser.add_argument("--plot", help="write a plot of the milliseconds of a statement against its references")
    given = parser.parse_args()
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    files = make_tables(spark, given.columns)
    session = session_of(spark)
    assert session is not None
    state = session.state
    gateway = Gateway()
    gateway.watch(spark)

    def statement(count: int) -> str:
        return " UNION ALL ".join(f"SELECT id FROM lake.db.t{number} WHERE id < 50" for number in range(count))

    def made(count: int) -> object:
        state.frames = KeptFrames()
        return spark.sql(statement(count))

    def reused(count: int) -> object:
        return spark.sql(statement(count))

    def parquet(count: int) -> object:
        frames = {f"f{number}": spark.read.parquet(files[number]) for number in range(count)}
        text = " UNION ALL ".join(f"SELECT id FROM {{{name}}} WHERE id < 50" for name in frames)
        return spark.sql(text, **frames)

    for number, file in enumerate(files):
        spark.read.parquet(file).createOrReplaceTempView(f"view{number}")

    def views(count: int) -> object:
        return spark.sql(statement(count).replace("lake.db.t", "view"))

    kinds: dict[str, Callable[[int], object]] = {"views": views, "made": made, "reused": reused, "parquet": parquet}
    print("references  " + "".join(f"{name:>44}" for name in kinds), flush=True)
    points: dict[str, list[tuple[float, float]]] = {}
    for run in kinds.values():  # until the JVM has compiled what they use
        measure(partial(run, max(REFERENCES)), gateway, repeat=2 * given.repeat)
    for count in REFERENCES:
        texts = []
        for name, run in kinds.items():
            wall, cpu, calls = measure(partial(run, count), gateway, repeat=given.repeat)
            points.setdefault(name, []).append((count, wall))
            above = "" if name == "views" else f", {(wall - points['views'][-1][1]) / count:.1f} above"
            texts.append(f"{wall / count:.1f} ms{above} ({cpu / count:.1f} ms, {calls / count:.0f} calls)")
        print(f"{count:>10}  " + "".join(f"{text:>44}" for text in texts), flush=True)
    if given.plot:
        write_plot(given.plot, points, x="references", y="milliseconds of a statement before Spark runs it")
    if given.profile:
        for name in ("made", "reused"):
            print(f"\n== {name}")
            profile = cProfile.Profile()
            for _ in range(given.repeat):
                profile.runcall(kinds[name], max(REFERENCES))
            pstats.Stats(profile).sort_stats("cumulative").print_stats(40)
    spark.stop()


if __name__ == "__main__":
    main()
