"""Appendix B of the specification: 32-bit hash requirements."""

from __future__ import annotations

import json
import struct
import uuid
from decimal import Decimal
from pathlib import Path

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput
from floeberg.spec.partitions.transforms import BucketTransform
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
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    FixedType,
    IcebergType,
    ListType,
    primitive_from_string,
)
from floeberg.spec.values import temporal
from floeberg.spec.values.murmur3 import hash_bytes, hash_long, hash_value

VECTORS = json.loads((Path(__file__).parents[1] / "golden" / "vectors" / "murmur3.json").read_text())


def physical(data_type: IcebergType, value: object) -> object:
    """A vector's value in physical form."""
    if isinstance(data_type, DecimalType):
        return Decimal(str(value))
    if isinstance(data_type, FixedType) or data_type == BINARY:
        return bytes.fromhex(str(value))
    if data_type == UUID:
        return uuid.UUID(str(value))
    if data_type == DATE:
        return temporal.parse_date(str(value))
    if data_type == TIME:
        return temporal.parse_time(str(value))
    if data_type in (TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS):
        unit: temporal.Unit = "ns" if data_type in (TIMESTAMP_NS, TIMESTAMPTZ_NS) else "us"
        return temporal.parse_timestamp(str(value), unit=unit, zoned=data_type in (TIMESTAMPTZ, TIMESTAMPTZ_NS))
    return value


@pytest.mark.parametrize(("type_name", "value", "expected"), VECTORS["valid"] + VECTORS["hash_only_not_bucketable"])
def test_the_hash_of_each_row_of_the_tables(type_name: str, value: object, expected: int) -> None:
    data_type = primitive_from_string(type_name)
    assert hash_value(data_type, physical(data_type, value)) == expected


@pytest.mark.parametrize(
    ("type_name", "value", "buckets", "expected"), VECTORS["bucket_values_from_trino_table"]["values"]
)
def test_buckets_equal_those_another_engine_wrote(type_name: str, value: str, buckets: int, expected: int) -> None:
    if type_name == "binary_utf8":
        assert BucketTransform(buckets).apply(BINARY, value.encode()) == expected
        return
    data_type = primitive_from_string(type_name)
    assert BucketTransform(buckets).apply(data_type, physical(data_type, value)) == expected


@given(st.binary(max_size=64))
def test_hash_of_bytes_equals_the_oracle(data: bytes) -> None:
    assert hash_bytes(data) == mmh3.hash(data)


@given(st.integers(-(2**63), 2**63 - 1))
def test_hash_of_a_long_is_that_of_its_little_endian_bytes(value: int) -> None:
    assert hash_long(value) == mmh3.hash(struct.pack("<q", value))


@given(st.integers(-(2**31), 2**31 - 1))
def test_int_and_long_hash_alike_so_that_promotion_keeps_buckets(value: int) -> None:
    assert hash_value(INT, value) == hash_value(LONG, value) == hash_value(DATE, value)


@given(st.integers(-(2**63), 2**63 - 1))
def test_nanoseconds_hash_as_their_microseconds(nanos: int) -> None:
    assert hash_value(TIMESTAMP_NS, nanos) == hash_value(TIMESTAMP, nanos // 1000)
    assert hash_value(TIMESTAMPTZ_NS, nanos) == hash_value(TIMESTAMPTZ, nanos // 1000)


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38))
def test_decimals_hash_by_minimal_bytes_whatever_the_scale(number: int, scale: int) -> None:
    width = next(n for n in range(1, 18) if -(1 << (8 * n - 1)) <= number < 1 << (8 * n - 1))
    value = Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
    assert hash_value(DecimalType(38, scale), value) == mmh3.hash(number.to_bytes(width, "big", signed=True))


@given(st.floats(width=32))
def test_float_and_double_hash_alike_with_one_nan_and_one_zero(value: float) -> None:
    assert hash_value(FLOAT, value) == hash_value(DOUBLE, value)
    if value != value:
        assert hash_value(DOUBLE, value) == mmh3.hash(struct.pack("<Q", 0x7FF8000000000000))


def test_an_int_and_its_text_hash_differently() -> None:
    assert (hash_value(INT, 34), hash_value(STRING, "34")) == (2017239379, -427558391)


def test_null_and_unknown_have_no_hash_and_variant_and_nested_types_are_refused() -> None:
    assert hash_value(INT, None) is None
    assert hash_value(UNKNOWN, 3) is None
    for data_type in (VARIANT, ListType(1, INT)):
        with pytest.raises(InvalidInput, match="no hash"):
            hash_value(data_type, b"")


@pytest.mark.parametrize("data_type", [FLOAT, DOUBLE, BOOLEAN, UNKNOWN, VARIANT])
def test_types_that_may_not_be_bucketed_are_refused(data_type: IcebergType) -> None:
    assert not BucketTransform(4).can_transform(data_type)
    with pytest.raises(InvalidInput, match="does not take"):
        BucketTransform(4).apply(data_type, 1.0)


def test_long_hash_of_time_is_of_its_microseconds() -> None:
    assert hash_value(TIME, 81068000000) == -662762989
