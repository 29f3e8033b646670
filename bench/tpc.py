"""What the benchmarks of TPC share: tables and queries of DuckDB's generators, and both engines in turns over them.

The rows of both engines are compared first, in a run that warms; then the engines take turns, and each figure is the median of
the pairs. × is ours by the other's, the Java runtime's unless `--against` says another: below 1 is cheaper. Queries that took
us over 1.5 times as long are compared again at the end. The tables are made once a folder.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import random
import re
import statistics
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import duckdb
import pyarrow as pa
from bench.jvm_profile import print_shares, recorded, shares
from bench.lineitem import DELETED_SHARE, add_deletes, target
from bench.spark_engines import CATALOG, Engine
from pyroaring import BitMap64

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.arrow.write.table_writer import TableWriter

AGAIN: Final = 5
"""Pairs of a query that is compared again at the end, because it was slow."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark of TPC: the name of DuckDB's extension, its call that generates the data, and how facts are partitioned."""

    name: str
    generator: str
    facts: Mapping[str, str]


class Source:
    """DuckDB with the generator of the data and the texts of the queries."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        found = importlib.util.find_spec(f"duckdb_extension_{benchmark.name}")
        if found is None or found.origin is None:
            raise SystemExit(f"the package duckdb-extension-{benchmark.name} is not installed: make setup")
        file = next(Path(found.origin).parent.rglob(f"{benchmark.name}.duckdb_extension"))
        self._connection.execute(f"LOAD '{file}'")

    def tables(self, scale: float) -> list[str]:
        """Generates the data; the names of the tables."""
        self._connection.execute(f"CALL {self._benchmark.generator}(sf={scale})")
        return [
            row[0] for row in self._connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
        ]

    def rows(self, name: str) -> pa.Table:
        found: Any = self._connection.execute(f"SELECT * FROM {name}").arrow()
        return found.read_all() if isinstance(found, pa.RecordBatchReader) else found

    def queries(self) -> dict[int, str]:
        """The texts in Spark's quotes, without the LIMIT at their end: rows that tie there are left to chance."""
        found = {}
        listed = f"SELECT query_nr, query FROM {self._benchmark.name}_queries()"
        for number, text in self._connection.execute(listed).fetchall():
            spark_text = re.sub(r'"([^"]+)"', r"`\1`", text.strip().rstrip(";"))
            found[number] = re.sub(r"\bLIMIT\s+\d+\s*$", "", spark_text, flags=re.IGNORECASE)
        return found


def make_tables(benchmark: Benchmark, source: Source, warehouse: Path, *, scale: float, vectors: bool) -> None:
    """The tables in `db` of a filesystem catalog, which both engines read; made once and kept."""
    done = warehouse / "tables.done"
    if done.exists():
        return
    warehouse.mkdir(parents=True, exist_ok=True)
    lake = catalog(CATALOG, warehouse=str(warehouse), properties={"local.fsync": "false"})
    lake.create_namespace("db", if_not_exists=True)
    for name in source.tables(scale):
        lake.drop_table(f"db.{name}", purge=True, if_exists=True)
        table = _table(lake, name, source.rows(name), benchmark.facts.get(name))
        if vectors and name in benchmark.facts:
            _delete_some(table)
    lake.close()
    done.touch()


def _table(lake: Catalog, name: str, rows: pa.Table, partition: str | None) -> Table:
    partitions = [] if partition is None else [partition]
    table = lake.create_table(f"db.{name}", rows.schema, partition_by=partitions, format_version=3)
    table.append(rows)
    return table


def _delete_some(table: Table) -> None:
    """Deletes a share of the rows of every file by a deletion vector."""
    deleted = {}
    for seed, task in enumerate(table.scan().plan()):
        file = task.data_file
        chosen = random.Random(seed).sample(range(file.record_count), math.ceil(file.record_count * DELETED_SHARE))
        deleted[target(file)] = BitMap64(chosen)
    writer = TableWriter(table.metadata, table._pointer.store_for, UUID(int=2))
    add_deletes(table, writer.write_vectors(deleted))


@dataclass(slots=True)
class Figures:
    """The seconds of one query, and processor seconds, of each run of each engine."""

    walls: dict[str, list[float]] = field(default_factory=dict)
    cpus: dict[str, list[float]] = field(default_factory=dict)

    def add(self, engine: str, seconds: float, cpu_seconds: float) -> None:
        self.walls.setdefault(engine, []).append(seconds)
        self.cpus.setdefault(engine, []).append(cpu_seconds)

    def wall(self, engine: str) -> float:
        return statistics.median(self.walls[engine])

    def cpu(self, engine: str) -> float:
        return statistics.median(self.cpus[engine])

    def __str__(self) -> str:
        return "; ".join(
            f"{engine} "
            + ", ".join(f"{wall:.2f} ({cpu:.2f})" for wall, cpu in zip(walls, self.cpus[engine], strict=True))
            for engine, walls in self.walls.items()
        )


