"""How one primitive Arrow array becomes another: promotions, and the representations that files of other writers have.

Every conversion is exact or raises pa.ArrowInvalid; None from `converter_for` means that there is none.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from floeberg.arrow.columns.types import arrow_type
from floeberg.spec.types import (
    BinaryType,
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
)

Convert: TypeAlias = Callable[[pa.Array], pa.Array]

_INTS: Final = (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16())
_STRINGS: Final = (pa.string(), pa.large_string(), pa.string_view())
_BINARIES: Final = (pa.binary(), pa.large_binary(), pa.binary_view())
_INTEGER_DIGITS: Final = {8: 3, 16: 5, 32: 10, 64: 20}
_ZONED: Final = (TimestamptzType, TimestamptzNsType)
_ZONELESS: Final = (TimestampType, TimestampNsType)


def converter_for(source: pa.DataType, target: IcebergType) -> Convert | None:
    """The conversion from an Arrow type found in a file, or None when the file's type cannot be read as the target."""
    wanted = arrow_type(target)
    if source == wanted:
        return _same
    match target:
        case TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return _to_timestamp(source, target, wanted)
        case UuidType():
            return _to_uuid(source)
        case FixedType() if source in _BINARIES or pa.types.is_fixed_size_binary(source):
            return lambda array: array.cast(pa.binary()).cast(wanted)
    return (lambda array: array.cast(wanted)) if _castable(source, target) else None


def takes_every_value(source: pa.DataType, target: IcebergType) -> bool:
    """Whether every value of the file's type can be converted, where there is a conversion."""
    wanted = arrow_type(target)
    match target:
        case TimestampType() | TimestamptzType() | TimeType():
            return bool(pa.types.is_date(source) or source.unit != "ns")
        case TimestampNsType() | TimestamptzNsType():
            return bool(pa.types.is_timestamp(source) and source.unit == "ns")
        case DecimalType():
            digits = _INTEGER_DIGITS.get(source.bit_width) if pa.types.is_integer(source) else None
            return (digits or source.precision - source.scale) <= target.precision - target.scale
        case StringType():
            return source in _STRINGS
        case FixedType() | UuidType():
            return bool(source == wanted)
    return True


def _same(array: pa.Array) -> pa.Array:
    return array


def _castable(source: pa.DataType, target: IcebergType) -> bool:
    match target:
        case IntegerType():
            return source in _INTS
        case LongType():
            return source in (*_INTS, pa.uint32())
        case FloatType():
            return bool(source == pa.float16())
        case DoubleType():
            return source in (pa.float16(), pa.float32())
        case DecimalType():
            return bool(
                (pa.types.is_decimal(source) and source.scale <= target.scale)
                or (target.scale == 0 and pa.types.is_integer(source))
            )
        case StringType():
            return source in (*_STRINGS, *_BINARIES)
        case BinaryType() | GeometryType() | GeographyType():
            return source in (*_STRINGS, *_BINARIES) or pa.types.is_fixed_size_binary(source)
        case DateType():
            return bool(pa.types.is_date(source))
        case TimeType():
            return bool(pa.types.is_time(source))
    return False


def _to_timestamp(source: pa.DataType, target: IcebergType, wanted: pa.DataType) -> Convert | None:
    """Any unit when exact; a date only where it is promoted, which is never to an instant. Files say nothing reliable
    of the zone (int96 has no place for it), so the table's type decides."""
    if pa.types.is_date(source) and isinstance(target, _ZONELESS):
        return lambda array: array.cast(wanted)
    if not pa.types.is_timestamp(source):
        return None
    unzoned = pa.timestamp(source.unit)
    exact = pa.timestamp(wanted.unit)
    return lambda array: array.view(unzoned).cast(exact).view(wanted)


def truncate_to_us(array: pa.Array) -> pa.Array:
    """Nanoseconds as microseconds, towards the past; the zone stays."""
    zone = array.type.tz
    nanos = array.view(pa.int64())
    micros = np.floor_divide(nanos.fill_null(0).to_numpy(zero_copy_only=False), 1000)
    mask = nanos.is_null().to_numpy(zero_copy_only=False) if nanos.null_count else None
    return pa.array(micros, pa.int64(), mask=mask).view(pa.timestamp("us", tz=zone))


def _to_uuid(source: pa.DataType) -> Convert | None:
    if source in _BINARIES:
        return lambda array: array.cast(pa.binary(16))
    return _parse_uuids if source in _STRINGS else None


def _parse_uuids(array: pa.Array) -> pa.Array:
    try:
        values = [None if text is None else uuid.UUID(text).bytes for text in array.to_pylist()]
    except ValueError as error:
        raise pa.ArrowInvalid(f"not a UUID: {error}") from error
    return pa.array(values, pa.binary(16))
