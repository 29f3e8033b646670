"""The specification's table of partition transforms: types, results, nulls, names."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.partitions.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    MONTH,
    VOID,
    YEAR,
    BucketTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    parse_transform,
)
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
)

DECIMAL = DecimalType(9, 2)
FIXED = FixedType(4)
TIMESTAMPS = {TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS}
PLAIN = {BOOLEAN, INT, LONG, FLOAT, DOUBLE, DECIMAL, DATE, TIME, *TIMESTAMPS, STRING, UUID, FIXED, BINARY, UNKNOWN}
ALL = PLAIN | {VARIANT, GeometryType(), GeographyType(), ListType(1, INT)}
ALLOWED: dict[Transform, set[IcebergType]] = {
    IDENTITY: set(PLAIN),
    BucketTransform(16): {INT, LONG, DECIMAL, DATE, TIME, *TIMESTAMPS, STRING, UUID, FIXED, BINARY},
    TruncateTransform(4): {INT, LONG, DECIMAL, STRING, BINARY},
    YEAR: {DATE, *TIMESTAMPS},
    MONTH: {DATE, *TIMESTAMPS},
    DAY: {DATE, *TIMESTAMPS},
    HOUR: set(TIMESTAMPS),
    VOID: set(ALL),
}


@pytest.mark.parametrize("transform", ALLOWED, ids=str)
def test_a_transform_takes_the_types_of_the_table_and_no_other(transform: Transform) -> None:
    assert {data_type for data_type in ALL if transform.can_transform(data_type)} == ALLOWED[transform]


@pytest.mark.parametrize("transform", ALLOWED, ids=str)
def test_null_gives_null(transform: Transform) -> None:
    for data_type in ALL:
        assert transform.apply(data_type, None) is None


@pytest.mark.parametrize("transform", ALLOWED, ids=str)
def test_a_value_of_a_type_that_is_not_allowed_is_refused(transform: Transform) -> None:
    for data_type in ALL - ALLOWED[transform]:
        with pytest.raises(InvalidInput, match="does not take"):
            transform.apply(data_type, 1)


def test_result_types_are_those_of_the_table() -> None:
    for data_type in PLAIN:
        assert IDENTITY.result_type(data_type) == VOID.result_type(data_type) == data_type
        assert TruncateTransform(4).result_type(data_type) == data_type
        for transform in (BucketTransform(16), YEAR, MONTH, HOUR):
            assert transform.result_type(data_type) == INT
        assert DAY.result_type(data_type) == DATE


def test_result_types_of_a_dropped_source_never_fail() -> None:
    assert [t.result_type(UNKNOWN) for t in (IDENTITY, TruncateTransform(2), VOID)] == [UNKNOWN] * 3
    assert UnknownTransform("zorder").result_type(INT) == UNKNOWN


@pytest.mark.parametrize("text", ["identity", "bucket[16]", "truncate[4]", "year", "month", "day", "hour", "void"])
def test_names_are_read_in_any_case_and_written_as_the_table_has_them(text: str) -> None:
    assert str(parse_transform(text)) == str(parse_transform(text.upper())) == text


def test_a_transform_that_is_not_known_is_kept_and_never_applied() -> None:
    unknown = parse_transform("zorder[3]")
    assert str(unknown) == "zorder[3]"
    assert unknown.can_transform(INT)
    with pytest.raises(UnsupportedFeature, match="zorder"):
        unknown.apply(INT, 1)
    assert unknown.to_human_string(UNKNOWN, "x") == "x"


@pytest.mark.parametrize("text", ["bucket[0]", "bucket[2147483648]", "truncate[0]", "truncate[99999999999999999999]"])
def test_widths_and_bucket_counts_outside_an_int_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_transform(text)


@pytest.mark.parametrize("text", ["bucket[-1]", "bucket", "truncate[]", "bucket[1", "bucket[" + "9" * 5000 + "]", ""])
def test_other_texts_are_unknown_transforms(text: str) -> None:
    assert isinstance(parse_transform(text), UnknownTransform)


@pytest.mark.parametrize(
    ("data_type", "width", "value", "expected"),
    [
        (INT, 10, 1, 0),
        (INT, 10, -1, -10),
        (LONG, 10, 1, 0),
        (LONG, 10, -1, -10),
        (LONG, 10, -10, -10),
        (DecimalType(9, 2), 50, Decimal("10.65"), Decimal("10.50")),
        (DecimalType(9, 2), 10, Decimal("-0.05"), Decimal("-0.10")),
        (DecimalType(38, 0), 10, Decimal("9" * 38), Decimal("9" * 37 + "0")),
        (STRING, 3, "iceberg", "ice"),
        (STRING, 3, "ic", "ic"),
        (STRING, 2, "\U0001f9ca\u00e9b", "\U0001f9ca\u00e9"),
        (BINARY, 3, b"\x01\x02\x03\x04\x05", b"\x01\x02\x03"),
    ],
)
def test_truncation_is_that_of_the_table(data_type: IcebergType, width: int, value: object, expected: object) -> None:
    assert TruncateTransform(width).apply(data_type, value) == expected


@pytest.mark.parametrize(
    ("data_type", "value"),
    [(INT, -(2**31)), (LONG, -(2**63)), (DecimalType(4, 1), Decimal("-999.9"))],
)
def test_a_truncated_value_that_does_not_fit_raises_instead_of_wrapping(data_type: IcebergType, value: object) -> None:
    with pytest.raises(InvalidInput, match="does not fit"):
        TruncateTransform(7).apply(data_type, value)


@given(st.integers(-(2**31) + 1000, 2**31 - 1), st.integers(1, 1000))
def test_truncation_gives_the_greatest_multiple_that_is_not_greater(value: int, width: int) -> None:
    result = TruncateTransform(width).apply(INT, value)
    assert isinstance(result, int)
    assert result % width == 0
    assert 0 <= value - result < width


@given(st.integers(-(2**31), 2**31 - 1), st.integers(1, 2**31 - 1))
def test_buckets_lie_between_zero_and_their_number(value: int, buckets: int) -> None:
    result = BucketTransform(buckets).apply(INT, value)
    assert isinstance(result, int)
    assert 0 <= result < buckets


def test_order_is_preserved_by_all_but_bucket_void_and_unknown() -> None:
    assert [t.preserves_order for t in (IDENTITY, TruncateTransform(2), YEAR, MONTH, DAY, HOUR)] == [True] * 6
    assert [t.preserves_order for t in (BucketTransform(2), VOID, UnknownTransform("x"))] == [False] * 3


def test_a_finer_order_satisfies_a_coarser_one() -> None:
    for finer, coarser in ((HOUR, DAY), (DAY, MONTH), (MONTH, YEAR), (HOUR, YEAR)):
        assert finer.satisfies_order_of(coarser)
        assert not coarser.satisfies_order_of(finer)
    assert IDENTITY.satisfies_order_of(DAY)
    assert not IDENTITY.satisfies_order_of(BucketTransform(4))
    assert BucketTransform(4).satisfies_order_of(BucketTransform(4))
    assert not BucketTransform(4).satisfies_order_of(BucketTransform(2))


def test_truncations_compare_by_prefix_for_text_and_by_grid_for_numbers() -> None:
    wide, narrow, odd = TruncateTransform(20), TruncateTransform(10), TruncateTransform(15)
    assert wide.satisfies_order_of(narrow, STRING)
    assert not narrow.satisfies_order_of(wide, STRING)
    assert narrow.satisfies_order_of(wide, INT)
    assert not wide.satisfies_order_of(narrow, INT)
    assert not narrow.satisfies_order_of(odd, INT)
    assert not wide.satisfies_order_of(narrow)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=2), st.integers(1, 50), st.integers(1, 50))
def test_what_satisfies_an_order_really_sorts_by_it(values: list[int], left: int, right: int) -> None:
    finer, coarser = TruncateTransform(left), TruncateTransform(right)
    if finer.satisfies_order_of(coarser, LONG):
        rows = sorted(values, key=lambda v: int(str(finer.apply(LONG, v))))
        keys = [int(str(coarser.apply(LONG, v))) for v in rows]
        assert keys == sorted(keys)
