"""Aggregates of a scan are those of its rows, whether metadata or the files tell them."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog
from floeberg.api.scan import Scan
from floeberg.arrow.columns.physical import physical_values
from floeberg.arrow.scan.aggregates import ScanAggregates
from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DoubleType, FloatType, IcebergType, StructType
from models.engine_model import Model, random_model
from models.engine_rows import canonical, matching
from strategies.engine_filters import random_filter

TABLES = 60
ASKED_PER_TABLE = 12


def _order(value: Any) -> Any:
    return value != value, value


def expected(rows: list[dict[str, Any]], aggregates: list[tuple[str, str]], by: list[str]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[dict[str, Any]]] = {} if by else {(): []}
    for row in rows:
        groups.setdefault(tuple(canonical(row[name]) for name in by), []).append(row)
    result = {}
    for key, members in groups.items():
        values = []
        for function, column in aggregates:
            there = [row for row in members if column == "*" or row[column] is not None]
            if function == "count":
                values.append(len(there))
            else:
                found = [row[column] for row in there]
                values.append(_zero(({"min": min, "max": max}[function])(found, key=_order)) if found else None)
        result[key] = values
    return result


def _zero(value: Any) -> Any:
    """The least of -0.0 and 0.0 is either."""
    return canonical(0.0 if isinstance(value, float) and value == 0 else value)


def found(table: pa.Table, types: list[IcebergType | None], keys: int) -> dict[Any, list[Any]]:
    columns = [
        table.column(i).to_pylist() if kind is None else physical_values(table.column(i).combine_chunks(), kind)
        for i, kind in enumerate(types)
    ]
    return {
        tuple(canonical(value) for value in row[:keys]): [
            value if kind is None or value is None else _zero(value)
            for value, kind in zip(row[keys:], types[keys:], strict=True)
        ]
        for row in zip(*columns, strict=True)
    }


def random_aggregates(rng: random.Random, model: Model) -> tuple[list[tuple[str, str]], list[str]]:
    schema: Schema = model.schema
    primitive = [field.name for field in schema.fields if not isinstance(field.type, StructType)]
    aggregates = [("count", "*")] if rng.random() < 0.6 else []
    for _ in range(rng.randrange(0 if aggregates else 1, 3)):
        aggregates.append((rng.choice(["count", "min", "max"]), rng.choice(primitive)))
    sources = [schema.names.get(field.source_id) for field in model.table.spec.fields]
    partitions = [
        name
        for name in sources
        if name in primitive and not isinstance(schema.field(name).type, (FloatType, DoubleType))
    ]
    by = [rng.choice(partitions)] if partitions and rng.random() < 0.5 else []
    if not by and rng.random() < 0.2:
        by = [rng.choice([n for n in primitive if not isinstance(schema.field(n).type, (FloatType, DoubleType))])]
    return aggregates, by


def test_random_aggregates_of_random_tables_are_those_of_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from_metadata: list[bool] = []
    real = ScanAggregates.from_metadata

    def counted(self: ScanAggregates, plan: Any) -> pa.Table | None:
        table = real(self, plan)
        from_metadata.append(table is not None)
        return table

    monkeypatch.setattr(ScanAggregates, "from_metadata", counted)
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    for seed in range(TABLES):
        rng = random.Random(seed)
        model = random_model(lake, f"db.t{seed}", rng, steps=rng.randrange(1, 6))
        rows = model.expected()
        for _ in range(ASKED_PER_TABLE):
            aggregates, by = random_aggregates(rng, model)
            kinds: list[IcebergType | None] = [model.schema.field(name).type for name in by]
            kinds += [None if f == "count" else model.schema.field(name).type for f, name in aggregates]
            where = random_filter(rng, model.schema, rows, depth=1) if rng.random() < 0.3 else None
            scan: Scan = model.table.scan(where=where)
            kept = rows if where is None else matching(where, rows, model.schema)
            table = scan.aggregate(*(f"{function}({name})" for function, name in aggregates), by=by)
            what = f"seed {seed}: {aggregates} by {by} where {where}, {model.done}"
            assert found(table, kinds, len(by)) == expected(kept, aggregates, by), what
    assert sum(from_metadata) > len(from_metadata) // 8, (sum(from_metadata), len(from_metadata))


def test_aggregates_that_cannot_be_are_refused() -> None:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    table = lake.create_table("db.t", "id bigint, s struct<a: int>, l array<int>")
    with pytest.raises(InvalidInput, match="an aggregate is"):
        table.scan().aggregate("sum(id)")
    with pytest.raises(InvalidInput, match="no aggregate"):
        table.scan().aggregate()
    with pytest.raises(InvalidInput, match="no least or greatest"):
        table.scan().aggregate("min(s)")
    with pytest.raises(InvalidInput, match="list of names"):
        table.scan().aggregate("count(*)", by="id")
    assert table.scan().aggregate("count(*)", "min(s.a)", "count(l)").to_pylist() == [
        {"count(*)": 0, "min(s.a)": None, "count(l)": 0}
    ]


def test_a_limit_and_time_travel_count_the_rows_that_they_give() -> None:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    table = lake.create_table("db.t", "id bigint, p string", partition_by=["p"])
    table.append(pa.table({"id": [1, 2, 3], "p": ["a", "a", "b"]}))
    first = table.current_snapshot
    assert first is not None
    table.append(pa.table({"id": [4], "p": [None]}))
    assert table.scan(limit=2).aggregate("count(*)").to_pylist() == [{"count(*)": 2}]
    old = table.scan(snapshot_id=first.snapshot_id).aggregate("count(*)", "max(id)", "min(p)")
    assert old.to_pylist() == [{"count(*)": 3, "max(id)": 3, "min(p)": "a"}]
    now = table.scan(where="p = 'a'").aggregate("max(id)", "count(p)", by=["p"])
    assert now.to_pylist() == [{"p": "a", "max(id)": 2, "count(p)": 2}]


def test_groups_of_floats_have_one_zero_and_one_nan() -> None:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    table = lake.create_table("db.t", "d double, f float, n int")
    other_nan = np.array([0xFFF8000000000001], np.uint64).view(np.float64)[0]
    for values in ([0.0, -0.0, math.nan], [-0.0, other_nan, None]):
        table.append(pa.table({"d": values, "f": pa.array(values, pa.float32()), "n": pa.array([1, 2, 3], pa.int32())}))
    for name in ("d", "f"):
        counted = table.scan().aggregate("count(*)", "max(n)", by=[name]).to_pylist()
        found = {repr(row[name]): (row["count(*)"], row["max(n)"]) for row in counted}
        assert (len(counted), found) == (3, {"0.0": (3, 2), "nan": (2, 3), "None": (1, 3)})
