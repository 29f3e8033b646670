"""Arrow batches of a scan in the forms that Spark takes for its types. Runs in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.columns.nested import MakeField, map_leaves, relist
from floeberg.arrow.columns.types import arrow_type
from floeberg.errors import InvalidInput
from floeberg.spark.host.types.exact_types import MICROSECOND, NANOSECOND
from floeberg.spec.schemas.schema import Schema
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
_EXACT: Final[dict[type[IcebergType], pa.DataType]] = {
    kind: pa.struct([pa.field(MICROSECOND, _LEAVES[kind]), pa.field(NANOSECOND, pa.int16())])
    for kind in (TimestampNsType, TimestamptzNsType)
}
_EXACT_LEAVES: Final = _LEAVES | _EXACT
_DAY_US: Final = 86_400_000_000
_HEX: Final = np.frombuffer(b"".join(b"%02x" % value for value in range(256)), dtype=np.uint8).reshape(256, 2)
_DASHES: Final = (8, 13, 18, 23)
_TEXT_BYTES: Final = 36


def spark_arrow_schema(projection: Schema, *, exact: bool = False) -> pa.Schema:
    """The Arrow schema of the batches that Spark is given for a projection; `exact` in the form that keeps nanoseconds."""
    make_field = _exact_field if exact else _field
    return pa.schema([make_field(field) for field in projection.fields])


def to_spark(batch: pa.RecordBatch, projection: Schema, schema: pa.Schema, *, exact: bool = False) -> pa.RecordBatch:
    """A batch of the projection's Arrow schema as one of Spark's."""
    leaf, make_field = (_exact_leaf, _exact_field) if exact else (_leaf, _field)
    arrays = [
        map_leaves(array, field.type, leaf=leaf, make_field=make_field)
        for array, field in zip(batch.columns, projection.fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def from_spark(batch: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """A batch of Spark's with the types of its own that Arrow's conversions do not know: times of day, and timestamps in
    the exact form. Raises InvalidInput for a time that no day has, and a timestamp that nanoseconds do not reach."""
    for number, column in enumerate(batch.schema):
        field = schema.find(column.name) or schema.find(column.name, case_sensitive=False)
        if field is None or not _is_made(field.type):
            continue
        try:
            array = _restored(batch.column(number), field.type)
        except pa.ArrowException as error:
            raise InvalidInput(
                f"column {field.name!r} does not fit type {field.type}: {error}", column=field.name
            ) from error
        batch = batch.set_column(number, column.name, array)
    return batch


def _is_made(data_type: IcebergType) -> bool:
    if isinstance(data_type, StructType):
        return any(_is_made(member.type) for member in data_type.members)
    if isinstance(data_type, ListType):
        return _is_made(data_type.element_type)
    if isinstance(data_type, MapType):
        return _is_made(data_type.key_type) or _is_made(data_type.value_type)
    return isinstance(data_type, (TimeType, TimestampNsType, TimestamptzNsType))


def _restored(array: pa.Array, data_type: IcebergType) -> pa.Array:
    kind = array.type
    if pa.types.is_null(kind) or not _is_made(data_type):
        return array
    match data_type:
        case StructType() if kind.num_fields == len(data_type.members):
            children = [_restored(array.field(i), member.type) for i, member in enumerate(data_type.members)]
            fields = [pa.field(kind.field(i).name, child.type) for i, child in enumerate(children)]
            mask = array.is_null() if array.null_count else None
            return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
        case ListType():
            values = _restored(array.values, data_type.element_type)
            return relist(array, pa.list_(pa.field("element", values.type)), values)
        case MapType():
            keys, items = _restored(array.keys, data_type.key_type), _restored(array.items, data_type.value_type)
            fields = [pa.field("key", keys.type, nullable=False), pa.field("value", items.type)]
            return relist(array, pa.map_(*fields), pa.StructArray.from_arrays([keys, items], fields=fields))
        case TimeType() if pa.types.is_integer(kind):
            return _times(array)
        case TimestampNsType() | TimestamptzNsType() if pa.types.is_struct(kind):
            return _nanoseconds(array, arrow_type(data_type))
    return array


def _times(array: pa.Array) -> pa.Array:
    bounds = pc.min_max(array)
    least, most = bounds["min"].as_py(), bounds["max"].as_py()
    if least is not None and (least < 0 or most >= _DAY_US):
        raise pa.ArrowInvalid(f"a time is from 0 to {_DAY_US - 1} microseconds after midnight, not {least} to {most}")
    return array.cast(pa.int64()).cast(pa.time64("us"))


def _nanoseconds(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Raises pa.ArrowInvalid where nanoseconds do not reach."""
    whole = array.field(0)
    is_null = pc.or_(array.is_null(), whole.is_null())
    microseconds = whole.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    rest = array.field(1).fill_null(0).to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        made = microseconds * np.int64(1000) + rest  # wraps around, also on the way to the least of all timestamps
    reached = np.floor_divide(made, 1000) == microseconds
    if not reached.all() and not (reached | is_null.to_numpy(zero_copy_only=False)).all():
        raise pa.ArrowInvalid("a timestamp of nanoseconds is from 1677-09-21 to 2262-04-11")
    mask = is_null.to_numpy(zero_copy_only=False) if array.null_count or whole.null_count else None
    return pa.array(made, pa.int64(), mask=mask).view(wanted)


def _field(field: NestedField) -> pa.Field:
    return pa.field(field.name, _type(field.type, _field, _LEAVES), nullable=field.optional)


def _exact_field(field: NestedField) -> pa.Field:
    return pa.field(field.name, _type(field.type, _exact_field, _EXACT_LEAVES), nullable=field.optional)


def _type(
    data_type: IcebergType, make_field: MakeField, leaves: Mapping[type[IcebergType], pa.DataType]
) -> pa.DataType:
    match data_type:
        case StructType():
            return pa.struct([make_field(member) for member in data_type.members])
        case ListType():
            return pa.list_(make_field(data_type.element))
        case MapType():
            return pa.map_(make_field(data_type.key), make_field(data_type.value))
    found = leaves.get(type(data_type))
    return arrow_type(data_type) if found is None else found


def _exact_leaf(array: pa.Array, data_type: IcebergType) -> pa.Array:
    if not isinstance(data_type, (TimestampNsType, TimestamptzNsType)):
        return _leaf(array, data_type)
    numbers = array.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    rest = pa.array(np.mod(numbers, 1000).astype(np.int16), pa.int16())
    children = [_microseconds(array, _LEAVES[type(data_type)]), rest]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(_EXACT_LEAVES[type(data_type)]), mask=mask)


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
