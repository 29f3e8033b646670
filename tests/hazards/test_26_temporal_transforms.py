"""Hazard 26: temporal transforms before 1970, at unit boundaries, under zone offsets, and where hours overflow an int.

They floor in UTC, signed, on both paths; a result that does not fit raises, so that nothing is pruned by a wrapped one.
"""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.arrow.columns.transforms import transform_array
from floeberg.errors import InvalidInput
from floeberg.spec.partitions.transforms import DAY, HOUR, MONTH, YEAR, TemporalTransform
from floeberg.spec.types import DATE, TIMESTAMP, TIMESTAMP_NS, TIMESTAMPTZ, TIMESTAMPTZ_NS, IcebergType
from floeberg.spec.values import temporal

ALL = (YEAR, MONTH, DAY, HOUR)
HOUR_US = 3_600_000_000

# text, year, month, day, hour
BOUNDARIES = [
    ("1970-01-01T00:00:00", 0, 0, 0, 0),
    ("1970-01-01T00:59:59.999999", 0, 0, 0, 0),
    ("1970-01-01T01:00:00", 0, 0, 0, 1),
    ("1969-12-31T23:59:59.999999", -1, -1, -1, -1),
    ("1969-12-31T23:00:00", -1, -1, -1, -1),
    ("1969-12-31T22:59:59.999999", -1, -1, -1, -2),
    ("1969-12-31T00:00:00", -1, -1, -1, -24),
    ("1969-12-30T23:59:59.999999", -1, -1, -2, -25),
    ("1969-12-01T00:00:00", -1, -1, -31, -744),
    ("1969-11-30T23:59:59.999999", -1, -2, -32, -745),
    ("1969-01-01T00:00:00", -1, -12, -365, -8760),
    ("1968-12-31T23:59:59.999999", -2, -13, -366, -8761),
    ("1968-02-29T12:00:00", -2, -23, -672, -16116),
    ("1900-03-01T00:00:00", -70, -838, -25508, -612192),
    ("1900-02-28T23:59:59", -70, -839, -25509, -612193),
    ("0001-01-01T00:00:00", -1969, -23628, -719162, -17259888),
    ("0000-12-31T23:59:59", -1970, -23629, -719163, -17259889),
    ("2000-02-29T23:00:00", 30, 361, 11016, 264407),
    ("2017-12-01T10:12:55.038194", 47, 575, 17501, 420034),
    ("9999-12-31T23:59:59.999999", 8029, 96359, 2932896, 70389527),
]


@pytest.mark.parametrize(("text", "year", "month", "day", "hour"), BOUNDARIES)
def test_the_boundary_table(text: str, year: int, month: int, day: int, hour: int) -> None:
    micros = temporal.parse_timestamp(text, unit="us", zoned=False)
    for data_type in (TIMESTAMP, TIMESTAMPTZ):
        assert [t.apply(data_type, micros) for t in ALL] == [year, month, day, hour]
        array = pa.array([micros]).cast(pa.timestamp("us", tz="UTC" if data_type == TIMESTAMPTZ else None))
        assert [_ints(transform_array(t, data_type, array))[0] for t in ALL] == [year, month, day, hour]
    days = micros // temporal.MICROS_PER_DAY
    assert [t.apply(DATE, days) for t in (YEAR, MONTH, DAY)] == [year, month, day]


@pytest.mark.parametrize(("text", "year", "month", "day", "hour"), BOUNDARIES)
def test_the_boundary_table_in_nanoseconds(text: str, year: int, month: int, day: int, hour: int) -> None:
    nanos = temporal.split_timestamp(text)[0]
    if not temporal.LONG_MIN <= nanos <= temporal.LONG_MAX:
        return
    for data_type in (TIMESTAMP_NS, TIMESTAMPTZ_NS):
        assert [t.apply(data_type, nanos) for t in ALL] == [year, month, day, hour]
        array = pa.array([nanos]).cast(pa.timestamp("ns"))
        assert [_ints(transform_array(t, data_type, array))[0] for t in ALL] == [year, month, day, hour]


