"""What join pruning keeps holds every row that a join needs: random queries run by DuckDB over all rows, and over the rows with
the keys in the files that are kept."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from floeberg.api.catalog import Catalog, catalog
from floeberg.arrow.scan.execute import read_tasks, table_reader
from floeberg.catalogs.base import LoadedTable
from floeberg.expr.bind import bind_reference
from floeberg.expr.nodes import Expression
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.kept_keys import KeptKeys
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.spark.host.session_state import Selection
from floeberg.spark.query.statement_keys import SelectedTable, StatementKeys, join_keys_of, keys_of
from floeberg.spark.read.joins import key_values, small_table
from floeberg.spark.read.joins.key_values import KeyValues, key_predicate, key_reference
from floeberg.spark.read.joins.pruned_files import pruned_by_keys
from floeberg.spark.read.joins.row_filter import row_keys
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DATE, DOUBLE, INT, LONG, STRING, TIMESTAMPTZ, IcebergType, NestedField
from floeberg.sql.conditions.to_expression import to_expression
from floeberg.sql.queries.conjuncts import table_conditions
from floeberg.sql.queries.references import find_references, replace_references
from floeberg.sql.text.names import SessionNames
from star_joins.eager_keys import use_every_key
from star_joins.queries import is_prunable, random_query
from star_joins.tables import COLUMNS, World, build_world

WORLDS: Final = int(os.environ.get("FLOEBERG_JOIN_WORLDS", "6"))
QUERIES: Final = 20
LAKE: Final = SessionNames(frozenset({"lake"}))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    lake = catalog("lake", warehouse=str(Path(tmp_path_factory.mktemp("lake"))))
    lake.create_namespace("db")
    yield lake
    lake.close()


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(
        "SET disabled_optimizers = 'join_filter_pushdown'"
    )  # its Bloom filters do not reach Arrow tables
    yield connection
    connection.close()


def expression(conditions: Any, schema: Schema) -> Expression:
    return to_expression(conditions, schema, ansi=True, session_time_zone="UTC")


class Planned:
    """A query over the tables of a lake: what is read for each reference."""

    def __init__(self, lake: Catalog, sql: str) -> None:
        self.filtered = 0
        """The keys that left out rows."""
        self.references = find_references(sql, LAKE)
        assert self.references.query is not None, sql
        tables = [lake.load_table(f"db.{table.identifier.name}") for table in self.references.tables]
        self.tables = [
            SelectedTable(reference.identifier, LoadedTable(table._pointer, table._state), Selection(), table.schema)
            for reference, table in zip(self.references.tables, tables, strict=True)
        ]
        columns = {
            id(relation): frozenset(field.name for field in table.schema.fields)
            for relation, table in zip(self.references.relations, self.tables, strict=True)
        }
        joins = join_keys_of(self.references, columns, self.tables)
        session: Any = SimpleNamespace(state=SimpleNamespace(manifests=FrameCache(), join_keys=KeptKeys()))
        self.conditions = StatementKeys(
            session,
            {id(relation): number for number, relation in enumerate(self.references.relations)},
            self.tables,
            table_conditions(self.references, joins=joins),
            joins,
            expression,
            lambda number, column: None,
        ).bound()

    def rows(self, number: int) -> tuple[pa.Table, int, int]:
        """The rows that are kept, without the query's own filter, and how many files of how many are read."""
        table, conditions = self.tables[number], self.conditions[number]
        metadata, chosen = table.loaded.state.metadata, choose_snapshot(table.loaded.state.metadata)
        keys = keys_of(conditions)
        store_for = table.loaded.pointer.store_for
        ids = frozenset(found.field_id for key in keys if (found := key_reference(key.column, chosen.schema)))
        plan = plan_files(metadata, chosen, store_for=store_for, keep_metrics_of=ids)
        pruned, _ = pruned_by_keys(plan, keys)
        deletes = {task.data_file.file_path: task.deletes for task in plan}
        assert all(deletes[task.data_file.file_path] == task.deletes for task in pruned)
        reader = table_reader(metadata, chosen.schema, store_for=store_for)
        rows = read_tasks(pruned, reader, chosen.schema).read_all()
        for one in row_keys(pruned, keys):
            column = rows.column(one.column).cast(pa.int32()) if one.type == DATE else rows.column(one.column)
            rows = rows.filter(pc.is_in(column.cast(pa.int64()), pa.array(one.values, pa.int64())))
            self.filtered += 1
        return rows, len(pruned), len(plan)


