"""Whether a literal, after Spark's own coercion to compare it with a column, is certain to be one value of the column.

What depends on a setting that we do not know, or on a conversion that may round, is not certain, and then nothing is
left out of a plan. https://spark.apache.org/docs/latest/sql-ref-ansi-compliance.html#type-coercion
"""

from __future__ import annotations

import datetime as dt
import re
import struct
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from floeberg.expr.literals import Literal, Temporal
from floeberg.spec.types import (
    DATE,
    MAX_DECIMAL_PRECISION,
    TIMESTAMP,
    TIMESTAMPTZ,
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
    TimestampType,
    TimestamptzType,
    UuidType,
)
from floeberg.sql.conditions.predicates import SparkLiteral

ZONE_MARGIN_US: Final = 4 * 3_600_000_000
"""A local time in a named zone is taken as a range of this width to both sides: Spark's table of zones may be another
edition than Python's, and editions differ by at most a few hours."""

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?(Z| UTC|[+-]\d{2}:\d{2})?)?"
)
_FIXED_ZONE: Final = re.compile(r"(?:(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?|UTC|GMT|Z|Etc/UTC|Etc/GMT|UCT|Zulu)")
_WHOLE_TEXT: Final = re.compile(r"0|-?[1-9]\d{0,17}")
_INTEGRAL: Final = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class CoercionSettings:
    """The settings that coercion depends on. `binary_strings` is false when the default collation is another one than
    UTF8_BINARY, `timestamp_ntz` when `spark.sql.timestampType` is TIMESTAMP_NTZ, `datetimes_as_text` when dates and timestamps
    are compared with strings as strings."""

    ansi: bool
    time_zone: str
    case_sensitive: bool = False
    timestamp_ntz: bool = False
    binary_strings: bool = True
    datetimes_as_text: bool = False


@dataclass(frozen=True, slots=True)
class Between:
    """A value that is only known to lie in a range, both ends included."""

    low: Literal
    high: Literal


Coerced = Literal | Between | None


def coerce(
    data_type: IcebergType, literal: SparkLiteral, *, settings: CoercionSettings, listed: bool = False
) -> Coerced:
    """The value of the column's type to compare with, or None when it is not certain. `listed` literals stand in an IN,
    for which Spark has other rules."""
    rule = _RULES.get(type(data_type))
    return None if rule is None else rule(data_type, literal, settings, listed)


Rule = Callable[[IcebergType, SparkLiteral, CoercionSettings, bool], Coerced]


def _whole(data_type: IcebergType, literal: SparkLiteral, settings: CoercionSettings, listed: bool) -> Coerced:
    """An int or long column."""
    value = literal.value
    width = 10 if isinstance(data_type, IntegerType) else 20
    if literal.type in _INTEGRAL:
        return _int(value)
    if isinstance(value, Decimal) and literal.type == "decimal":
        digits, scale = _decimal_shape(value)
        fits = max(width, digits) + scale <= MAX_DECIMAL_PRECISION
        # Spark takes `NULL < 1e29BD` for true: beyond the longs it folds the comparison without a look at null.
        return value if fits and abs(value) < 2**63 else None
    if isinstance(value, float):
        # A long is rounded to a double (an int, perhaps, to a float): below these bounds no two of them meet.
        bound = 2.0**24 if literal.type == "float" else 2.0**53
        return value if abs(value) < bound and _exact_float(literal) else None
    if literal.type == "string" and isinstance(value, str) and _WHOLE_TEXT.fullmatch(value):
        number = int(value)
        return number if -(2**31) <= number < 2**31 else None
    return None


