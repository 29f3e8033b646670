"""The literals of expressions: what a user may compare a column with, before its column's type is known."""

from __future__ import annotations

import datetime as dt
import math
import numbers
import re
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

from floeberg.errors import InvalidInput
from floeberg.spec.types import (
    DATE,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    DateType,
    IcebergType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
)
from floeberg.spec.values.temporal import (
    MICROS_PER_SECOND,
    NANOS_PER_MICRO,
    Unit,
    format_date,
    format_time,
    format_timestamp,
)

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_NOT_NULL: Final = "nothing compares as equal to null: use is_null or not_null (IS [NOT] NULL)"
_TEMPORAL_TYPES: Final = (
    DateType, TimeType, TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Temporal:
    """A date, time or timestamp in the physical form of its type: `datetime` holds neither nanoseconds nor the years
    before 1 and after 9999."""

    type: PrimitiveType
    value: int

    @property
    def text(self) -> str:
        """As in quotes in SQL; nine digits after the point say that nanoseconds are meant."""
        match self.type:
            case DateType():
                return format_date(self.value)
            case TimeType():
                return format_time(self.value)
        unit = nanos_or_micros(self.type)
        text = format_timestamp(self.value, unit=unit, zoned=self.zoned).replace("T", " ")
        return text if unit == "us" else _with_nine_digits(text)

    @property
    def zoned(self) -> bool:
        return isinstance(self.type, (TimestamptzType, TimestamptzNsType))

    def __str__(self) -> str:
        match self.type:
            case DateType():
                return f"DATE '{self.text}'"
            case TimeType():
                return f"TIME '{self.text}'"
        return f"TIMESTAMP '{self.text}'" if self.zoned else f"TIMESTAMP_NTZ '{self.text}'"


Literal: TypeAlias = bool | int | float | Decimal | str | bytes | uuid.UUID | Temporal


def nanos_or_micros(data_type: IcebergType) -> Unit:
    return "ns" if isinstance(data_type, (TimestampNsType, TimestamptzNsType)) else "us"


def to_literal(value: object) -> Literal:
    """The literal of a Python value. Raises InvalidInput for None, NaN and what no column holds."""
    match value:
        case None:
            raise InvalidInput(_NOT_NULL)
        case Temporal() | bool() | uuid.UUID():
            return value
        case int():
            return int(value)
        case float():
            if math.isnan(value):
                raise InvalidInput("a NaN is not a literal: use is_nan or not_nan (isnan(x), NOT isnan(x))")
            return float(value)
        case Decimal():
            return _decimal_literal(value)
        case str():
            return _text_literal(str(value))
        case bytes() | bytearray() | memoryview():
            return bytes(value)
        case dt.datetime() | dt.date() | dt.time():
            return _temporal_literal(value)
        case numbers.Integral():
            return int(value)
    raise InvalidInput(
        f"{value!r:.60} ({type(value).__name__}) is not a literal; give a bool, int, float, Decimal, str, bytes, UUID, "
        "date, time or datetime"
    )


def literal_from_physical(data_type: IcebergType, value: object) -> Literal:
    """The literal that a bound predicate's value stands for."""
    if isinstance(data_type, _TEMPORAL_TYPES) and isinstance(value, int):
        return Temporal(data_type, value)
    return to_literal(value)


def literal_sql(literal: Literal) -> str:
    """The text from which `parse_where` makes the same literal."""
    match literal:
        case bool():
            return "TRUE" if literal else "FALSE"
        case float():
            return f"{literal!r}D" if math.isfinite(literal) else f"double('{'-' if literal < 0 else ''}Infinity')"
        case Decimal():
            return _decimal_sql(literal)
        case str():
            return quote_text(literal)
        case bytes():
            return f"X'{literal.hex().upper()}'"
        case uuid.UUID():
            return f"UUID '{literal}'"
    return str(literal)


def quote_text(text: str) -> str:
    """A string literal as Spark reads it, with backslash escapes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def literal_key(literal: object) -> tuple[str, object]:
    """What makes two literals the same: 1, TRUE and 1.0 are three, though Python holds them equal."""
    if isinstance(literal, float):
        return ("float", repr(literal))
    return (type(literal).__name__, literal)


def _decimal_literal(value: Decimal) -> Literal:
    if value.is_nan():
        raise InvalidInput("a NaN is not a literal: use is_nan or not_nan (isnan(x), NOT isnan(x))")
    return value if value.is_finite() else float(value)


def _text_literal(value: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(f"{value[:40]!r} has lone surrogates, which no string column holds") from None
    return value


def _temporal_literal(value: dt.datetime | dt.date | dt.time) -> Temporal:
    if isinstance(value, dt.time):
        if value.tzinfo is not None:
            raise InvalidInput(f"{value!r}: time columns have no zone; give a time without tzinfo")
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        return Temporal(TIME, seconds * MICROS_PER_SECOND + value.microsecond)
    if not isinstance(value, dt.datetime):
        return Temporal(DATE, value.toordinal() - _EPOCH.toordinal())
    if value != value:  # NaT of pandas
        raise InvalidInput(_NOT_NULL)
    zoned = value.tzinfo is not None and value.utcoffset() is not None
    micros = ((value if zoned else value.replace(tzinfo=dt.UTC)) - _EPOCH) // _MICROSECOND
    if nanos := getattr(value, "nanosecond", 0):  # of a Timestamp of pandas, which are datetimes
        return Temporal(TIMESTAMPTZ_NS if zoned else TIMESTAMP_NS, micros * NANOS_PER_MICRO + nanos)
    return Temporal(TIMESTAMPTZ if zoned else TIMESTAMP, micros)


def _decimal_sql(literal: Decimal) -> str:
    _, _, exponent = literal.as_tuple()
    plain = isinstance(exponent, int) and -1000 <= exponent < 0
    return f"{literal:f}" if plain else f"{literal}BD"


def _with_nine_digits(text: str) -> str:
    return re.sub(
        r"(:\d\d:\d\d)(?:\.(\d+))?", lambda found: f"{found[1]}.{(found[2] or '').ljust(9, '0')}", text, count=1
    )
