"""Columns of a manifest's frame as Arrow arrays of a metadata table's types."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.columns.types import arrow_field, arrow_schema, arrow_type
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    DateType,
    IcebergType,
    MapType,
    NestedField,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
)

_TEMPORAL = (DateType, TimeType, TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)
_LONG_MAX = 2**63 - 1


def to_array(series: pl.Series, data_type: IcebergType) -> pa.Array:
    """A frame's column of physical values in the Arrow type of an Iceberg type."""
    found = series.to_arrow()
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    wanted = arrow_type(data_type)
    if isinstance(data_type, MapType):
        return _to_map(found, wanted)
    if isinstance(data_type, _TEMPORAL):
        return found.cast(pa.int32() if isinstance(data_type, DateType) else pa.int64()).view(wanted)
    if pa.types.is_fixed_size_binary(wanted):
        return found.cast(pa.binary()).cast(wanted)
    return found.cast(wanted)


def _to_map(lists: Any, wanted: pa.MapType) -> pa.Array:
    """A map of a list of (key, value), which Arrow does not cast."""
    pairs = lists.flatten()
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([np.zeros(1, dtype=np.int32), np.cumsum(lengths, dtype=np.int32)])
    return pa.MapArray.from_arrays(
        pa.array(offsets),
        pc.struct_field(pairs, "key").cast(wanted.key_type),
        pc.struct_field(pairs, "value").cast(wanted.item_type),
        type=wanted,
        mask=lists.is_null() if lists.null_count else None,
    )


def struct_array(arrays: list[pa.Array], members: tuple[NestedField, ...], length: int) -> pa.Array:
    """A struct that is null nowhere, also without any member."""
    if not members:
        return pa.array([{}] * length, pa.struct([]))
    return pa.StructArray.from_arrays(arrays, fields=[arrow_field(member) for member in members])


def record_batch(arrays: list[pa.Array], schema: Schema) -> pa.RecordBatch:
    """A batch of a metadata table, field ids in the fields' metadata."""
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))


def nulls(length: int, data_type: IcebergType) -> pa.Array:
    return pa.nulls(length, arrow_type(data_type))


def constant(value: int, data_type: IcebergType, length: int) -> pa.Array:
    """A column of one number."""
    return pa.repeat(pa.scalar(value, arrow_type(data_type)), length)


def long(value: int | None) -> int | None:
    """A snapshot id as a long: one beyond it, which only a lenient reader lets in, wraps round as writers stored it."""
    return value if value is None or value <= _LONG_MAX else value - 2**64


def partition_array(frame: pl.DataFrame, table_type: StructType, own_type: StructType | None) -> pa.Array:
    """The frame's partition tuples as the table's unified partition struct. `own_type` is that of the frame's spec:
    what it lacks, and what is stored in another type because the field was made void, is null."""
    partition = frame.get_column("partition")
    held = {field.name: field.dtype for field in getattr(partition.dtype, "fields", ())}
    arrays = []
    for member in table_type:
        own = None if own_type is None else own_type.field(member.field_id)
        name = str(member.field_id)
        if own is None or own.type != member.type or name not in held:
            arrays.append(nulls(frame.height, member.type))
        else:
            arrays.append(to_array(partition.struct.field(name), member.type))
    return struct_array(arrays, table_type.members, frame.height)
