"""Deletes of many positions with a small driver: where what is deleted no longer fits it.

    python -m bench.large_deletes [--files N] [--rows N] [--memory 1g] [--format-version N] [--folder DIR]

A table of so many files is changed and read by a Spark session of its own whose JVM has so much memory. Two DELETEs take
half of the rows and then half of the rest, so that the second merges older deletes. Each step prints its seconds, the
processor seconds of all its processes, and the largest resident memory so far of Python's driver and of the JVM.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
from bench.many_files import jvm_below, peak_mb
from bench.spark_engines import process_tree_seconds
from pyspark.sql import SparkSession

from floeberg.api.attach import attach
from floeberg.api.catalog import catalog
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.append import Append

MODES: Final = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
STEPS: Final = {
    "read": "SELECT count(*), sum(id) FROM bench.db.deleted",
    "DELETE half": "DELETE FROM bench.db.deleted WHERE id % 2 = 0",
    "read, half deleted": "SELECT count(*), sum(id) FROM bench.db.deleted",
    "DELETE half of the rest": "DELETE FROM bench.db.deleted WHERE id % 4 = 1",
    "read, three quarters deleted": "SELECT count(*), sum(id) FROM bench.db.deleted",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=200_000, help="rows of a file")
    parser.add_argument("--memory", default="1g")
    parser.add_argument("--format-version", type=int, default=3)
    parser.add_argument("--folder", default=".cache/bench")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = Path(given.folder).absolute() / "large-deletes"
    if given.run:
        _run(folder, given.memory, total=given.files * given.rows)
        return
    _make(folder, files=given.files, rows=given.rows, version=given.format_version)
    print(
        f"{given.files:,} files of {given.rows:,} rows, v{given.format_version}, a driver of {given.memory}", flush=True
    )
    subprocess.run([sys.executable, "-m", "bench.large_deletes", *sys.argv[1:], "--run"], check=True)


def _make(folder: Path, *, files: int, rows: int, version: int) -> None:
    """A table of files with the numbers from 0 on."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lake = catalog("bench", warehouse=str(folder), properties={"local.fsync": "false"})
    lake.create_namespace("db")
    table = lake.create_table("db.deleted", "id bigint", format_version=version, properties=MODES)
    writer = TableWriter(table.metadata, table._pointer.store_for, UUID(int=1))
    written = []
    for number in range(files):
        first = number * rows
        written += writer.write_data(pa.table({"id": np.arange(first, first + rows)}))
    table._commit(Append(files=written))
    lake.close()


def _run(folder: Path, memory: str, *, total: int) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", memory)
    spark = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    attach(spark, catalog("bench", warehouse=str(folder), properties={"local.fsync": "false"}))
    spark.sql("SELECT count(*) FROM range(10)").collect()
    for label, statement in STEPS.items():
        cpu, begun = process_tree_seconds(os.getpid()), time.perf_counter()
        rows = spark.sql(statement).collect()
        seconds, spent = time.perf_counter() - begun, process_tree_seconds(os.getpid()) - cpu
        _check(label, rows, total)
        print(
            f"  {label:<30} {seconds:7.1f} s ({spent:7.1f})   Python {peak_mb(os.getpid()):5.0f} MB, "
            f"JVM {peak_mb(jvm_below(os.getpid())):5.0f} MB",
            flush=True,
        )
    spark.stop()


def _check(label: str, rows: list[Any], total: int) -> None:
    """Raises AssertionError unless the right numbers are left."""
    left = {
        "read": range(total),
        "read, half deleted": range(1, total, 2),
        "read, three quarters deleted": range(3, total, 4),
    }
    if label in left:
        numbers = left[label]
        assert tuple(rows[0]) == (len(numbers), len(numbers) * (numbers[0] + numbers[-1]) // 2), (label, rows)


if __name__ == "__main__":
    main()
