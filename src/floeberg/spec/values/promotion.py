"""Type promotion: https://iceberg.apache.org/spec/#schema-evolution"""

from __future__ import annotations

from typing import Final

from floeberg.errors import InvalidInput
from floeberg.spec.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    UnknownType,
)

_MICROS_PER_DAY: Final = 86_400_000_000
_NANOS_PER_DAY: Final = 86_400_000_000_000
_LONG_MIN: Final = -(2**63)
_LONG_MAX: Final = 2**63 - 1

_STABLE_UNDER_DATE_PROMOTION: Final = frozenset({"year", "month", "day", "void"})


def can_promote(from_type: IcebergType, to_type: IcebergType, format_version: int) -> bool:
    """Whether a column may change its type so; a type promotes to itself. `unknown` to any type and `date` to
    `timestamp` or `timestamp_ns` need v3."""
    if from_type == to_type:
        return True
    if isinstance(from_type, IntegerType):
        return isinstance(to_type, LongType)
    if isinstance(from_type, FloatType):
        return isinstance(to_type, DoubleType)
    if isinstance(from_type, DecimalType):
        return (
            isinstance(to_type, DecimalType)
            and to_type.scale == from_type.scale
            and to_type.precision >= from_type.precision
        )
    if isinstance(from_type, DateType):
        return format_version >= 3 and isinstance(to_type, (TimestampType, TimestampNsType))
    return isinstance(from_type, UnknownType) and format_version >= 3


def refusal(from_type: IcebergType, to_type: IcebergType, format_version: int) -> str:
    """Why a promotion that `can_promote` refuses is refused."""
    if can_promote(from_type, to_type, 3) and format_version < 3:
        return f"{from_type} to {to_type} needs format version 3, the table has {format_version}: upgrade it first"
    if isinstance(from_type, DateType) and isinstance(to_type, (TimestamptzType, TimestamptzNsType)):
        return f"a date has no time zone, so it cannot become {to_type}; only timestamp or timestamp_ns (v3)"
    if isinstance(from_type, DecimalType) and isinstance(to_type, DecimalType):
        if from_type.scale != to_type.scale:
            return f"{from_type} to {to_type} changes the scale; only the precision can widen"
        return f"{from_type} to {to_type} narrows the precision; it can only widen"
    if can_promote(to_type, from_type, 3):
        return f"{from_type} to {to_type} narrows the type; written values might not fit"
    if from_type.is_nested != to_type.is_nested:
        return f"{_kind(from_type)} to {_kind(to_type)}: primitives and nested types cannot become each other"
    return f"{_kind(from_type)} to {_kind(to_type)} is not a promotion that the specification allows"


def changes_partition_values(from_type: IcebergType, to_type: IcebergType, transform: str) -> bool:
    """Whether a partition transform gives other values after the promotion, which forbids it for a source column."""
    if isinstance(from_type, DateType) and from_type != to_type:
        return transform not in _STABLE_UNDER_DATE_PROMOTION
    return False


def promote_value(from_type: IcebergType, to_type: IcebergType, value: object) -> object:
    """A value written as one type, as a value of the type it was promoted to. Raises InvalidInput when a date lies
    outside the range of the timestamp."""
    if value is None or not isinstance(from_type, DateType) or from_type == to_type:
        return value
    if not isinstance(value, int):
        raise InvalidInput(f"{value!r} is not a date (days since 1970-01-01)")
    promoted = value * (_NANOS_PER_DAY if isinstance(to_type, TimestampNsType) else _MICROS_PER_DAY)
    if not _LONG_MIN <= promoted <= _LONG_MAX:
        raise InvalidInput(f"the date {value} (days since 1970-01-01) is outside the range of {to_type}")
    return promoted


def _kind(data_type: IcebergType) -> str:
    return type(data_type).__name__.removesuffix("Type").lower() if data_type.is_nested else str(data_type)