def _int(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _decimal_shape(value: Decimal) -> tuple[int, int]:
    """How many digits stand before and after the point."""
    exponent = value.as_tuple().exponent
    scale = max(0, -exponent) if isinstance(exponent, int) else 0
    return max(1, value.adjusted() + 1), scale


def _exact_float(literal: SparkLiteral) -> bool:
    """Whether the literal is the same number as a double; a float literal may round when Spark reads it."""
    if literal.type != "float" or not isinstance(literal.value, float):
        return True
    return bool(_as_float(literal.value) == literal.value)


def _as_float(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("nan")


def _float(data_type: IcebergType, literal: SparkLiteral, settings: CoercionSettings, listed: bool) -> Coerced:
    """A float column: compared as float or as double, so only what both hold is certain."""
    value = literal.value
    if literal.type in _INTEGRAL:
        number = _int(value)
        return float(number) if number is not None and abs(number) <= 2**24 else None
    if literal.type in ("double", "float") and isinstance(value, float):
        return value if _as_float(value) == value else None
    if literal.type == "decimal" and isinstance(value, Decimal):
        number_as_double = float(value)
        return number_as_double if _as_float(number_as_double) == number_as_double else None
    return None


def _double(data_type: IcebergType, literal: SparkLiteral, settings: CoercionSettings, listed: bool) -> Coerced:
    value = literal.value
    if literal.type in _INTEGRAL or literal.type == "decimal":
        return float(value) if isinstance(value, (int, Decimal)) else None
    if literal.type in ("double", "float") and isinstance(value, float) and _exact_float(literal):
        return value
    return None


def _decimal(data_type: IcebergType, literal: SparkLiteral, settings: CoercionSettings, listed: bool) -> Coerced:
    if not isinstance(data_type, DecimalType):
        return None
    value = literal.value
    if literal.type in _INTEGRAL and isinstance(value, int):
        digits, scale, number = _INTEGRAL[literal.type], 0, Decimal(value)
    elif literal.type == "decimal" and isinstance(value, Decimal):
        number = value
        digits, scale = _decimal_shape(value)
    else:
        return None
    whole = max(data_type.precision - data_type.scale, digits)
    return number if whole + max(data_type.scale, scale) <= MAX_DECIMAL_PRECISION else None


def decimals_fit(data_type: IcebergType, literals: Sequence[SparkLiteral]) -> bool:
    """Whether one decimal type holds the column and all decimals of a list exactly, as Spark widens them together."""
    shapes = [_decimal_shape(literal.value) for literal in literals if isinstance(literal.value, Decimal)]
    if not shapes:
        return True
    digits, scale = max(shape[0] for shape in shapes), max(shape[1] for shape in shapes)
    if isinstance(data_type, DecimalType):
        digits, scale = max(digits, data_type.precision - data_type.scale), max(scale, data_type.scale)
    elif isinstance(data_type, IntegerType | LongType):
        digits = max(digits, _INTEGRAL["bigint"])
    return digits + scale <= MAX_DECIMAL_PRECISION


def _string(data_type: IcebergType, literal: SparkLiteral, settings: CoercionSettings, listed: bool) -> Coerced:
    if literal.type == "string" and isinstance(literal.value, str) and settings.binary_strings:
        return literal.value
    return None


def _uuid(data_type: IcebergType, literal: SparkLiteral, settings: CoercionSettings, listed: bool) -> Coerced:
    """Spark sees a uuid as its text in lower case."""
    text = _string(data_type, literal, settings, listed)
    return uuid.UUID(text) if isinstance(text, str) and _UUID.fullmatch(text) else None


def _boolean(data_type: IcebergType, literal: SparkLiteral, settings: CoercionSettings, listed: bool) -> Coerced:
    return literal.value if isinstance(literal.value, bool) else None


def _bytes(data_type: IcebergType, literal: SparkLiteral, settings: CoercionSettings, listed: bool) -> Coerced:
    if not isinstance(literal.value, bytes):
        return None
    if isinstance(data_type, FixedType) and len(literal.value) != data_type.length:
        return None
    return literal.value


def _date(data_type: IcebergType, literal: SparkLiteral, settings: CoercionSettings, listed: bool) -> Coerced:
    """A date column, against a date or a text that is one."""
    if literal.type not in ("date", "string") or not isinstance(literal.value, str):
        return None
    if literal.type == "string" and settings.datetimes_as_text:
        return None
    if not _DATE.fullmatch(literal.value):
        return None
    try:
        day = dt.date.fromisoformat(literal.value)
    except ValueError:
        return None
    return Temporal(DATE, (day - dt.date(1970, 1, 1)).days)


def _timestamp(data_type: IcebergType, literal: SparkLiteral, settings: CoercionSettings, listed: bool) -> Coerced:
    """A timestamp without zone: against an instant, both meet in the session's zone."""
    parsed = _parse_timestamp(literal, settings, listed)
    if parsed is None or (literal.type == "string" and (not settings.ansi or parsed.instant)):
        return None
    if not parsed.instant and _is_local(literal, settings):
        return Temporal(TIMESTAMP, parsed.micros)
    return _shifted(parsed, settings, to_local=True)


def _timestamptz(data_type: IcebergType, literal: SparkLiteral, settings: CoercionSettings, listed: bool) -> Coerced:
    parsed = _parse_timestamp(literal, settings, listed)
    if parsed is None:
        return None
    if parsed.instant:
        return Temporal(TIMESTAMPTZ, parsed.micros)
    return _shifted(parsed, settings, to_local=False)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """Microseconds since the epoch: of an instant, or of a local time as if it were UTC."""

    micros: int
    instant: bool


def _parse_timestamp(literal: SparkLiteral, settings: CoercionSettings, listed: bool) -> _Parsed | None:
    if literal.type not in ("date", "timestamp", "timestamp_ntz", "timestamp_ltz", "string"):
        return None
    if literal.type == "string" and (settings.datetimes_as_text or (listed and not settings.ansi)):
        return None  # an IN without ANSI compares texts
    match = _TIMESTAMP.fullmatch(literal.value) if isinstance(literal.value, str) else None
    if match is None or (literal.type == "date" and match[2]):
        return None
    day, time, fraction, zone = match.groups()
    if zone and (literal.type == "timestamp_ntz" or (literal.type == "timestamp" and settings.timestamp_ntz)):
        return None
    try:
        moment = dt.datetime.fromisoformat(f"{day}T{time or '00:00:00'}").replace(tzinfo=dt.UTC)
    except ValueError:
        return None
    micros = (moment - _EPOCH) // dt.timedelta(microseconds=1) + int((fraction or "").ljust(6, "0"))
    if not zone:
        return _Parsed(micros, instant=False)
    offset = 0 if zone in ("Z", " UTC") else _offset_us(zone[0], zone[1:3], zone[4:6])
    return _Parsed(micros - offset, instant=True)


def _offset_us(sign: str, hours: str, minutes: str) -> int:
    micros = (int(hours) * 60 + int(minutes)) * 60_000_000
    return -micros if sign == "-" else micros


def _is_local(literal: SparkLiteral, settings: CoercionSettings) -> bool:
    """Whether a literal without zone is a local time for Spark, too."""
    if literal.type == "timestamp":
        return settings.timestamp_ntz
    return literal.type in ("timestamp_ntz", "string", "date")


def _shifted(parsed: _Parsed, settings: CoercionSettings, *, to_local: bool) -> Coerced:
    """From the instant to the session's local time or back; a range where the zone has a history.

    A literal that is a local time, for a column without zone, goes to an instant and back: it stays, but for the range.
    """
    data_type = TIMESTAMP if to_local else TIMESTAMPTZ
    fixed = fixed_offset_us(settings.time_zone)
    offset = fixed if fixed is not None else _named_offset_us(settings.time_zone, parsed.micros)
    if offset is None:
        return None
    if parsed.instant == to_local:
        micros = parsed.micros + (offset if to_local else -offset)
    else:
        micros = parsed.micros
    if fixed is not None:
        return Temporal(data_type, micros)
    return Between(Temporal(data_type, micros - ZONE_MARGIN_US), Temporal(data_type, micros + ZONE_MARGIN_US))


def fixed_offset_us(zone: str) -> int | None:
    """The offset of a zone that never changes it, else None."""
    match = _FIXED_ZONE.fullmatch(zone)
    if match is None:
        return None
    return _offset_us(match[1], match[2], match[3] or "0") if match[1] else 0


def _named_offset_us(zone: str, micros: int) -> int | None:
    """The offset near that time; the margin around it covers which side of a change the time is on."""
    try:
        info = ZoneInfo(zone)
        moment = _EPOCH + dt.timedelta(microseconds=micros)
        offset = moment.astimezone(info).utcoffset()
    except (ZoneInfoNotFoundError, ValueError, OverflowError, OSError):
        return None
    return None if offset is None else offset // dt.timedelta(microseconds=1)


_RULES: Final[dict[type[IcebergType], Rule]] = {
    IntegerType: _whole,
    LongType: _whole,
    FloatType: _float,
    DoubleType: _double,
    DecimalType: _decimal,
    StringType: _string,
    UuidType: _uuid,
    BooleanType: _boolean,
    BinaryType: _bytes,
    FixedType: _bytes,
    DateType: _date,
    TimestampType: _timestamp,
    TimestamptzType: _timestamptz,
}
