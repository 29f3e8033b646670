"""Single-value serialization, binary and JSON, and the order of values:
https://iceberg.apache.org/spec/#appendix-d-single-value-serialization

Physical forms of values stand at the top of `spec/types.py`. What is read (`from_*`) raises MetadataCorrupt; what is
given to be written (`to_*`) raises InvalidInput.
"""

from __future__ import annotations

import struct
import uuid
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput, MetadataCorrupt
from floeberg.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UuidType,
    VariantType,
)
from floeberg.spec.values.human import human_string
from floeberg.spec.values.physical import (
    check_value,
    decimal_from_unscaled,
    minimal_twos_complement,
    unscaled,
    wrong_value,
)
from floeberg.spec.values.single_value_json import from_json, to_json
from floeberg.spec.values.temporal import LONG_MAX, LONG_MIN, MICROS_PER_DAY, NANOS_PER_MICRO

__all__ = [
    "bound_from_point",
    "check_value",
    "decimal_from_unscaled",
    "from_bytes",
    "from_json",
    "human_string",
    "point_from_bound",
    "sort_key",
    "to_bytes",
    "to_json",
    "unscaled",
]

_INT_WIDTHS: Final[dict[type[IcebergType], int]] = {
    IntegerType: 4,
    DateType: 4,
    LongType: 8,
    TimeType: 8,
    TimestampType: 8,
    TimestamptzType: 8,
    TimestampNsType: 8,
    TimestamptzNsType: 8,
}

_RAW_TYPES: Final = (BinaryType, GeometryType, GeographyType, VariantType)
_MAX_DECIMAL_BYTES: Final = 32
"""More than enough for 38 digits, with the padding that some writers leave."""


def to_bytes(data_type: IcebergType, value: object) -> bytes:
    """The binary form of a value. Raises InvalidInput for None, nested and unknown types, and values of other types."""
    if data_type.is_nested or isinstance(data_type, UnknownType):
        raise InvalidInput(f"values of type {data_type} have no binary form", type=str(data_type))
    checked = check_value(data_type, value)
    match data_type, checked:
        case (DecimalType(), Decimal()):
            return minimal_twos_complement(unscaled(checked, data_type))
        case (BooleanType(), bool()):
            return b"\x01" if checked else b"\x00"
        case (FloatType(), float()):
            return struct.pack("<f", checked)
        case (DoubleType(), float()):
            return struct.pack("<d", checked)
        case (StringType(), str()):
            return checked.encode("utf-8")
        case (UuidType(), uuid.UUID()):
            return checked.bytes
        case (_, int()):
            return checked.to_bytes(_INT_WIDTHS[type(data_type)], "little", signed=True)
        case (_, bytes()):
            return checked
    raise wrong_value(data_type, value)


def from_bytes(data_type: IcebergType, data: bytes) -> object:
    """The value of a binary form, which may be that of the type the column had when the file was written: its length
    tells (https://iceberg.apache.org/spec/#schema-evolution). Bounds of fixed columns may be truncated. An unknown
    column gives None; geometry, geography and variant give the bytes as they are. Raises MetadataCorrupt."""
    if isinstance(data_type, UnknownType):
        return None
    if data_type.is_nested:
        raise MetadataCorrupt(f"values of type {data_type} have no binary form", type=str(data_type))
    data = bytes(data)
    if (width := _INT_WIDTHS.get(type(data_type))) is not None:
        return _int_from_bytes(data_type, data, width=width)
    match data_type:
        case StringType():
            return _text_from_bytes(data)
        case DecimalType():
            return _decimal_from_bytes(data_type, data)
        case FloatType() if len(data) == 4:
            return float(struct.unpack("<f", data)[0])
        case DoubleType() if len(data) in (4, 8):
            return float(struct.unpack("<f" if len(data) == 4 else "<d", data)[0])
        case BooleanType() if len(data) == 1:
            return data != b"\x00"
        case UuidType() if len(data) == 16:
            return uuid.UUID(bytes=data)
        case FixedType(length=length) if len(data) <= length:
            return data
        case _ if isinstance(data_type, _RAW_TYPES):
            return data
    raise _wrong_length(data_type, data)


