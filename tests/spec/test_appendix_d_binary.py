"""Appendix D of the specification: binary single-value serialization, and bounds decoded after promotion."""

from __future__ import annotations

import json
import math
import struct
import uuid
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput, MetadataCorrupt
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
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    primitive_from_string,
)
from floeberg.spec.values.single_value import bound_from_point, from_bytes, point_from_bound, sort_key, to_bytes

CASES = json.loads((Path(__file__).parents[1] / "golden" / "vectors" / "single_value_binary.json").read_text())["cases"]
ALIASES = {
    "date_days": "date",
    "time_micros": "time",
    "timestamp_micros": "timestamp",
    "timestamptz_micros": "timestamptz",
}
LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
DAY_US = 86_400_000_000


def physical(data_type: IcebergType, value: object) -> object:
    if isinstance(data_type, DecimalType):
        return Decimal(str(value))
    if data_type == UUID:
        return uuid.UUID(str(value))
    if isinstance(data_type, FixedType) or data_type == BINARY:
        return str(value).removesuffix("(utf8)").encode()
    return value


@pytest.mark.parametrize(("type_name", "value", "expected"), [case for case in CASES if case[0] != "geometry_bound_xy"])
def test_each_golden_value_is_written_and_read(type_name: str, value: object, expected: str) -> None:
    data_type = primitive_from_string(ALIASES.get(type_name, type_name))
    wanted = physical(data_type, value)
    assert to_bytes(data_type, wanted).hex() == expected
    assert from_bytes(data_type, bytes.fromhex(expected)) == wanted


def test_a_geometry_bound_is_the_point_of_the_golden_vector() -> None:
    [(_, (x, y), expected)] = [case for case in CASES if case[0] == "geometry_bound_xy"]
    assert bound_from_point(x, y).hex() == expected
    assert point_from_bound(bytes.fromhex(expected)) == (x, y, None, None)


def test_geospatial_bounds_leave_out_what_is_not_set() -> None:
    assert point_from_bound(bound_from_point(1.0, 2.0, 3.0)) == (1.0, 2.0, 3.0, None)
    assert point_from_bound(bound_from_point(1.0, 2.0, m=4.0)) == (1.0, 2.0, None, 4.0)
    assert point_from_bound(bound_from_point(1.0, 2.0, 3.0, 4.0)) == (1.0, 2.0, 3.0, 4.0)
    assert math.isnan(struct.unpack("<4d", bound_from_point(1.0, 2.0, m=4.0))[2])
    with pytest.raises(MetadataCorrupt, match="16, 24 or 32"):
        point_from_bound(b"\x00" * 8)


ROUND_TRIPS = [
    (BOOLEAN, st.booleans()),
    (INT, INTS),
    (LONG, LONGS),
    (FLOAT, st.floats(width=32, allow_nan=False)),
    (DOUBLE, st.floats(allow_nan=False)),
    (DATE, INTS),
    (TIME, st.integers(0, DAY_US - 1)),
    (TIMESTAMP, LONGS),
    (TIMESTAMPTZ, LONGS),
    (TIMESTAMP_NS, LONGS),
    (TIMESTAMPTZ_NS, LONGS),
    (STRING, st.text(alphabet=st.characters(exclude_categories=["Cs"]))),
    (UUID, st.uuids()),
    (FixedType(5), st.binary(min_size=5, max_size=5)),
    (BINARY, st.binary()),
    (GeometryType(), st.binary()),
    (GeographyType(), st.binary()),
    (VARIANT, st.binary()),
    (
        DecimalType(38, 7),
        st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -7))),
    ),
]


@pytest.mark.parametrize(("data_type", "values"), ROUND_TRIPS, ids=lambda value: str(value)[:20])
def test_every_value_survives_the_binary_form(data_type: IcebergType, values: st.SearchStrategy[object]) -> None:
    @given(values)
    def survives(value: object) -> None:
        assert from_bytes(data_type, to_bytes(data_type, value)) == value

    survives()


@given(INTS)
def test_an_int_bound_is_read_by_a_column_that_is_now_long(value: int) -> None:
    assert from_bytes(LONG, to_bytes(INT, value)) == value


@given(st.floats(width=32, allow_nan=False))
def test_a_float_bound_is_read_by_a_column_that_is_now_double(value: float) -> None:
    assert from_bytes(DOUBLE, to_bytes(FLOAT, value)) == value


@given(st.integers(-100_000, 100_000))
def test_a_date_bound_is_read_by_a_column_that_is_now_a_timestamp(days: int) -> None:
    assert from_bytes(TIMESTAMP, to_bytes(DATE, days)) == days * DAY_US
    assert from_bytes(TIMESTAMP_NS, to_bytes(DATE, days)) == days * DAY_US * 1000


def test_a_date_beyond_the_range_of_the_promoted_type_fails() -> None:
    for data_type in (TIMESTAMP, TIMESTAMP_NS):
        with pytest.raises(MetadataCorrupt, match="outside the range"):
            from_bytes(data_type, to_bytes(DATE, 2**31 - 1))


