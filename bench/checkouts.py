"""Two checkouts of this project in turns: planning, scans and row-level statements on Spark, by processor time.

    python -m bench.checkouts OLD NEW [--rounds N] [--warm-up N] [--rows N]

Each checkout is a process of its own with its own Spark session and tables. In a round both do the same work, one after the
other, and the order alternates. A figure is the processor time of the process and all its children: Python, the JVM and
Spark's Python workers. Printed is the median of the ratios new/old over the rounds, for each kind of work.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

KINDS: Final = ("plan", "scan", "row-level")
TICKS: Final = os.sysconf("SC_CLK_TCK")
FILES: Final = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker is not None:
        serve(Work(arguments.worker, arguments.rows))
        return
    with Checkout(arguments.old, arguments.rows) as old, Checkout(arguments.new, arguments.rows) as new:
        compare(old, new, rounds=arguments.rounds, warm_up=arguments.warm_up)


def compare(old: Checkout, new: Checkout, *, rounds: int, warm_up: int) -> None:
    measured: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for number in range(rounds + warm_up):
        for kind in KINDS:
            first, second = (old, new) if number % 2 else (new, old)
            seconds = {one: one.cpu_seconds(kind, number) for one in (first, second)}
            if number >= warm_up:
                measured[kind].append((seconds[old], seconds[new]))
            print(f"round {number} {kind}: {seconds[old]:.2f} s, {seconds[new]:.2f} s", flush=True)
    print(f"{'':<10} {'old s':>8} {'new s':>8} {'median ratio':>13}")
    for kind, pairs in measured.items():
        ratio = statistics.median(now / before for before, now in pairs)
        before, now = (statistics.median(one) for one in zip(*pairs, strict=True))
        print(f"{kind:<10} {before:>8.2f} {now:>8.2f} {ratio:>13.3f}")


class Checkout:
    """The process of one checkout."""

    def __init__(self, root: Path, rows: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        command = [sys.executable, __file__, str(root), str(root), "--rows", str(rows), "--worker", self._folder.name]
        environment = {**os.environ, "PYTHONPATH": str(root.resolve() / "src"), "PYSPARK_PYTHON": sys.executable}
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)
        self._folder.cleanup()

    def cpu_seconds(self, kind: str, number: int) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([kind, number]) + "\n")
        self._process.stdin.flush()
        while line := self._process.stdout.readline():
            if line.startswith("cpu "):
                return float(line.removeprefix("cpu "))
        raise RuntimeError(f"the process of a checkout ended with {self._process.wait()}")


class Work:
    """What a checkout does, with the public API alone."""

    def __init__(self, folder: Path, rows: int) -> None:
        from pyspark.sql import SparkSession

        import floeberg as fb

        self._rows = rows
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "1g",
        }
        builder = SparkSession.builder.master("local[2]")
        for key, value in settings.items():
            builder = builder.config(key, value)
        self._spark = builder.getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")
        self._open: Callable[[str], Any] = fb.open_table
        self._lake = fb.catalog("lake", warehouse=str(folder))
        fb.attach(self._spark, self._lake)
        self._spark.sql("CREATE NAMESPACE lake.db")
        for mode in ("copy-on-write", "merge-on-read"):
            modes = ", ".join(f"'write.{verb}.mode' = '{mode}'" for verb in ("delete", "update", "merge"))
            name = mode.replace("-", "_")
            self._spark.sql(
                f"CREATE TABLE lake.db.{name} (id BIGINT, v DOUBLE, s STRING) TBLPROPERTIES ('format-version' = '3', {modes})"
            )
            frame = self._spark.range(0, rows, 1, FILES).selectExpr("id", "id * 0.5 AS v", "concat('s', id % 97) AS s")
            frame.writeTo(f"lake.db.{name}").option("distribution-mode", "none").append()

    def plan(self, number: int) -> None:
        location = self._lake.load_table("db.merge_on_read").metadata_location
        for _ in range(200):
            table = self._open(location)
            assert len(list(table.scan(where=f"id = {number * 7}").plan())) > 0
            assert len(list(table.scan().plan())) >= FILES

    def scan(self, number: int) -> None:
        for name in ("copy_on_write", "merge_on_read"):
            for query in (
                f"SELECT count(*), sum(v) FROM lake.db.{name} WHERE id >= {number}",
                f"SELECT s, max(v) FROM lake.db.{name} GROUP BY s",
                f"SELECT * FROM lake.db.{name} WHERE id = {number * 7 + 5}",
            ):
                self._spark.sql(query).collect()

    def row_level(self, number: int) -> None:
        for name in ("copy_on_write", "merge_on_read"):
            table = f"lake.db.{name}"
            low = number * 500
            self._spark.sql(f"DELETE FROM {table} WHERE id BETWEEN {low} AND {low + 20}")
            self._spark.sql(f"UPDATE {table} SET v = v + 1 WHERE id BETWEEN {low + 100} AND {low + 120}")
            source = f"(SELECT id, 1.0D AS v, 'new' AS s FROM range({low + 10}, {low + 60}))"
            self._spark.sql(
                f"MERGE INTO {table} t USING {source} s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            )


def serve(work: Work) -> None:
    """Answers requests until the input ends."""
    actions = {"plan": work.plan, "scan": work.scan, "row-level": work.row_level}
    for line in sys.stdin:
        kind, number = json.loads(line)
        before = tree_cpu_seconds(os.getpid())
        actions[kind](number)
        time.sleep(0.2)
        print(f"cpu {tree_cpu_seconds(os.getpid()) - before}", flush=True)


def tree_cpu_seconds(root: int) -> float:
    """The processor time of a process and all its descendants, those that ended included."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
            ticks[int(folder.name)] = sum(int(field) for field in fields[11:15])
    found, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        found += ticks.get(process, 0)
        waiting += [child for child, parent in parents.items() if parent == process]
    return found / TICKS


if __name__ == "__main__":
    main()
