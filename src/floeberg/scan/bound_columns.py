"""Columns of bounds in binary form, decoded to columns that compare as their values do: the vectorised twin of
`expr.bounds.decode_bounds`.

A column compares under one dtype a type: Int64 for integers and temporal types, Float64, Int8 for booleans, Int128 for
the unscaled value of decimals, Binary for text (UTF-8 orders as code points do), bytes and uuid. What cannot be read is
null. https://iceberg.apache.org/spec/#binary-single-value-serialization
"""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any, Final

import polars as pl

from floeberg.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
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
from floeberg.spec.values.physical import decimal_from_unscaled, unscaled
from floeberg.spec.values.temporal import LONG_MAX, LONG_MIN, MICROS_PER_DAY, NANOS_PER_MICRO

_INTEGERS: Final = (IntegerType, DateType)
_LONGS: Final = (LongType, TimeType, TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)
_NANOS_PER_DAY: Final = MICROS_PER_DAY * NANOS_PER_MICRO
_MAX_DECIMAL_BYTES: Final = 32
_HALF_UUID: Final = 8


def comparable_dtype(data_type: IcebergType) -> pl.DataType | None:
    """The dtype under which values of a type are compared; None for types without an order of bounds."""
    match data_type:
        case FloatType() | DoubleType():
            return pl.Float64()
        case BooleanType():
            return pl.Int8()
        case DecimalType():
            return pl.Int128()
        case StringType() | BinaryType() | FixedType() | UuidType():
            return pl.Binary()
    return pl.Int64() if isinstance(data_type, _INTEGERS + _LONGS) else None


def to_comparable(data_type: IcebergType, value: Any) -> Any:
    """A physical value as it stands in a column of `comparable_dtype`."""
    match value:
        case bool():
            return int(value)
        case str():
            return value.encode("utf-8", "surrogatepass")
        case uuid.UUID():
            return value.bytes
        case Decimal():
            assert isinstance(data_type, DecimalType)
            return unscaled(value, data_type)
    return value


def from_comparable(data_type: IcebergType, value: Any) -> Any:
    """The physical value of one in a column of `comparable_dtype`."""
    match data_type:
        case BooleanType():
            return bool(value)
        case StringType():
            return value.decode("utf-8")
        case UuidType():
            return uuid.UUID(bytes=value)
        case DecimalType():
            return decimal_from_unscaled(value, data_type.scale)
    return value


def decode_lower(data_type: IcebergType, bounds: pl.Series) -> pl.Series | None:
    """Lower bounds, null where missing or unreadable; None when the type's bounds are of no use."""
    return _decode(data_type, bounds, up=False)


def decode_upper(data_type: IcebergType, bounds: pl.Series) -> pl.Series | None:
    """As `decode_lower`, upper bounds."""
    return _decode(data_type, bounds, up=True)


def _decode(data_type: IcebergType, bounds: pl.Series, *, up: bool) -> pl.Series | None:
    match data_type:
        case FloatType():
            return _reinterpreted(bounds, pl.Float32()).cast(pl.Float64)
        case DoubleType():
            return _either(_reinterpreted(bounds, pl.Float64()), _reinterpreted(bounds, pl.Float32()))
        case BooleanType():
            return _only(bounds != _literal(b"\x00"), bounds.bin.size() == 1).cast(pl.Int8)
        case StringType():
            return _valid_text(bounds)
        case BinaryType():
            return bounds
        case FixedType(length=length):
            return _only(bounds, bounds.bin.size() <= length)
        case UuidType():
            return _widened(bounds, up=up)
        case DecimalType():
            return _unscaled(data_type, bounds)
    if isinstance(data_type, _INTEGERS):
        return _reinterpreted(bounds, pl.Int32()).cast(pl.Int64)
    return _decode_long(data_type, bounds) if isinstance(data_type, _LONGS) else None


def _decode_long(data_type: IcebergType, bounds: pl.Series) -> pl.Series:
    whole = _reinterpreted(bounds, pl.Int64())
    match data_type:
        case TimeType():
            return _only(whole, (whole >= 0) & (whole < MICROS_PER_DAY))
        case LongType():
            return _either(whole, _reinterpreted(bounds, pl.Int32()))
        case TimestampType():
            return _either(whole, _days(bounds, MICROS_PER_DAY))
        case TimestampNsType():
            return _either(whole, _days(bounds, _NANOS_PER_DAY))
    return whole


def _reinterpreted(bounds: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Little-endian values; null where the length is another."""
    return bounds.bin.reinterpret(dtype=dtype, endianness="little")


def _either(values: pl.Series, shorter: pl.Series) -> pl.Series:
    """The values, and where they are null those of the type that was promoted."""
    if not values.null_count() or shorter.null_count() == len(shorter):
        return values
    return values.zip_with(values.is_not_null(), shorter.cast(values.dtype))


def _days(bounds: pl.Series, unit: int) -> pl.Series:
    """Dates as timestamps; null where the day is outside what the type can hold."""
    days = _reinterpreted(bounds, pl.Int32()).cast(pl.Int64)
    fits = (days >= -(-LONG_MIN // unit)) & (days <= LONG_MAX // unit)
    return _only(days, fits) * unit


def _only(values: pl.Series, where: pl.Series) -> pl.Series:
    if where.all(ignore_nulls=True):
        return values
    return values.set(~where.fill_null(True), None)


def _valid_text(bounds: pl.Series) -> pl.Series:
    try:
        bounds.cast(pl.String)
    except pl.exceptions.PolarsError:
        return pl.Series(bounds.name, [raw if _is_text(raw) else None for raw in bounds], dtype=pl.Binary)
    return bounds


def _is_text(raw: bytes | None) -> bool:
    try:
        return raw is not None and raw.decode("utf-8") is not None
    except UnicodeDecodeError:
        return False


def _widened(bounds: pl.Series, *, up: bool) -> pl.Series:
    """The lower half opened, as `expr.bounds` says why."""
    whole = _only(bounds, bounds.bin.size() == 2 * _HALF_UUID)
    return whole.bin.slice(0, _HALF_UUID) + _literal((b"\xff" if up else b"\x00") * _HALF_UUID)


def _unscaled(data_type: DecimalType, bounds: pl.Series) -> pl.Series:
    limit = 10**data_type.precision

    def read(raw: bytes | None) -> int | None:
        if raw is None or not 1 <= len(raw) <= _MAX_DECIMAL_BYTES:
            return None
        number = int.from_bytes(raw, "big", signed=True)
        return number if -limit < number < limit else None

    return pl.Series(bounds.name, [read(raw) for raw in bounds], dtype=pl.Int128)


def _literal(value: bytes) -> pl.Series:
    """One value, that a comparison or sum repeats."""
    return pl.Series([value], dtype=pl.Binary)
