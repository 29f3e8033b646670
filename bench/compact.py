"""Compaction on Spark beside the Java runtime's, on the same Spark and equal tables, in one run.

    python -m bench.compact [--files N] [--rows N] [--pairs N] [--folder DIR]

Two tables: many small files without deletes, and files of the target size of which a tenth of the rows are deleted by
deletion vectors, with 20 equality delete files beside them. Each engine rewrites a table of its own, in turn, and is rolled
back after each. What counts is the median of the ratios of processor seconds, ours by the Java runtime's, of the pairs of
runs.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from uuid import UUID

import pyarrow as pa
from bench.lineitem import DDL, EQUALITY_FILES, rows_of, write_rows
from bench.read_tables import add_deletes, target, write_equality_deletes
from bench.spark_engines import Answer, Engine, arguments
from pyroaring import BitMap64

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.row_delta import RowDelta

ENGINES: Final = ("java", "floeberg")
GOAL: Final = 0.8


def main() -> None:
    parser = arguments(__doc__ or "", rows=2_000_000)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=3)
    given = parser.parse_args()
    folder = Path(given.folder) / f"compact-{given.files}-{given.rows}"
    lake = _lake(folder)
    kinds: dict[str, Callable[[Table], None]] = {
        "small": lambda table: _small_files(table, given.rows, given.files),
        "deleted": lambda table: _deleted_rows(table, given.rows),
    }
    for kind, fill in kinds.items():
        for engine in ENGINES:
            _make(lake, folder, f"{kind}_{engine}", fill)
    with ExitStack() as stack:
        engines = [stack.enter_context(Engine(name, folder / "lake", patience_seconds=1200)) for name in ENGINES]
        print(f"{given.rows:,} rows, {given.files:,} small files; seconds (processor seconds), {given.pairs} pairs")
        for kind in kinds:
            _compare(engines, kind, given.pairs)


def _lake(folder: Path) -> Catalog:
    (folder / "lake").mkdir(parents=True, exist_ok=True)
    lake = catalog("bench", warehouse=str(folder / "lake"), properties={"local.fsync": "false"})
    lake.create_namespace("db", if_not_exists=True)
    return lake


def _make(lake: Catalog, folder: Path, name: str, fill: Callable[[Table], None]) -> None:
    done = folder / f"{name}.done"
    if done.exists():
        return
    lake.drop_table(f"db.{name}", purge=True, if_exists=True)
    fill(lake.create_table(f"db.{name}", DDL, format_version=3))
    done.touch()


def _small_files(table: Table, rows: int, files: int) -> None:
    """All files in one commit: they are what is measured, not the snapshots."""
    each = max(1, rows // files)
    made = rows_of(0, each * files, seed=1)
    writer = TableWriter(table.metadata, table._pointer.store_for, UUID(int=1))
    written = [file for number in range(files) for file in writer.write_data(made.slice(number * each, each))]
    table._commit(RowDelta(added=written))


def _deleted_rows(table: Table, rows: int) -> None:
    """A tenth of the rows deleted by deletion vectors, and 20 equality delete files of some thousand keys."""
    written = write_rows(table, rows)
    deleted = {
        target(file): BitMap64(random.Random(seed).sample(range(file.record_count), file.record_count // 10))
        for seed, file in enumerate(written)
    }
    add_deletes(table, TableWriter(table.metadata, table._pointer.store_for, UUID(int=2)).write_vectors(deleted))
    for number in range(EQUALITY_FILES):
        keys = sorted(random.Random(1000 + number).sample(range(rows // 4), max(1, rows // 1000)))
        found = write_equality_deletes(table, f"equality-{number}", pa.table({"l_orderkey": keys}), equality_ids=[1])
        add_deletes(table, found)


def _compare(engines: list[Engine], kind: str, pairs: int) -> None:
    runs: list[dict[str, Answer]] = []
    for number in range(pairs + 1):
        order = engines if number % 2 == 0 else engines[::-1]
        runs.append({engine.name: _rewrite(engine, f"{kind}_{engine.name}") for engine in order})
    counted = runs[1:]  # the first warms both
    ratios = [run["floeberg"].cpu_seconds / run["java"].cpu_seconds for run in counted]
    for run in counted:
        shown = ", ".join(f"{name} {one.seconds:6.2f} ({one.cpu_seconds:6.2f})" for name, one in run.items())
        print(f"  {kind:<8} {shown}   files {run['floeberg'].rows[0][:2]}, {run['java'].rows[0][:2]}", flush=True)
    median = statistics.median(ratios)
    print(f"  {kind:<8} median ratio of processor seconds {median:.2f} (goal: at most {GOAL})", flush=True)


def _rewrite(engine: Engine, name: str) -> Answer:
    table = f"bench.db.{name}"
    base = engine.run(f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'").rows[0][0]
    before = engine.run(f"SELECT count(*), sum(l_orderkey) FROM {table}").rows
    options = "map('rewrite-all', 'true')"
    answer = engine.run(f"CALL bench.system.rewrite_data_files(table => 'db.{name}', options => {options})")
    after = engine.run(f"SELECT count(*), sum(l_orderkey) FROM {table}").rows
    if before != after:
        raise SystemExit(f"{engine.name}: {name} has other rows after its compaction: {before}, {after}")
    engine.run(f"CALL bench.system.rollback_to_snapshot('db.{name}', {base})")
    return answer


if __name__ == "__main__":
    main()
