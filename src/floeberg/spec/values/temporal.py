"""ISO-8601 text and counts since 1970-01-01, for any year: the calendar of the reference implementation (proleptic
Gregorian, years from -999999999 to 999999999), without the limits of `datetime`.
https://iceberg.apache.org/spec/#json-single-value-serialization
"""

from __future__ import annotations

import re
from typing import Final, Literal

from floeberg.errors import InvalidInput

Unit = Literal["us", "ns"]

MICROS_PER_SECOND: Final = 1_000_000
MICROS_PER_HOUR: Final = 3_600 * MICROS_PER_SECOND
MICROS_PER_DAY: Final = 24 * MICROS_PER_HOUR
NANOS_PER_MICRO: Final = 1_000
NANOS_PER_SECOND: Final = 1_000_000_000
SECONDS_PER_DAY: Final = 86_400

INT_MIN: Final = -(2**31)
INT_MAX: Final = 2**31 - 1
LONG_MIN: Final = -(2**63)
LONG_MAX: Final = 2**63 - 1

_DAYS_PER_ERA: Final = 146_097
_EPOCH_FROM_0000_03_01: Final = 719_468

_DATE: Final = r"(?P<year>\d{4}|-\d{4,9}|\+\d{5,9})-(?P<month>\d\d)-(?P<day>\d\d)"
_TIME: Final = r"(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,9}))?)?"
_ZONE: Final = r"(?P<zone>[Zz]|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?"
_DATE_PATTERN: Final = re.compile(_DATE, re.ASCII)
_TIME_PATTERN: Final = re.compile(_TIME, re.ASCII)
_TIMESTAMP_PATTERN: Final = re.compile(f"{_DATE}(?P<separator>[Tt ]){_TIME}{_ZONE}", re.ASCII)


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a date of the proleptic Gregorian calendar."""
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _DAYS_PER_ERA + day_of_era - _EPOCH_FROM_0000_03_01


def civil_from_days(days: int) -> tuple[int, int, int]:
    """(year, month, day) of a count of days since 1970-01-01."""
    era, day_of_era = divmod(days + _EPOCH_FROM_0000_03_01, _DAYS_PER_ERA)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def days_in_month(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def parse_date(text: str) -> int:
    """Days since 1970-01-01 of `2017-11-16`. Raises InvalidInput."""
    match = _DATE_PATTERN.fullmatch(text)
    if match is None:
        raise _unreadable(text, "a date such as 2017-11-16")
    return _in_range(_days(match, text), text, bits=32)


def parse_time(text: str) -> int:
    """Microseconds since midnight of `22:31:08.123456`. Raises InvalidInput."""
    match = _TIME_PATTERN.fullmatch(text)
    if match is None:
        raise _unreadable(text, "a time such as 22:31:08.123456")
    return _to_unit(_nanos_of_day(match, text), text, unit="us")


def parse_timestamp(text: str, *, unit: Unit, zoned: bool, allow_space: bool = False) -> int:
    """Microseconds or nanoseconds since the epoch of `2017-11-16T22:31:08.123456`, with an offset exactly when `zoned`.

    Never rounds: digits beyond the unit must be zeros. Raises InvalidInput.
    """
    nanos, offset_seconds = split_timestamp(text, allow_space=allow_space)
    if zoned and offset_seconds is None:
        raise InvalidInput(f"timestamp {text[:60]!r} needs a zone offset such as +00:00", value=text[:60])
    if not zoned and offset_seconds is not None:
        raise InvalidInput(f"timestamp {text[:60]!r} must not have a zone offset", value=text[:60])
    return _in_range(_to_unit(nanos - (offset_seconds or 0) * NANOS_PER_SECOND, text, unit=unit), text, bits=64)


def split_timestamp(text: str, *, allow_space: bool = False) -> tuple[int, int | None]:
    """(nanoseconds since the epoch as the clock on the wall reads, offset in seconds or None). Raises InvalidInput."""
    match = _TIMESTAMP_PATTERN.fullmatch(text)
    if match is None or (match["separator"] == " " and not allow_space):
        raise _unreadable(text, "a timestamp such as 2017-11-16T22:31:08.123456")
    nanos = _days(match, text) * SECONDS_PER_DAY * NANOS_PER_SECOND + _nanos_of_day(match, text)
    return nanos, None if match["zone"] is None else _offset_seconds(match["zone"], text)


def format_date(days: int) -> str:
    """`2017-11-16`; years beyond 9999 carry a plus sign, as ISO-8601 asks."""
    year, month, day = civil_from_days(days)
    return f"{_iso_year(year)}-{month:02d}-{day:02d}"


def format_time(micros: int) -> str:
    """`22:31:08.123456`: seconds always, a fraction without trailing zeros only when there is one."""
    seconds, fraction = divmod(micros, MICROS_PER_SECOND)
    return _clock(seconds, fraction * NANOS_PER_MICRO)


def format_timestamp(value: int, *, unit: Unit, zoned: bool) -> str:
    """`2017-11-16T22:31:08.123456`, followed by `+00:00` when `zoned`."""
    seconds, fraction = divmod(value, MICROS_PER_SECOND if unit == "us" else NANOS_PER_SECOND)
    days, second_of_day = divmod(seconds, SECONDS_PER_DAY)
    nanos = fraction * NANOS_PER_MICRO if unit == "us" else fraction
    return f"{format_date(days)}T{_clock(second_of_day, nanos)}{'+00:00' if zoned else ''}"


def _days(match: re.Match[str], text: str) -> int:
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    if not 1 <= month <= 12 or not 1 <= day <= days_in_month(year, month):
        raise InvalidInput(f"{text[:60]!r}: there is no such day in the calendar", value=text[:60])
    return days_from_civil(year, month, day)


def _nanos_of_day(match: re.Match[str], text: str) -> int:
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise InvalidInput(f"{text[:60]!r}: there is no such time of day", value=text[:60])
    fraction = int((match["fraction"] or "").ljust(9, "0"))
    return (hour * 3600 + minute * 60 + second) * NANOS_PER_SECOND + fraction


def _offset_seconds(zone: str, text: str) -> int:
    if zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "").ljust(6, "0")
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:])
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > 18 * 3600:
        raise InvalidInput(f"{text[:60]!r}: a zone offset lies between -18:00 and +18:00", value=text[:60])
    return -total if zone[0] == "-" else total


def _to_unit(nanos: int, text: str, *, unit: Unit) -> int:
    if unit == "ns":
        return nanos
    micros, lost = divmod(nanos, NANOS_PER_MICRO)
    if lost:
        raise InvalidInput(f"{text[:60]!r} has more than microseconds; the type holds no more", value=text[:60])
    return micros


def _in_range(value: int, text: str, *, bits: int) -> int:
    if not -(1 << (bits - 1)) <= value < (1 << (bits - 1)):
        raise InvalidInput(f"{text[:60]!r} is outside the {bits}-bit range of the type", value=text[:60])
    return value


def _iso_year(year: int) -> str:
    if year > 9999:
        return f"+{year}"
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"


def _clock(second_of_day: int, nanos: int) -> str:
    minutes, second = divmod(second_of_day, 60)
    hour, minute = divmod(minutes, 60)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{hour:02d}:{minute:02d}:{second:02d}{fraction}"


def _unreadable(text: str, wanted: str) -> InvalidInput:
    return InvalidInput(f"{text[:60]!r} is not {wanted}", value=text[:60])
