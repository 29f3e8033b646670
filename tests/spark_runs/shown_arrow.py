"""Rows of Arrow tables as the text that Spark's rows have in SQL scripts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa

from spark_runs.corpus_scripts import shown_row


def shown_arrow(table: pa.Table) -> list[str]:
    """The rows in an order that does not depend on how they were read."""
    columns = [[_as_spark(value, column.type) for value in _values(column)] for column in table.columns]
    return sorted(shown_row(row) for row in zip(*columns, strict=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Dates and times that Python has no objects for come as numbers."""
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(pa.int64()).to_pylist()
    try:
        return column.to_pylist()
    except (OverflowError, ValueError):
        return column.cast(pa.int32() if pa.types.is_date(column.type) else pa.int64()).to_pylist()


def _as_spark(value: Any, kind: pa.DataType) -> Any:
    """Structs as tuples of their values, maps as dicts, instants without a zone, in UTC."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return tuple(_as_spark(value[field.name], field.type) for field in kind)
    if pa.types.is_map(kind):
        return {_as_spark(key, kind.key_type): _as_spark(item, kind.item_type) for key, item in value}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_as_spark(item, kind.value_type) for item in value]
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return bytearray(value) if isinstance(value, bytes) else value
