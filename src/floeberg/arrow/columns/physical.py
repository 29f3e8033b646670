"""Values between their physical Python form (spec/types.py) and Arrow arrays."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from floeberg.arrow.columns.types import arrow_field, arrow_type
from floeberg.errors import InvalidInput
from floeberg.spec.types import (
    DateType,
    IcebergType,
    ListType,
    MapType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UuidType,
)

_INT64_TYPES = (TimeType, TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)


def array_of(values: Sequence[Any], data_type: IcebergType) -> pa.Array:
    """An Arrow array of physical values (None for null)."""
    match data_type:
        case StructType():
            return _struct_of(values, data_type)
        case ListType():
            items = [item for value in values if value is not None for item in value]
            return _lists_of(values, arrow_type(data_type), children=[array_of(items, data_type.element_type)])
        case MapType():
            pairs = [pair for value in values if value is not None for pair in _pairs(value)]
            keys = array_of([key for key, _ in pairs], data_type.key_type)
            items = array_of([item for _, item in pairs], data_type.value_type)
            fields = [arrow_field(data_type.key), arrow_field(data_type.value)]
            entries = pa.StructArray.from_arrays([keys, items], fields=fields)
            return _lists_of(values, arrow_type(data_type), children=[entries])
        case UuidType():
            return pa.array([None if value is None else value.bytes for value in values], pa.binary(16))
        case UnknownType():
            return pa.nulls(len(values))
        case DateType():
            return pa.array(values, pa.int32()).view(pa.date32())
        case _ if isinstance(data_type, _INT64_TYPES):
            return pa.array(values, pa.int64()).view(arrow_type(data_type))
    return pa.array(values, arrow_type(data_type))


def repeat(value: object, data_type: IcebergType, length: int) -> pa.Array:
    """A column that holds one physical value throughout."""
    if value is None:
        return pa.nulls(length, arrow_type(data_type))
    one = array_of([value], data_type)
    return one.take(pa.array(np.zeros(length, dtype=np.int64))) if length != 1 else one


def physical_value(scalar: pa.Scalar, data_type: IcebergType) -> Any:
    """The physical form of an Arrow scalar of a primitive type; None for null."""
    if not scalar.is_valid:
        return None
    if isinstance(data_type, UuidType):
        return uuid.UUID(bytes=scalar.as_py())
    if isinstance(data_type, (DateType, *_INT64_TYPES)):
        return scalar.value
    return scalar.as_py()


def physical_values(array: pa.Array, data_type: IcebergType) -> list[Any]:
    """The physical forms of an array of a primitive type, or of one of nothing but nulls."""
    if pa.types.is_null(array.type):
        return [None] * len(array)
    if isinstance(data_type, UuidType):
        return [None if value is None else uuid.UUID(bytes=value) for value in array.to_pylist()]
    if isinstance(data_type, DateType):
        return list(array.view(pa.int32()).to_pylist())
    if isinstance(data_type, _INT64_TYPES):
        return list(array.view(pa.int64()).to_pylist())
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        raise InvalidInput(
            "a string that is not UTF-8 cannot be a partition value; partition by another column, or write it as binary"
        ) from None


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items() if isinstance(value, Mapping) else value


def _struct_of(values: Sequence[Any], data_type: StructType) -> pa.Array:
    members = data_type.members
    if not members:
        return pa.array([None if value is None else {} for value in values], pa.struct([]))

    def member_values(index: int, name: str) -> list[Any]:
        return [
            None if value is None else (value.get(name) if isinstance(value, Mapping) else value[index])
            for value in values
        ]

    return pa.StructArray.from_arrays(
        [array_of(member_values(i, member.name), member.type) for i, member in enumerate(members)],
        fields=[arrow_field(member) for member in members],
        mask=pa.array([value is None for value in values], pa.bool_()),
    )


def _lists_of(values: Sequence[Any], data_type: pa.DataType, *, children: list[pa.Array]) -> pa.Array:
    lengths = np.array([0 if value is None else len(value) for value in values], dtype=np.int32)
    offsets = np.concatenate([np.zeros(1, dtype=np.int32), np.cumsum(lengths, dtype=np.int32)])
    valid = pa.array([value is not None for value in values], pa.bool_())
    buffers = [valid.buffers()[1], pa.py_buffer(offsets)]
    return pa.Array.from_buffers(data_type, len(values), buffers, children=children)
