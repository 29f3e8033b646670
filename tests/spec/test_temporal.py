"""ISO text and counts since the epoch, against the standard library where it reaches, and beyond."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput
from floeberg.spec.values import temporal

EPOCH = dt.datetime(1970, 1, 1)


@given(st.dates())
def test_dates_agree_with_the_standard_library(date: dt.date) -> None:
    days = (date - EPOCH.date()).days
    assert temporal.parse_date(date.isoformat()) == days
    assert temporal.format_date(days) == date.isoformat()
    assert temporal.civil_from_days(days) == (date.year, date.month, date.day)


@given(st.datetimes())
def test_timestamps_agree_with_the_standard_library(moment: dt.datetime) -> None:
    micros = (moment - EPOCH) // dt.timedelta(microseconds=1)
    assert temporal.parse_timestamp(moment.isoformat(), unit="us", zoned=False) == micros
    text = temporal.format_timestamp(micros, unit="us", zoned=False)
    assert dt.datetime.fromisoformat(text.ljust(26, "0") if "." in text else text) == moment


@given(st.integers(-(2**31), 2**31 - 1))
def test_every_day_of_an_int_has_a_text_of_its_own(days: int) -> None:
    assert temporal.parse_date(temporal.format_date(days)) == days


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["us", "ns"]), st.booleans())
def test_every_timestamp_of_a_long_has_a_text_of_its_own(value: int, unit: temporal.Unit, zoned: bool) -> None:
    text = temporal.format_timestamp(value, unit=unit, zoned=zoned)
    assert temporal.parse_timestamp(text, unit=unit, zoned=zoned) == value


@given(st.integers(0, temporal.MICROS_PER_DAY - 1))
def test_every_time_has_a_text_of_its_own(micros: int) -> None:
    assert temporal.parse_time(temporal.format_time(micros)) == micros


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (-719162, "0001-01-01"),
        (-719528, "0000-01-01"),
        (-719529, "-0001-12-31"),
        (2932896, "9999-12-31"),
        (2932897, "+10000-01-01"),
        (2**31 - 1, "+5881580-07-11"),
        (-(2**31), "-5877641-06-23"),
    ],
)
def test_years_outside_1_to_9999_are_written_as_iso_asks(days: int, text: str) -> None:
    assert temporal.format_date(days) == text
    assert temporal.parse_date(text) == days


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00+00:00", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T16:00:00-08", 0),
        ("1970-01-01T00:00:00.5+0000", 500_000),
        ("1969-12-31T23:59:59.999999Z", -1),
    ],
)
def test_zone_offsets_are_taken_off(text: str, micros: int) -> None:
    assert temporal.parse_timestamp(text, unit="us", zoned=True) == micros


@pytest.mark.parametrize(
    "text",
    [
        "", "2017", "2017-1-1", "17-11-16", "2017-13-01", "2017-00-01", "2017-02-30", "20170101", "10000-01-01",
        "+0001-01-01", "2017-11-16T00:00:00", "٢٠١٧-١١-١٦", "+999999999-01-01", "2017-11-16 ", "9" * 10_000,
    ],
)  # fmt: skip
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        temporal.parse_date(text)


@pytest.mark.parametrize("text", ["24:00:00", "23:60:00", "23:59:60", "1:00", "12", "12:00:00.1234567", "12:00Z", ""])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        temporal.parse_time(text)


@pytest.mark.parametrize(
    "text",
    ["2017-11-16", "2017-11-16T25:00", "2017-11-16T00:00+19:00", "2017-11-16T00:00+00:61", "+999999-01-01T00:00Z"],
)
def test_what_is_no_zoned_timestamp_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        temporal.parse_timestamp(text, unit="ns", zoned=True)


def test_a_blank_between_date_and_time_is_read_only_where_it_is_allowed() -> None:
    assert temporal.parse_timestamp("1970-01-01 00:00:01", unit="us", zoned=False, allow_space=True) == 1_000_000
    with pytest.raises(InvalidInput):
        temporal.parse_timestamp("1970-01-01 00:00:01", unit="us", zoned=False)
