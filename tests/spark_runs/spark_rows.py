"""Rows of Spark's frames and of the Arrow engine in one form, so that each can be the other's oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from floeberg.api.table import Table
from floeberg.catalogs.base import LoadedTable
from floeberg.spark.workers.arrow_values import spark_arrow_schema, to_spark


def loaded(table: Table) -> LoadedTable:
    """What the Spark engine takes for a table."""
    return LoadedTable(table._pointer, table._state)


def spark_rows(frame: Any) -> list[str]:
    """The rows of a DataFrame, in an order that does not depend on how they were read."""
    return as_text(frame.toArrow())


def arrow_rows(table: Table, **scan: Any) -> list[str]:
    """The rows that the Arrow engine reads, in the same form."""
    planned = table.scan(**scan)
    found = planned.to_arrow()
    schema = spark_arrow_schema(planned.schema)
    batches = [to_spark(batch, planned.schema, schema) for batch in found.to_batches()]
    return as_text(pa.Table.from_batches(batches, schema=schema))


def as_text(table: pa.Table) -> list[str]:
    columns = [[_text(value) for value in _plain(column).to_pylist(maps_as_pydicts=None)] for column in table.columns]
    rows: Sequence[tuple[str, ...]] = list(zip(*columns, strict=True)) if columns else []
    return sorted("|".join(row) for row in rows)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates and times as numbers: Python's have years 1 to 9999 only."""
    if pa.types.is_date(column.type):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(item)}" for key, item in sorted(value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_text(item) for item in value) + "]"
    if isinstance(value, float):
        return repr(value)
    if hasattr(value, "astimezone") and getattr(value, "tzinfo", None) is not None:
        return str(value.timestamp())
    return repr(value)
