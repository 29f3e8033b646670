"""Arrow batches of a scan in the forms that Spark takes for its types. Runs in Spark's Python workers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from floeberg.arrow.nested import map_leaves
from floeberg.arrow.types import arrow_type
from floeberg.spec.schema import Schema
from floeberg.spec.types import (
    FixedType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    TimestampNsType,
    TimestamptzNsType,
    TimeType,
    UuidType,
    VariantType,
)

SPARK_VARIANT: Final = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
    ]
)
_LEAVES: Final[dict[type[IcebergType], pa.DataType]] = {
    UuidType: pa.string(),
    FixedType: pa.binary(),
    TimeType: pa.int64(),
    TimestampNsType: pa.timestamp("us"),
    TimestamptzNsType: pa.timestamp("us", tz="UTC"),
    VariantType: SPARK_VARIANT,
}
_HEX: Final = np.frombuffer(b"".join(b"%02x" % value for value in range(256)), dtype=np.uint8).reshape(256, 2)
_DASHES: Final = (8, 13, 18, 23)
_TEXT_BYTES: Final = 36


def spark_arrow_schema(projection: Schema) -> pa.Schema:
    """The Arrow schema of the batches that Spark is given for a projection."""
    return pa.schema([_field(field) for field in projection.fields])


def to_spark(batch: pa.RecordBatch, projection: Schema, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of the projection's Arrow schema as one of Spark's."""
    arrays = [
        map_leaves(array, field.type, leaf=_leaf, make_field=_field)
        for array, field in zip(batch.columns, projection.fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _field(field: NestedField) -> pa.Field:
    return pa.field(field.name, _type(field.type), nullable=field.optional)


def _type(data_type: IcebergType) -> pa.DataType:
    match data_type:
        case StructType():
            return pa.struct([_field(member) for member in data_type.members])
        case ListType():
            return pa.list_(_field(data_type.element))
        case MapType():
            return pa.map_(_field(data_type.key), _field(data_type.value))
    found = _LEAVES.get(type(data_type))
    return arrow_type(data_type) if found is None else found


def _leaf(array: pa.Array, data_type: IcebergType) -> pa.Array:
    match data_type:
        case UuidType():
            return uuid_text(array)
        case FixedType():
            return array.cast(pa.binary())
        case TimeType():
            return array.cast(pa.int64())
        case TimestampNsType() | TimestamptzNsType():
            return _microseconds(array, _LEAVES[type(data_type)])
        case VariantType():
            return _variant(array)
    return array


def _microseconds(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Nanoseconds cut to the microsecond they are in, also before 1970."""
    numbers = array.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    mask = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(np.floor_divide(numbers, 1000), pa.int64(), mask=mask).view(wanted)


def _variant(array: pa.Array) -> pa.Array:
    metadata, value = array.field(0), array.field(1)
    empty = pa.scalar(b"", pa.binary())
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(
        [value.fill_null(empty), metadata.fill_null(empty)], fields=list(SPARK_VARIANT), mask=mask
    )


def uuid_text(array: pa.Array) -> pa.Array:
    """Arrays of 16 bytes as the text of uuids."""
    length = len(array)
    filled: Any = array.fill_null(bytes(16)) if array.null_count else array
    raw = np.frombuffer(filled.buffers()[1], dtype=np.uint8, count=(filled.offset + length) * 16)[filled.offset * 16 :]
    digits = _HEX[raw].reshape(length, 32)
    text: npt.NDArray[np.uint8] = np.full((length, _TEXT_BYTES), ord("-"), dtype=np.uint8)
    text[:, [i for i in range(_TEXT_BYTES) if i not in _DASHES]] = digits
    offsets = np.arange(length + 1, dtype=np.int32) * _TEXT_BYTES
    valid = array.is_valid().buffers()[1] if array.null_count else None
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(text))]
    return pa.Array.from_buffers(pa.string(), length, buffers)
