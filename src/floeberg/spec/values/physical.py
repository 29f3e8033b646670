"""The one physical form of a value of each primitive type (see the top of `spec/types.py`), checked."""

from __future__ import annotations

import struct
import uuid
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput
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
    UuidType,
    VariantType,
)
from floeberg.spec.values.temporal import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN, MICROS_PER_DAY

_INT_RANGES: Final[dict[type[IcebergType], tuple[int, int]]] = {
    IntegerType: (INT_MIN, INT_MAX),
    DateType: (INT_MIN, INT_MAX),
    LongType: (LONG_MIN, LONG_MAX),
    TimeType: (0, MICROS_PER_DAY - 1),
    TimestampType: (LONG_MIN, LONG_MAX),
    TimestamptzType: (LONG_MIN, LONG_MAX),
    TimestampNsType: (LONG_MIN, LONG_MAX),
    TimestamptzNsType: (LONG_MIN, LONG_MAX),
}

_BYTES_TYPES: Final = (BinaryType, FixedType, GeometryType, GeographyType, VariantType)


def check_value(data_type: IcebergType, value: object) -> object:
    """The value in its physical form: floats rounded to their width, decimals to their exact scale when that loses
    nothing. Raises InvalidInput for a value that the type does not hold, None included."""
    kind = type(data_type)
    if kind in _INT_RANGES:
        if isinstance(value, int) and not isinstance(value, bool):
            low, high = _INT_RANGES[kind]
            if low <= value <= high:
                return value
    elif isinstance(data_type, BooleanType):
        if isinstance(value, bool):
            return value
    elif isinstance(data_type, (FloatType, DoubleType)):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _check_float(data_type, value)
    elif isinstance(data_type, DecimalType):
        if isinstance(value, Decimal):
            return decimal_from_unscaled(unscaled(value, data_type), data_type.scale)
    elif isinstance(data_type, StringType):
        if isinstance(value, str):
            return _check_string(value)
    elif isinstance(data_type, UuidType):
        if isinstance(value, uuid.UUID):
            return value
    elif isinstance(data_type, _BYTES_TYPES) and isinstance(value, (bytes, bytearray, memoryview)):
        return _check_bytes(data_type, bytes(value))
    raise wrong_value(data_type, value)


def wrong_value(data_type: IcebergType, value: object) -> InvalidInput:
    shown = repr(value)[:80]
    return InvalidInput(f"{shown} ({type(value).__name__}) is not a value of type {data_type}", type=str(data_type))


def unscaled(value: Decimal, data_type: DecimalType) -> int:
    """The unscaled integer of a decimal at its type's scale. Raises InvalidInput when digits would be lost."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise wrong_value(data_type, value)
    magnitude = int("".join(map(str, digits)) or "0")
    shift = exponent + data_type.scale
    if magnitude and abs(shift) > 2 * data_type.precision + len(digits):
        raise wrong_value(data_type, value)
    if shift >= 0:
        magnitude *= 10**shift if magnitude else 1
    else:
        magnitude, lost = divmod(magnitude, 10**-shift) if magnitude else (0, 0)
        if lost:
            raise wrong_value(data_type, value)
    if magnitude >= 10**data_type.precision:
        raise wrong_value(data_type, value)
    return -magnitude if sign else magnitude


def decimal_from_unscaled(number: int, scale: int) -> Decimal:
    """The decimal of an unscaled integer, exact whatever the decimal context says."""
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))


def minimal_twos_complement(number: int) -> bytes:
    """Big-endian two's complement in as few bytes as hold the number (at least one)."""
    length = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return number.to_bytes(length, "big", signed=True)


def _check_float(data_type: IcebergType, value: int | float) -> float:
    try:
        if isinstance(data_type, FloatType):
            return float(struct.unpack("<f", struct.pack("<f", value))[0])
        return float(value)
    except OverflowError:
        raise wrong_value(data_type, value) from None


def _check_string(value: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(f"{value[:40]!r} has lone surrogates, which UTF-8 does not allow") from None
    return value


def _check_bytes(data_type: IcebergType, value: bytes) -> bytes:
    if isinstance(data_type, FixedType) and len(value) != data_type.length:
        raise InvalidInput(f"{len(value)} bytes are not a value of type {data_type}", type=str(data_type))
    return value