def test_a_zone_offset_moves_the_instant_before_the_transform() -> None:
    late = temporal.parse_timestamp("2024-01-01T01:00:00+02:00", unit="us", zoned=True)
    assert DAY.to_human_string(DATE, DAY.apply(TIMESTAMPTZ, late)) == "2023-12-31"
    array = pa.array([late]).cast(pa.timestamp("us", tz="Pacific/Auckland"))
    assert _ints(transform_array(DAY, TIMESTAMPTZ, array)) == [DAY.apply(TIMESTAMPTZ, late)]


@pytest.mark.parametrize(
    "micros", [2**31 * HOUR_US, 2**63 - 1, -(2**31) * HOUR_US - 1, -(2**63)], ids=["first", "max", "last", "min"]
)
def test_an_hour_that_overflows_an_int_raises_on_both_paths(micros: int) -> None:
    with pytest.raises(InvalidInput, match="does not fit"):
        HOUR.apply(TIMESTAMP, micros)
    with pytest.raises(InvalidInput, match="does not fit"):
        transform_array(HOUR, TIMESTAMP, pa.array([micros]).cast(pa.timestamp("us")))


@pytest.mark.parametrize("micros", [2**31 * HOUR_US - 1, -(2**31) * HOUR_US])
def test_the_last_hours_that_fit_are_given(micros: int) -> None:
    assert HOUR.apply(TIMESTAMP, micros) == micros // HOUR_US
    assert _ints(transform_array(HOUR, TIMESTAMP, pa.array([micros]).cast(pa.timestamp("us")))) == [micros // HOUR_US]


HOURS_THAT_FIT = st.integers(-(2**31) * HOUR_US, 2**31 * HOUR_US - 1)


@given(HOURS_THAT_FIT, HOURS_THAT_FIT, st.sampled_from(ALL))
def test_an_earlier_timestamp_never_has_a_later_result(one: int, other: int, transform: TemporalTransform) -> None:
    earlier, later = sorted((one, other))
    first, second = transform.apply(TIMESTAMP, earlier), transform.apply(TIMESTAMP, later)
    assert isinstance(first, int)
    assert isinstance(second, int)
    assert first <= second


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(ALL))
def test_nanoseconds_agree_with_their_microseconds(nanos: int, transform: TemporalTransform) -> None:
    assert transform.apply(TIMESTAMP_NS, nanos) == transform.apply(TIMESTAMP, nanos // 1000)


@given(st.datetimes())
def test_results_agree_with_the_calendar_of_the_standard_library(moment: dt.datetime) -> None:
    micros = (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    assert YEAR.apply(TIMESTAMP, micros) == moment.year - 1970
    assert MONTH.apply(TIMESTAMP, micros) == (moment.year - 1970) * 12 + moment.month - 1
    assert DAY.apply(TIMESTAMP, micros) == (moment.date() - dt.date(1970, 1, 1)).days
    assert HOUR.apply(TIMESTAMP, micros) == (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(hours=1)


@given(st.integers(-(2**31), 2**31 - 1), st.sampled_from((YEAR, MONTH, DAY)))
def test_a_date_and_its_midnight_fall_together(days: int, transform: TemporalTransform) -> None:
    midnight = days * temporal.MICROS_PER_DAY
    if temporal.LONG_MIN <= midnight <= temporal.LONG_MAX:
        assert transform.apply(DATE, days) == transform.apply(TIMESTAMP, midnight)
    assert _ints(transform_array(transform, DATE, pa.array([days], pa.int32()).cast(pa.date32()))) == [
        transform.apply(DATE, days)
    ]


def _ints(array: pa.Array) -> list[int | None]:
    return array.cast(pa.int32()).to_pylist()


def test_result_types_over_arrays_are_int32_and_date32() -> None:
    array = pa.array([0]).cast(pa.timestamp("us"))
    types: list[tuple[IcebergType, pa.DataType]] = [
        (t.result_type(TIMESTAMP), transform_array(t, TIMESTAMP, array).type) for t in ALL
    ]
    assert [str(kind) for _, kind in types] == ["int32", "int32", "date32[day]", "int32"]
