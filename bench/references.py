"""What a table reference of a statement costs before Spark begins to run it.

    python -m bench.references [--rounds N] [--columns N] [--profile] [--plot FILE.svg]

Statements of 1 to 8 references, each to a table of its own. `views` reads Spark's temporary views of the same files, which are
there before: what Spark takes to analyse the statement, whatever the tables are. `made` makes every DataFrame anew, as after a
commit; `reused` takes those of the statement before; `parquet` is `spark.read.parquet` of the same files, in Spark's own SQL
templates. Every round runs each of them once, in an order of its own, because the JVM compiles what it runs often; the first
half of the rounds only warms. Milliseconds of a statement (processor time of the driver, calls of the JVM): medians. Below
them the line through them: what each reference adds to a statement, and what a statement takes besides.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
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
from floeberg.spark.host.calls.kept_frames import KeptFrames
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


@dataclass(slots=True)
class Runs:
    """What the runs of one kind of statement took: milliseconds, processor milliseconds of the driver, calls of the JVM."""

    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)

    def add(self, run: Callable[[], object], gateway: Gateway) -> None:
        calls, cpu, wall = gateway.calls, time.process_time(), time.perf_counter()
        run()
        self.walls.append((time.perf_counter() - wall) * 1000)
        self.cpus.append((time.process_time() - cpu) * 1000)
        self.calls.append(gateway.calls - calls)

    def __str__(self) -> str:
        wall, cpu, calls = (statistics.median(each) for each in (self.walls, self.cpus, self.calls))
        return f"{wall:.1f} ms ({cpu:.1f} ms, {calls:.0f} calls)"


def measured(
    kinds: dict[str, Callable[[int], object]], gateway: Gateway, *, rounds: int
) -> dict[tuple[str, int], Runs]:
    """The runs of the second half of the rounds, by kind and number of references."""
    found = {(name, count): Runs() for name in kinds for count in REFERENCES}
    order = list(found)
    for number in range(rounds):
        random.Random(number).shuffle(order)
        for name, count in order:
            runs = found[name, count] if number >= rounds // 2 else Runs()
            runs.add(partial(kinds[name], count), gateway)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=80)
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
        kept, state.frames = state.frames, KeptFrames()
        try:
            return spark.sql(statement(count))
        finally:
            state.frames = kept

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
    found = measured(kinds, gateway, rounds=given.rounds)
    print("references  " + "".join(f"{name:>32}" for name in kinds), flush=True)
    for count in REFERENCES:
        print(f"{count:>10}  " + "".join(f"{found[name, count]!s:>32}" for name in kinds), flush=True)
    points = {name: [(count, statistics.median(found[name, count].walls)) for count in REFERENCES] for name in kinds}
    lines = {name: statistics.linear_regression(*zip(*line, strict=True)) for name, line in points.items()}
    texts = [f"{line.slope:.1f} ms each + {line.intercept:.1f}" for line in lines.values()]
    print("            " + "".join(f"{text:>32}" for text in texts), flush=True)
    if given.plot:
        write_plot(given.plot, points, x="references", y="milliseconds of a statement before Spark runs it")
    if given.profile:
        for name in ("made", "reused"):
            print(f"\n== {name}")
            profile = cProfile.Profile()
            for _ in range(20):
                profile.runcall(kinds[name], max(REFERENCES))
            pstats.Stats(profile).sort_stats("cumulative").print_stats(40)
    spark.stop()


if __name__ == "__main__":
    main()