def sort_key(data_type: IcebergType, value: object) -> object:
    """A key that orders the non-null values of one type as the specification does: text by code point, bytes unsigned,
    floats -NaN < -Infinity < … < -0 < 0 < … < Infinity < NaN (https://iceberg.apache.org/spec/#sorting).
    Raises InvalidInput for types without an order."""
    if isinstance(value, float):
        return _float_key(value)
    if isinstance(data_type, (FloatType, DoubleType)) and isinstance(value, int):
        return _float_key(float(value))
    if isinstance(value, (bool, int, str, bytes, Decimal, uuid.UUID)) and not isinstance(
        data_type, (GeometryType, GeographyType, VariantType)
    ):
        return value
    raise InvalidInput(f"values of type {data_type} have no order", type=str(data_type))


def bound_from_point(x: float, y: float, z: float | None = None, m: float | None = None) -> bytes:
    """A geometry or geography bound: https://iceberg.apache.org/spec/#bound-serialization"""
    if m is not None:
        return struct.pack("<4d", x, y, float("nan") if z is None else z, m)
    return struct.pack("<2d", x, y) if z is None else struct.pack("<3d", x, y, z)


def point_from_bound(data: bytes) -> tuple[float, float, float | None, float | None]:
    """(x, y, z, m) of a geometry or geography bound. Raises MetadataCorrupt."""
    if len(data) not in (16, 24, 32):
        raise MetadataCorrupt(f"a geospatial bound has 16, 24 or 32 bytes, not {len(data)}")
    x, y, *rest = struct.unpack(f"<{len(data) // 8}d", data)
    z = rest[0] if rest and not (len(rest) == 2 and rest[0] != rest[0]) else None
    return x, y, z, rest[1] if len(rest) == 2 else None


def _int_from_bytes(data_type: IcebergType, data: bytes, *, width: int) -> int:
    number = int.from_bytes(data, "little", signed=True)
    if len(data) == width:
        if isinstance(data_type, TimeType) and not 0 <= number < MICROS_PER_DAY:
            raise MetadataCorrupt(f"{number} microseconds are no time of day")
        return number
    if len(data) == 4 and isinstance(data_type, LongType):
        return number
    if len(data) == 4 and isinstance(data_type, (TimestampType, TimestampNsType)):
        micros = number * MICROS_PER_DAY
        promoted = micros * NANOS_PER_MICRO if isinstance(data_type, TimestampNsType) else micros
        if not LONG_MIN <= promoted <= LONG_MAX:
            raise MetadataCorrupt(f"day {number} is outside the range of {data_type}", type=str(data_type))
        return promoted
    raise _wrong_length(data_type, data)


def _text_from_bytes(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MetadataCorrupt(f"a string value is not UTF-8: {data[:40]!r}") from error


def _decimal_from_bytes(data_type: DecimalType, data: bytes) -> Decimal:
    if not 1 <= len(data) <= _MAX_DECIMAL_BYTES:
        raise _wrong_length(data_type, data)
    number = int.from_bytes(data, "big", signed=True)
    if abs(number) >= 10**data_type.precision:
        raise MetadataCorrupt(f"unscaled value {number} does not fit {data_type}", type=str(data_type))
    return decimal_from_unscaled(number, data_type.scale)


def _wrong_length(data_type: IcebergType, data: bytes) -> MetadataCorrupt:
    return MetadataCorrupt(f"{len(data)} bytes are not a value of type {data_type}", type=str(data_type))


def _float_key(value: float) -> int:
    """The IEEE 754 total order, as an integer."""
    bits = int.from_bytes(struct.pack(">d", value), "big", signed=True)
    return bits if bits >= 0 else bits ^ LONG_MAX