def compare(engines: dict[str, Engine], text: str, *, pairs: int) -> Figures:
    """Runs a query on both engines in turn. Raises RuntimeError when their rows differ, or with an engine's own message."""
    digests = {name: engine.run(text).digest for name, engine in engines.items()}
    if len(set(digests.values())) > 1:
        raise RuntimeError(f"DIFFERENT ROWS: {digests}")
    figures = Figures()
    for number in range(pairs):
        # Each is first in every other pair: the machine may be in another state for the second.
        order = list(engines.items()) if number % 2 else list(engines.items())[::-1]
        for name, engine in order:
            answer = engine.run(text)
            figures.add(name, answer.seconds, answer.cpu_seconds)
    return figures


def run(benchmark: Benchmark, description: str | None) -> None:
    """The command line of a benchmark."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--queries", default="", help="numbers with commas between; all by default")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--against", choices=("java", "vectored"), default="java", help="the engine beside ours")
    parser.add_argument("--vectors", action="store_true", help="with 2 %% of the facts' rows deleted")
    parser.add_argument("--profile", action="store_true", help="show where each engine spends its time; no figures")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds that an engine has for a query")
    parser.add_argument("--folder", default=str(Path(tempfile.gettempdir()) / "floeberg-bench-spark"))
    given = parser.parse_args()
    source = Source(benchmark)
    warehouse = Path(given.folder) / f"{benchmark.name}-{given.scale:g}{'-vectors' if given.vectors else ''}"
    make_tables(benchmark, source, warehouse, scale=given.scale, vectors=given.vectors)
    asked = [int(number) for number in given.queries.split(",") if number]
    queries = {number: text for number, text in source.queries().items() if not asked or number in asked}
    if given.profile:
        _profile(warehouse, queries, [given.against, "floeberg"], rounds=given.pairs)
        return
    found: dict[int, Figures] = {}
    with ExitStack() as stack:
        engines = {
            name: stack.enter_context(Engine(name, warehouse, patience_seconds=given.patience))
            for name in (given.against, "floeberg")
        }
        for engine in engines.values():
            engine.run(f"USE {CATALOG}.db")
        print(f"scale {given.scale:g}, medians of {given.pairs} pairs; seconds (processor seconds)", flush=True)
        for number, text in queries.items():
            try:
                found[number] = compare(engines, text, pairs=given.pairs)
                _print(f"q{number}", [found[number]])
            except RuntimeError as error:
                print(f"  q{number:<6} {str(error)[:300]}", flush=True)
        if found:
            _print_all(found, given.against)
        for number in _slower(found, given.against):
            # What is slow in one moment only is not the query's own.
            print(f"  q{number} each time: {found[number]}; again, {AGAIN} pairs:", flush=True)
            again = compare(engines, queries[number], pairs=AGAIN)
            _print(f"q{number}", [again])
            print(f"  q{number} each time: {again}", flush=True)


def _profile(warehouse: Path, queries: Mapping[int, str], names: list[str], *, rounds: int) -> None:
    """Runs all queries some times on each engine, and prints what its JVM was seen to do."""
    found = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{name}.jfr"
            with Engine(name, warehouse, environment=recorded(file)) as engine:
                engine.run(f"USE {CATALOG}.db")
                for _ in range(rounds):
                    for text in queries.values():
                        engine.run(text)
            found[name] = shares(file)
    print_shares(found)


def _slower(found: Mapping[int, Figures], other: str) -> list[int]:
    """The queries that take the other engine over half a second, and us over 1.5 times as long."""
    return [
        number
        for number, one in found.items()
        if one.wall(other) > 0.5 and one.wall("floeberg") > 1.5 * one.wall(other)
    ]


def _print_all(found: Mapping[int, Figures], other: str) -> None:
    _print("total", list(found.values()))
    ratios = [one.wall("floeberg") / one.wall(other) for one in found.values()]
    mean, faster = statistics.geometric_mean(ratios), sum(ratio < 1 for ratio in ratios)
    print(f"  geometric mean × {mean:.2f}, faster in {faster} of {len(ratios)}")
    slower = ", ".join(f"q{number}" for number in _slower(found, other))
    print(f"  above 1.5 × of those that take {other} over 0.5 s: {slower or 'none'}", flush=True)


def _print(name: str, figures: list[Figures]) -> None:
    engines = sorted(figures[0].walls, key="floeberg".__eq__)  # ours last
    wall = {engine: sum(one.wall(engine) for one in figures) for engine in engines}
    cpu = {engine: sum(one.cpu(engine) for one in figures) for engine in engines}
    cells = [f"{engine} {wall[engine]:7.2f} ({cpu[engine]:7.2f})" for engine in engines]
    other = engines[0]
    ratio = f"× {wall['floeberg'] / wall[other]:.2f} ({cpu['floeberg'] / max(cpu[other], 0.01):.2f})"
    print(f"  {name:<7} {'   '.join(cells)}   {ratio}", flush=True)