def test_a_date_is_never_promoted_to_a_zoned_timestamp() -> None:
    for data_type in (TIMESTAMPTZ, TIMESTAMPTZ_NS, TIME):
        with pytest.raises(MetadataCorrupt, match="4 bytes"):
            from_bytes(data_type, to_bytes(DATE, 1))


def test_a_decimal_bound_of_less_precision_is_read() -> None:
    assert from_bytes(DecimalType(20, 2), to_bytes(DecimalType(4, 2), Decimal("-12.34"))) == Decimal("-12.34")


def test_a_bound_of_a_column_of_unknown_type_is_null() -> None:
    assert from_bytes(UNKNOWN, b"\x01\x02") is None


def test_true_is_any_byte_that_is_not_zero() -> None:
    assert from_bytes(BOOLEAN, b"\x07") is True


def test_a_truncated_bound_of_a_fixed_column_is_read_and_a_longer_one_is_not() -> None:
    assert from_bytes(FixedType(20), b"ab") == b"ab"
    with pytest.raises(MetadataCorrupt):
        from_bytes(FixedType(2), b"abc")


PRIMITIVES = [data_type for data_type, _ in ROUND_TRIPS] + [UNKNOWN, GeometryType("EPSG:4326")]
NESTED = [
    StructType((NestedField(1, "a", INT),)),
    ListType(1, INT),
    MapType(1, STRING, 2, INT),
]


@given(st.sampled_from(PRIMITIVES + NESTED), st.binary(max_size=40))
def test_any_bytes_give_a_value_or_metadata_corrupt(data_type: IcebergType, data: bytes) -> None:
    try:
        value = from_bytes(data_type, data)
    except MetadataCorrupt:
        return
    if value is not None and data_type != VARIANT and not isinstance(data_type, (GeometryType, GeographyType)):
        sort_key(data_type, value)


@given(
    st.sampled_from(PRIMITIVES + NESTED),
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.decimals(), st.uuids(),
        st.lists(st.integers(), max_size=2),
    ),
)  # fmt: skip
def test_any_object_is_written_or_refused_as_invalid_input(data_type: IcebergType, value: object) -> None:
    try:
        data = to_bytes(data_type, value)
    except InvalidInput:
        return
    assert to_bytes(data_type, from_bytes(data_type, data)) == data


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        (INT, 2**31),
        (INT, True),
        (LONG, -(2**63) - 1),
        (TIME, DAY_US),
        (FLOAT, 1e39),
        (DecimalType(3, 2), Decimal("12.345")),
        (DecimalType(3, 2), Decimal("12.34")),
        (DecimalType(3, 2), Decimal("NaN")),
        (DecimalType(3, 2), Decimal("1E+999999")),
        (DecimalType(3, 2), Decimal("1E-999999")),
        (FixedType(3), b"ab"),
        (STRING, "\ud800"),
        (UUID, "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
        (UNKNOWN, 1),
        (ListType(1, INT), [1]),
        (STRING, None),
    ],
)
def test_a_value_outside_the_type_is_refused(data_type: IcebergType, value: object) -> None:
    with pytest.raises(InvalidInput):
        to_bytes(data_type, value)


def test_a_decimal_of_another_scale_is_written_when_nothing_is_lost() -> None:
    assert to_bytes(DecimalType(9, 2), Decimal("14.2")) == to_bytes(DecimalType(9, 2), Decimal("14.200"))
    assert to_bytes(DecimalType(9, 2), Decimal("0E+50")) == b"\x00"


def test_floats_sort_as_the_specification_says() -> None:
    """https://iceberg.apache.org/spec/#sorting"""
    nan, minus_nan = struct.unpack("<dd", struct.pack("<QQ", 0x7FF8000000000000, 0xFFF8000000000000))
    ordered = [minus_nan, -math.inf, -1.5, -0.0, 0.0, 1.5, math.inf, nan]
    for data_type in (FLOAT, DOUBLE):
        keys = [sort_key(data_type, value) for value in ordered]
        assert keys == sorted(keys)  # type: ignore[type-var]
        assert len(set(keys)) == len(keys)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_sort_keys_of_floats_agree_with_their_order(left: float, right: float) -> None:
    if left < right:
        assert sort_key(DOUBLE, left) < sort_key(DOUBLE, right)  # type: ignore[operator]


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    st.text(alphabet=st.characters(exclude_categories=["Cs"])),
)
def test_text_sorts_as_its_utf8_bytes(left: str, right: str) -> None:
    assert (sort_key(STRING, left) < sort_key(STRING, right)) == (left.encode() < right.encode())  # type: ignore[operator]


def test_types_without_an_order_are_refused() -> None:
    for data_type in (VARIANT, GeometryType(), ListType(1, INT)):
        with pytest.raises(InvalidInput, match="no order"):
            sort_key(data_type, b"" if data_type.is_primitive else [1])
