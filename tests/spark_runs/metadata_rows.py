"""Rows of metadata tables as Python values: those of `t.inspect` as Spark must show them, and those that Spark shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pyarrow as pa

from floeberg.api.table import Table
from floeberg.inspect.by_name import metadata_table_schema
from floeberg.inspect.source import Source
from floeberg.spec.types import (
    IcebergType,
    ListType,
    MapType,
    StructType,
    TimestampNsType,
    TimestamptzNsType,
    UuidType,
)


def inspected_rows(table: Table, name: str, **chosen: Any) -> list[str]:
    """The rows of `t.inspect.<name>()` in the forms of docs/reference/spark-types.md."""
    found: pa.Table = getattr(table.inspect, name)(**chosen)
    schema = metadata_table_schema(Source(table.metadata, table._pointer.store_for), name)
    columns = [_inspected(column, field.type) for column, field in zip(found.columns, schema.fields, strict=True)]
    return _sorted(columns)


def shown_rows(frame: Any) -> list[str]:
    """The rows of a DataFrame in the same form. A time without a zone is told from an instant by its name."""
    found: pa.Table = frame.toArrow()
    return _sorted([_shown(column, column.type) for column in found.columns])


def _sorted(columns: list[list[Any]]) -> list[str]:
    return sorted(repr(row) for row in zip(*columns, strict=True))


def _inspected(array: Any, data_type: IcebergType) -> list[Any]:
    match data_type:
        case StructType():
            return _members(array, [(m.name, lambda a, t=m.type: _inspected(a, t)) for m in data_type.members])
        case ListType():
            return _lists(array, lambda a: _inspected(a, data_type.element_type))
        case MapType():
            return _maps(
                array, lambda a: _inspected(a, data_type.key_type), lambda a: _inspected(a, data_type.value_type)
            )
        case UuidType():
            return [None if value is None else str(UUID(bytes=bytes(value))) for value in array.to_pylist()]
        case TimestampNsType() | TimestamptzNsType():
            kind = "local" if isinstance(data_type, TimestampNsType) else "instant"
            numbers = array.cast(pa.int64()).to_pylist()
            return [None if value is None else (kind, value // 1000) for value in numbers]
    if pa.types.is_time(array.type):
        return array.cast(pa.int64()).to_pylist()
    return _plain(array)


def _shown(array: Any, kind: pa.DataType) -> list[Any]:
    if pa.types.is_struct(kind):
        return _members(array, [(f.name, lambda a, t=f.type: _shown(a, t)) for f in kind])
    if pa.types.is_list(kind):
        return _lists(array, lambda a: _shown(a, kind.value_type))
    if pa.types.is_map(kind):
        return _maps(array, lambda a: _shown(a, kind.key_type), lambda a: _shown(a, kind.item_type))
    return _plain(array)


def _plain(array: Any) -> list[Any]:
    """Python's dates and times have years 1 to 9999 only, so they are numbers."""
    if pa.types.is_timestamp(array.type):
        kind = "local" if array.type.tz is None else "instant"
        return [None if value is None else (kind, value) for value in array.cast(pa.int64()).to_pylist()]
    return array.cast(pa.int32()).to_pylist() if pa.types.is_date(array.type) else array.to_pylist()


Values = Callable[[Any], list[Any]]


def _chunks(array: Any) -> list[Any]:
    return array.chunks if isinstance(array, pa.ChunkedArray) else [array]


def _members(array: Any, members: list[tuple[str, Values]]) -> list[Any]:
    rows: list[Any] = []
    for chunk in _chunks(array):
        columns = [values(chunk.field(at)) for at, (_, values) in enumerate(members)]
        names = [name for name, _ in members]
        for number, valid in enumerate(chunk.is_valid().to_pylist()):
            row = tuple(zip(names, (column[number] for column in columns), strict=True))
            rows.append(row if valid else None)
    return rows


def _lists(array: Any, values: Values) -> list[Any]:
    rows: list[Any] = []
    for chunk in _chunks(array):
        items = values(chunk.values)
        ends = chunk.offsets.to_pylist()
        for number, valid in enumerate(chunk.is_valid().to_pylist()):
            rows.append(items[ends[number] : ends[number + 1]] if valid else None)
    return rows


def _maps(array: Any, keys: Values, values: Values) -> list[Any]:
    rows: list[Any] = []
    for chunk in _chunks(array):
        pairs = list(zip(keys(chunk.keys), values(chunk.items), strict=True))
        ends = chunk.offsets.to_pylist()
        for number, valid in enumerate(chunk.is_valid().to_pylist()):
            rows.append(sorted(pairs[ends[number] : ends[number + 1]], key=repr) if valid else None)
    return rows
