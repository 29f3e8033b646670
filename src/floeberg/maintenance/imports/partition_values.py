"""Partition values from the names of folders: text, as a column's type reads it."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime, timedelta, tzinfo
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
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    UuidType,
)
from floeberg.spec.values.physical import check_value
from floeberg.spec.values.temporal import NANOS_PER_MICRO, NANOS_PER_SECOND, parse_date, split_timestamp

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_FLOATS: Final = {
    "nan": "nan",
    "infinity": "inf",
    "+infinity": "inf",
    "-infinity": "-inf",
    "inf": "inf",
    "-inf": "-inf",
}
_BOOLEANS: Final = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
_SHORT_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(.*)", re.DOTALL)
_NANOS: Final = (TimestampNsType, TimestamptzNsType)
_ZONED: Final = (TimestamptzType, TimestamptzNsType)


def partition_value(text: str, data_type: IcebergType, *, zone: tzinfo = UTC) -> object:
    """The physical value that a folder's text is in a column of this type; a timestamp with time zone that says no offset is
    in `zone`. Raises InvalidInput for text that is no such value."""
    try:
        return check_value(data_type, _parsed(text, data_type, zone))
    except (ValueError, ArithmeticError) as error:
        raise InvalidInput(f"{text!r:.80} is no value of type {data_type}", type=str(data_type)) from error


def _parsed(text: str, data_type: IcebergType, zone: tzinfo) -> object:
    match data_type:
        case StringType():
            return text
        case BinaryType() | FixedType():
            return text.encode()
        case UuidType():
            return uuid.UUID(text.strip())
        case BooleanType():
            return _BOOLEANS.get(text.strip().lower())
        case IntegerType() | LongType():
            return int(text) if _INTEGER.fullmatch(text.strip()) else None
        case FloatType() | DoubleType():
            stripped = text.strip()
            return float(stripped if _NUMBER.fullmatch(stripped) else _FLOATS.get(stripped.lower(), ""))
        case DecimalType():
            return Decimal(text.strip()) if _NUMBER.fullmatch(text.strip()) else None
        case DateType():
            return parse_date(_padded(text.strip()))
        case TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return _instant(_padded(text.strip()), data_type, zone)
    raise InvalidInput(f"a folder's name cannot be a value of type {data_type}")


def _padded(text: str) -> str:
    """A date or timestamp with two digits for month and day, as `2026-5-1` has not."""
    match = _SHORT_DATE.fullmatch(text)
    return text if match is None else f"{match[1]}-{match[2]:0>2}-{match[3]:0>2}{match[4]}"


def _instant(text: str, data_type: IcebergType, zone: tzinfo) -> int:
    nanos, offset_seconds = split_timestamp(text if len(text) > 10 else f"{text} 00:00:00", allow_space=True)
    if isinstance(data_type, _ZONED):
        nanos -= (_offset_seconds(nanos, zone) if offset_seconds is None else offset_seconds) * NANOS_PER_SECOND
    elif offset_seconds is not None:
        raise InvalidInput(f"timestamp {text[:60]!r} must not have a zone offset")
    if isinstance(data_type, _NANOS):
        return nanos
    micros, rest = divmod(nanos, NANOS_PER_MICRO)
    if rest:
        raise InvalidInput(f"timestamp {text[:60]!r} has more than six digits of a second")
    return micros


def _offset_seconds(wall_nanos: int, zone: tzinfo) -> int:
    """The offset of a zone at a time on its clocks."""
    if zone is UTC:
        return 0
    wall = datetime(1970, 1, 1, tzinfo=zone) + timedelta(microseconds=wall_nanos // NANOS_PER_MICRO)
    offset = wall.utcoffset()
    return 0 if offset is None else int(offset.total_seconds())
