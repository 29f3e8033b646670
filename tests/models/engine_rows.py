"""Rows in physical form, for tests that compare what the Arrow engine reads with a plain model of it."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from floeberg.arrow.columns.physical import physical_values
from floeberg.expr.bind import bind
from floeberg.expr.evaluate import keeps
from floeberg.expr.nodes import Expression
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import GeometryType, IcebergType, ListType, MapType, StructType, UuidType
from floeberg.spec.values.wkt import wkt_from_wkb

Row = dict[str, Any]


def rows_of(table: pa.Table, schema: Schema) -> list[Row]:
    """The rows of a table whose columns are the schema's fields; structs as dicts."""
    columns = [_values(table.column(i).combine_chunks(), field.type) for i, field in enumerate(schema.fields)]
    names = [field.name for field in schema.fields]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _values(array: Any, data_type: IcebergType) -> list[Any]:
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in _values(chunk, data_type)]
    if isinstance(data_type, StructType):
        members = {m.name: _values(array.field(i), m.type) for i, m in enumerate(data_type.members)}
        valid = array.is_valid().to_pylist()
        return [
            {name: values[place] for name, values in members.items()} if here else None
            for place, here in enumerate(valid)
        ]
    if isinstance(data_type, (ListType, MapType)):
        return list(array.to_pylist())
    return list(physical_values(array, data_type))


def matching(expression: Expression, rows: Iterable[Row], schema: Schema) -> list[Row]:
    """The rows for which the expression is true, by the row oracle."""
    bound = bind(expression, schema)
    return [row for row in rows if keeps(bound, row)]


def multiset(rows: Iterable[Row]) -> Counter[Any]:
    """Rows without their order; NaN equals NaN, zeros of both signs differ."""
    return Counter(tuple((name, canonical(value)) for name, value in sorted(row.items())) for row in rows)


def canonical(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, dict):
        return tuple((key, canonical(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(canonical(item) for item in value)
    return value


def assert_same_rows(found: Iterable[Row], expected: Iterable[Row], what: object = "") -> None:
    """Raises with the rows that are lost and those that are too many."""
    left, right = multiset(found), multiset(expected)
    lost, extra = right - left, left - right
    difference = [*(f"lost {row}" for row in lost.elements()), *(f"extra {row}" for row in extra.elements())]
    assert difference == [], f"{what}: {difference[:6]}"


def as_expected_json(value: Any, data_type: IcebergType) -> Any:
    """A value as the golden collection's expected rows write it."""
    if value is None:
        return None
    match data_type:
        case StructType():
            return {m.name: as_expected_json(value[m.name], m.type) for m in data_type.members}
        case ListType():
            return [as_expected_json(item, data_type.element_type) for item in value]
        case MapType():
            pairs: Sequence[Any] = list(value.items()) if isinstance(value, dict) else value
            return [
                [as_expected_json(k, data_type.key_type), as_expected_json(v, data_type.value_type)] for k, v in pairs
            ]
        case UuidType():
            return str(uuid.UUID(bytes=value))
        case GeometryType():
            return "WKT:" + wkt_from_wkb(value)
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    return "x" + value.hex() if isinstance(value, bytes) else value
