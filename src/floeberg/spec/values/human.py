"""Values as the reference implementation prints them for people and in partition paths.

Java's own number formats are part of the contract: a partition folder of another writer has the same name.
"""

from __future__ import annotations

import base64
import math
import struct
from decimal import Decimal

from floeberg.spec.types import (
    DateType,
    DoubleType,
    FloatType,
    IcebergType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
)
from floeberg.spec.values import temporal


def human_string(data_type: IcebergType, value: object) -> str:
    """The text of a physical value, as in partition paths before escaping; `null` for None."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _human_int(data_type, value)
    if isinstance(value, float):
        return java_float(value) if isinstance(data_type, FloatType) else java_double(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode("ascii")
    return str(value)


def _human_int(data_type: IcebergType, value: int) -> str:
    match data_type:
        case DateType():
            return human_day(value)
        case TimeType():
            return human_time(value)
        case TimestampType():
            return temporal.format_timestamp(value, unit="us", zoned=False)
        case TimestamptzType():
            return temporal.format_timestamp(value, unit="us", zoned=True)
        case TimestampNsType():
            return temporal.format_timestamp(value, unit="ns", zoned=False)
        case TimestamptzNsType():
            return temporal.format_timestamp(value, unit="ns", zoned=True)
        case FloatType() | DoubleType():
            return human_string(data_type, float(value))
        case _:
            return str(value)


def human_year(years: int) -> str:
    return f"{1970 + years:04d}"


def human_month(months: int) -> str:
    return f"{1970 + months // 12:04d}-{1 + months % 12:02d}"


def human_day(days: int) -> str:
    year, month, day = temporal.civil_from_days(days)
    return f"{year:04d}-{month:02d}-{day:02d}"


def human_hour(hours: int) -> str:
    days, hour = divmod(hours, 24)
    return f"{human_day(days)}-{hour:02d}"


def human_time(micros: int) -> str:
    """As `LocalTime.toString`: no seconds when they are zero, a fraction in groups of three digits."""
    seconds, fraction = divmod(micros, temporal.MICROS_PER_SECOND)
    minutes, second = divmod(seconds, 60)
    text = f"{minutes // 60:02d}:{minutes % 60:02d}"
    if fraction:
        millis, rest = divmod(fraction, 1000)
        return f"{text}:{second:02d}.{fraction:06d}" if rest else f"{text}:{second:02d}.{millis:03d}"
    return f"{text}:{second:02d}" if second else text


def java_double(value: float) -> str:
    """As `Double.toString` of a current JDK: the shortest digits that read back as the same double."""
    return _java_number(value, repr(value))


def java_float(value: float) -> str:
    """As `Float.toString`, for a float that a 32-bit float holds."""
    return _java_number(value, shortest_float32(value))


def shortest_float32(value: float) -> str:
    """The shortest decimal text that reads back as the same 32-bit float."""
    if not math.isfinite(value):
        return repr(value)
    single = struct.pack("<f", value)
    for precision in range(1, 9):
        text = f"{value:.{precision}g}"
        if abs(float(text)) <= 3.4028235677973366e38 and struct.pack("<f", float(text)) == single:
            return text
    return f"{value:.9g}"


def _java_number(value: float, text: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return f"{sign}0.0"
    digits, point = _significant(text)
    if len(digits) == 1:
        # Java takes the nearest of the two-digit texts where one digit would do: 4.9E-324, not 5.0E-324.
        digits, point = _significant(f"{value:.1e}")
    if 1e-3 <= abs(value) < 1e7:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        padded = digits.ljust(point, "0")
        return f"{sign}{padded[:point]}.{padded[point:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def _significant(text: str) -> tuple[str, int]:
    """The digits without zeros at the end, and the place of the decimal point among them."""
    _, digits, exponent = Decimal(text).as_tuple()
    return "".join(map(str, digits)).rstrip("0"), len(digits) + int(exponent)