def run(connection: duckdb.DuckDBPyConnection, planned: Planned, tables: dict[int, pa.Table]) -> Counter[Any]:
    names = {table.start: f"rows_{number}" for number, table in enumerate(planned.references.tables)}
    for number, rows in tables.items():
        connection.register(f"rows_{number}", rows)
    text = replace_references(
        planned.references.cursor.sql, planned.references, lambda table: f"(SELECT * FROM {names[table.start]})"
    )
    text = text.replace("`", '"').replace("<=>", "IS NOT DISTINCT FROM").replace(" TIMESTAMP '", " TIMESTAMPTZ '")
    return Counter(connection.execute(text).fetchall())


def all_rows(lake: Catalog, world: World, name: str) -> pa.Table:
    schema = lake.load_table(f"db.{name}").scan().to_arrow().schema
    return pa.table(
        {
            column: pa.array([row[at] for row in world.rows[name]], schema.field(column).type)
            for at, column in enumerate(COLUMNS[name])
        }
    )


def differences(lake: Catalog, duck: duckdb.DuckDBPyConnection, seed: int) -> tuple[list[str], Counter[str]]:
    """The queries of a seed that give other rows, and counts by kind."""
    world = build_world(lake, seed)
    whole = {name: all_rows(lake, world, name) for name in COLUMNS}
    chance, ways = random.Random(seed), random.Random(seed)
    wrong, counts = [], Counter[str]()
    for _ in range(QUERIES):
        sql, kind = random_query(chance, world.literal)
        with pytest.MonkeyPatch.context() as patch:
            use_every_key(patch, ways)
            planned = Planned(lake, sql)
            kept = {number: planned.rows(number) for number in range(len(planned.tables))}
        expected = run(duck, planned, {n: whole[t.identifier.name] for n, t in enumerate(planned.references.tables)})
        if run(duck, planned, {number: rows for number, (rows, _, _) in kept.items()}) != expected:
            wrong.append(sql)
        counts[kind] += 1
        pruned = any(files < there for _, files, there in kept.values())
        counts[f"{kind}: pruned"] += pruned
        if is_prunable(kind, sql):
            counts["prunable"] += 1
            counts["prunable: pruned"] += pruned
        counts["keys that leave out rows"] += planned.filtered
        counts["files read"] += sum(files for _, files, _ in kept.values())
        counts["files there"] += sum(there for _, _, there in kept.values())
    return wrong, counts


def test_the_files_and_rows_that_are_kept_hold_every_row_that_a_query_needs(
    lake: Catalog, duck: duckdb.DuckDBPyConnection
) -> None:
    total = Counter[str]()
    for seed in range(WORLDS):
        wrong, counts = differences(lake, duck, seed)
        assert not wrong, (seed, wrong)
        total += counts
    print(dict(total))
    assert 3 * total["prunable: pruned"] >= total["prunable"] > 0
    assert total["files read"] < total["files there"]
    assert total["keys that leave out rows"] > 0


def test_a_key_that_is_missed_is_found_out(
    lake: Catalog, duck: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = small_table._sorted
    monkeypatch.setattr(small_table, "_sorted", lambda columns, data_type: (own(columns, data_type) or ())[1:])
    assert any(differences(lake, duck, seed)[0] for seed in range(4))


@pytest.mark.parametrize(
    ("keys", "column", "predicate"),
    [
        (KeyValues(INT, (1, 2), ""), LONG, "a IN (1, 2)"),
        (KeyValues(LONG, (1, 2**40), ""), INT, "a = 1"),
        (KeyValues(LONG, (2**40,), ""), INT, "FALSE"),
        (KeyValues(DATE, (), ""), DATE, "FALSE"),
        (KeyValues(STRING, ("05",), ""), INT, None),
        (KeyValues(INT, (5,), ""), STRING, None),
        (KeyValues(DATE, (5,), ""), TIMESTAMPTZ, None),
        (KeyValues(INT, (5,), ""), DATE, None),
        (KeyValues(INT, (5,), ""), DOUBLE, None),
        (
            KeyValues(LONG, tuple(range(key_values.MAX_VALUES + 1)), ""),
            LONG,
            f"a >= 0 AND a <= {key_values.MAX_VALUES}",
        ),
    ],
)
def test_keys_are_compared_in_one_type_only(keys: KeyValues, column: IcebergType, predicate: str | None) -> None:
    found = key_predicate(keys, bind_reference("a", Schema(NestedField(1, "a", column))))
    assert (None if found is None else str(found)) == predicate
