"""Append commits on the SQLite catalog at a growing number of snapshots, beside PyIceberg in one run.

    python -m bench.commit [snapshots …]

CPU time (user and system, all threads), median of 20 commits of ten rows each, the data file included. Both sides write
without fsync, because PyIceberg has none. The tables are made by us before the clock runs, PyIceberg's with one manifest a
commit, as it makes them itself; ours joins manifests, as it does by default.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import floeberg as fb
from floeberg.commit.append import Append
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat

COMMITS = 20
SIZES = (10, 100, 400, 1000)
ROWS = pa.table({"id": pa.array(range(10), pa.int64()), "name": [f"row {number}" for number in range(10)]})


def main(sizes: tuple[int, ...]) -> int:
    results: dict[int, tuple[float, float]] = {}
    print(f"{'snapshots':>10} {'floeberg':>12} {'pyiceberg':>12} {'ratio':>8}")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = _floeberg(Path(folder), size), _pyiceberg(Path(folder), size)
        results[size] = ours, theirs
        print(f"{size:>10} {ours:>9.2f} ms {theirs:>9.2f} ms {theirs / ours:>7.1f}x", flush=True)
    return _judge(results)


def _judge(results: dict[int, tuple[float, float]]) -> int:
    goals = [(f"10 times as fast at {n}", theirs >= 10 * ours) for n, (ours, theirs) in results.items() if n >= 400]
    if {10, 1000} <= results.keys():
        growth = results[1000][0] / results[10][0]
        goals.append((f"at most 3 times slower at 1,000 than at 10 ({growth:.1f} times)", growth <= 3))
    for goal, reached in goals:
        print(f"{'reached' if reached else 'NOT reached'}: {goal}")
    return 0 if all(reached for _, reached in goals) else 1


def lake(folder: Path) -> fb.Catalog:
    return fb.catalog(
        "lake",
        type="sql",
        uri=f"sqlite:///{folder}/lake.db",
        warehouse=str(folder / "warehouse"),
        properties={"local.fsync": "false"},
    )


def make_table(folder: Path, name: str, snapshots: int, *, merge: bool) -> None:
    """A table of that many snapshots, each with a file that is only described."""
    catalog = lake(folder)
    catalog.create_namespace("db", if_not_exists=True)
    table = catalog.create_table(f"db.{name}", ROWS.schema, format_version=2)
    for number in range(snapshots):
        file = DataFile(
            file_path=f"{table.location}/data/{number}.parquet",
            file_format=FileFormat.PARQUET,
            record_count=10,
            file_size_in_bytes=900,
            value_counts={1: 10, 2: 10},
            null_value_counts={1: 0, 2: 0},
        )
        table._commit(Append(files=[file], merge=merge))
    catalog.close()


def _floeberg(folder: Path, snapshots: int) -> float:
    make_table(folder, "ours", snapshots, merge=True)
    table = lake(folder).load_table("db.ours")
    return _median_ms(lambda: table.append(ROWS))


def _pyiceberg(folder: Path, snapshots: int) -> float:
    make_table(folder, "theirs", snapshots, merge=False)
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/lake.db", warehouse=str(folder / "warehouse"))
    table = catalog.load_table("db.theirs")
    return _median_ms(lambda: table.append(ROWS))


def _median_ms(commit: Callable[[], object]) -> float:
    commit()  # what is loaded on first use is not a commit's cost
    times = []
    for _ in range(COMMITS):
        start = time.process_time()
        commit()
        times.append((time.process_time() - start) * 1000)
    return statistics.median(times)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    sys.exit(main(tuple(int(given) for given in sys.argv[1:]) or SIZES))
