"""Texts of partition values, as the reference implementation prints them."""

from __future__ import annotations

import struct
import uuid
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.spec.partitions.transforms import DAY, HOUR, MONTH, VOID, YEAR, BucketTransform, Transform
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UUID,
    DecimalType,
    FixedType,
    IcebergType,
)
from floeberg.spec.values.human import human_string, java_double, java_float


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        (STRING, None, "null"),
        (BOOLEAN, True, "true"),
        (INT, -7, "-7"),
        (LONG, 2**62, str(2**62)),
        (FLOAT, 1.1, "1.1"),
        (DOUBLE, 100.0, "100.0"),
        (DecimalType(9, 2), Decimal("-1.50"), "-1.50"),
        (DecimalType(20, 10), Decimal("0E-10"), "0E-10"),
        (DATE, 0, "1970-01-01"),
        (DATE, 2932897, "10000-01-01"),
        (TIME, 36_775_038_194, "10:12:55.038194"),
        (TIME, 36_775_038_000, "10:12:55.038"),
        (TIME, 36_775_000_000, "10:12:55"),
        (TIME, 36_720_000_000, "10:12"),
        (TIMESTAMP, 1512151975038194, "2017-12-01T18:12:55.038194"),
        (TIMESTAMP, 1512151975038000, "2017-12-01T18:12:55.038"),
        (TIMESTAMP, 1512151975000000, "2017-12-01T18:12:55"),
        (TIMESTAMP, 1512151920000000, "2017-12-01T18:12:00"),
        (TIMESTAMPTZ, 1512151975038194, "2017-12-01T18:12:55.038194+00:00"),
        (TIMESTAMP_NS, 1512151975038194789, "2017-12-01T18:12:55.038194789"),
        (TIMESTAMPTZ_NS, 1512151975038194789, "2017-12-01T18:12:55.038194789+00:00"),
        (STRING, "a/b=c d", "a/b=c d"),
        (UUID, uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (BINARY, b"\x01\x02\x03", "AQID"),
        (FixedType(3), b"\x01\x02\x03", "AQID"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_identity_values_print_by_type(data_type: IcebergType, value: object, expected: str) -> None:
    assert human_string(data_type, value) == expected


@pytest.mark.parametrize(
    ("transform", "value", "expected"),
    [
        (YEAR, 47, "2017"),
        (YEAR, -1, "1969"),
        (YEAR, -1971, "-001"),
        (MONTH, 575, "2017-12"),
        (MONTH, -1, "1969-12"),
        (DAY, 17501, "2017-12-01"),
        (DAY, -1, "1969-12-31"),
        (HOUR, 420034, "2017-12-01-10"),
        (HOUR, -1, "1969-12-31-23"),
        (YEAR, None, "null"),
        (VOID, None, "null"),
        (BucketTransform(8), 3, "3"),
    ],
)
def test_results_of_transforms_print_as_dates(transform: Transform, value: object, expected: str) -> None:
    assert transform.to_human_string(transform.result_type(TIMESTAMP), value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (1.2345e10, "1.2345E10"),
        (123456.75, "123456.75"),
        (1e-320, "1.0E-320"),
        (5e-324, "4.9E-324"),
        (2e23, "2.0E23"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_doubles_print_as_java_prints_them(value: float, expected: str) -> None:
    assert java_double(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.1, "1.1"), (3.4028234663852886e38, "3.4028235E38"), (1.4e-45, "1.4E-45"), (16777216.0, "1.6777216E7")],
)
def test_floats_print_with_the_digits_a_32_bit_float_needs(value: float, expected: str) -> None:
    single = struct.unpack("<f", struct.pack("<f", value))[0]
    assert java_float(single) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_reads_back_from_its_text(value: float) -> None:
    assert float(java_double(value)) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_from_its_text(value: float) -> None:
    assert struct.pack("<f", float(java_float(value))) == struct.pack("<f", value)
