"""Vectorised transforms equal the scalar ones on every value."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import mmh3
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.arrow.columns.murmur3 import hash_longs, hash_slices
from floeberg.arrow.columns.transforms import transform_array
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
)
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
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

INTS = st.integers(-(2**31), 2**31 - 1)
LONGS = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    def build(number: int) -> Decimal:
        return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))

    near_powers = st.integers(0, 120).flatmap(
        lambda bits: st.sampled_from([2**bits, 2**bits - 1, -(2**bits), -(2**bits) - 1])
    )
    limit = 10**precision - 1
    return (st.integers(-limit, limit) | near_powers.filter(lambda n: abs(n) <= limit)).map(build)


def plain(kind: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    return lambda values: pa.array(values, type=kind)


def through_ints(kind: pa.DataType, width: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    return lambda values: pa.array(values, type=width).view(kind)


def uuids(values: list[Any]) -> pa.Array:
    return pa.array([None if v is None else v.bytes for v in values], type=pa.binary(16))


CASES: dict[str, tuple[IcebergType, st.SearchStrategy[Any], Callable[[list[Any]], pa.Array]]] = {
    "int": (INT, INTS, plain(pa.int32())),
    "int from int8": (INT, st.integers(-128, 127), plain(pa.int8())),
    "long": (LONG, LONGS, plain(pa.int64())),
    "decimal32": (DecimalType(9, 2), decimals(9, 2), plain(pa.decimal32(9, 2))),
    "decimal64": (DecimalType(18, 2), decimals(18, 2), plain(pa.decimal64(18, 2))),
    "decimal128 short": (DecimalType(9, 2), decimals(9, 2), plain(pa.decimal128(9, 2))),
    "decimal128": (DecimalType(38, 5), decimals(38, 5), plain(pa.decimal128(38, 5))),
    "decimal256": (DecimalType(38, 5), decimals(38, 5), plain(pa.decimal256(38, 5))),
    "date": (DATE, INTS, through_ints(pa.date32(), pa.int32())),
    "time": (TIME, st.integers(0, 86_400_000_000 - 1), through_ints(pa.time64("us"), pa.int64())),
    "timestamp": (TIMESTAMP, LONGS, through_ints(pa.timestamp("us"), pa.int64())),
    "timestamptz": (TIMESTAMPTZ, LONGS, through_ints(pa.timestamp("us", tz="UTC"), pa.int64())),
    "timestamptz elsewhere": (TIMESTAMPTZ, LONGS, through_ints(pa.timestamp("us", tz="Asia/Kathmandu"), pa.int64())),
    "timestamp_ns": (TIMESTAMP_NS, LONGS, through_ints(pa.timestamp("ns"), pa.int64())),
    "timestamptz_ns": (TIMESTAMPTZ_NS, LONGS, through_ints(pa.timestamp("ns", tz="UTC"), pa.int64())),
    "string": (STRING, TEXT, plain(pa.string())),
    "large_string": (STRING, TEXT, plain(pa.large_string())),
    "string_view": (STRING, TEXT, plain(pa.string_view())),
    "binary": (BINARY, st.binary(max_size=20), plain(pa.binary())),
    "large_binary": (BINARY, st.binary(max_size=20), plain(pa.large_binary())),
    "binary_view": (BINARY, st.binary(max_size=20), plain(pa.binary_view())),
    "fixed": (FixedType(5), st.binary(min_size=5, max_size=5), plain(pa.binary(5))),
    "uuid": (UUID, st.uuids(), uuids),
    "boolean": (BOOLEAN, st.booleans(), plain(pa.bool_())),
    "double": (DOUBLE, st.floats(allow_nan=False), plain(pa.float64())),
}
TRANSFORMS: list[Transform] = [
    IDENTITY, BucketTransform(1), BucketTransform(16), BucketTransform(2**31 - 1), TruncateTransform(1),
    TruncateTransform(10), TruncateTransform(2**31 - 1), YEAR, MONTH, DAY, HOUR, VOID,
]  # fmt: skip


def scalars(transform: Transform, data_type: IcebergType, values: list[Any]) -> list[Any] | None:
    """What the scalar transform gives, None when it raises for one of the values."""
    try:
        return [transform.apply(data_type, value) for value in values]
    except InvalidInput:
        return None


def as_physical(transform: Transform, data_type: IcebergType, array: pa.Array) -> list[Any]:
    if isinstance(transform, (type(IDENTITY), type(VOID), TruncateTransform)):
        if data_type == UUID:
            return [None if v is None else uuid.UUID(bytes=v) for v in array.to_pylist()]
        if pa.types.is_temporal(array.type):
            return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64()).to_pylist()
        return array.to_pylist()
    return array.cast(pa.int32()).to_pylist()


@pytest.mark.parametrize("name", CASES)
def test_arrays_give_what_single_values_give(name: str) -> None:
    data_type, values, build = CASES[name]
    applicable = [t for t in TRANSFORMS if t.can_transform(data_type)]

    @given(st.lists(st.none() | values, max_size=12), st.sampled_from(applicable), st.integers(0, 3))
    def equal(rows: list[Any], transform: Transform, offset: int) -> None:
        array = build(rows).slice(offset)
        expected = scalars(transform, data_type, rows[offset:])
        if expected is None:
            with pytest.raises(InvalidInput, match="does not fit"):
                transform_array(transform, data_type, array)
            return
        result = transform_array(transform, data_type, array)
        result.validate(full=True)
        assert as_physical(transform, data_type, result) == expected

    equal()


@given(st.lists(st.lists(st.none() | TEXT, max_size=5), max_size=4))
def test_chunks_are_transformed_one_by_one(chunks: list[list[str | None]]) -> None:
    array = pa.chunked_array([pa.array(c, pa.string()) for c in chunks], pa.string())
    result = transform_array(BucketTransform(16), STRING, array)
    assert isinstance(result, pa.ChunkedArray)
    assert result.to_pylist() == scalars(BucketTransform(16), STRING, array.to_pylist())
    assert result.type == pa.int32()


@given(st.lists(st.none() | TEXT, max_size=10), st.sampled_from([BucketTransform(7), TruncateTransform(2), IDENTITY]))
def test_dictionaries_are_transformed_by_their_values(rows: list[str | None], transform: Transform) -> None:
    encoded = pa.array(rows, pa.string()).dictionary_encode()
    result = transform_array(transform, STRING, encoded)
    assert result.to_pylist() == scalars(transform, STRING, rows)


def test_a_dictionary_entry_that_no_row_uses_does_not_raise() -> None:
    encoded = pa.DictionaryArray.from_arrays(pa.array([1, None], pa.int8()), pa.array([-(2**31), 15], pa.int32()))
    assert transform_array(TruncateTransform(10), INT, encoded).to_pylist() == [10, None]


def test_a_null_inside_a_dictionary_stays_null() -> None:
    encoded = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), pa.array([None, "ab"]))
    assert transform_array(TruncateTransform(1), STRING, encoded).to_pylist() == ["a", None]


def test_what_lies_under_a_null_does_not_raise() -> None:
    hidden = pa.Array.from_buffers(pa.int32(), 2, [pa.py_buffer(b"\x02"), pa.py_buffer(np.array([-(2**31), 5], "<i4"))])
    assert transform_array(TruncateTransform(10), INT, hidden).to_pylist() == [None, 0]


def test_uuid_extension_arrays_are_read_through_their_storage() -> None:
    value = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
    array = pa.array([value.bytes], pa.binary(16)).cast(pa.uuid())
    assert transform_array(BucketTransform(100), UUID, array).to_pylist() == [BucketTransform(100).apply(UUID, value)]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=str)
def test_null_arrays_and_empty_arrays_are_taken(transform: Transform) -> None:
    for data_type in (INT, STRING, TIMESTAMP):
        if transform.can_transform(data_type):
            assert transform_array(transform, data_type, pa.nulls(2)).to_pylist() == [None, None]
            assert len(transform_array(transform, data_type, pa.nulls(0))) == 0
            assert len(transform_array(transform, data_type, pa.chunked_array([], pa.null()))) == 0


def test_other_units_are_brought_to_the_unit_of_the_type() -> None:
    for unit in ("s", "ms", "ns"):
        array = pa.array([-1, 0, 10**12], pa.int64()).view(pa.timestamp(unit))
        per_second = {"s": 1, "ms": 10**3, "ns": 10**9}[unit]
        expected = [DAY.apply(TIMESTAMP, v * 10**6 // per_second) for v in (-1, 0, 10**12)]
        assert transform_array(DAY, TIMESTAMP, array).cast(pa.int32()).to_pylist() == expected
    with pytest.raises(InvalidInput, match="outside the range"):
        transform_array(DAY, TIMESTAMP_NS, pa.array([2**62]).view(pa.timestamp("s")))


@pytest.mark.parametrize(
    ("transform", "data_type", "array"),
    [
        (BucketTransform(4), INT, pa.array(["a"])),
        (BucketTransform(4), STRING, pa.array([1])),
        (DAY, TIMESTAMP, pa.array([1])),
        (HOUR, TIMESTAMP, pa.array([1]).cast(pa.time64("us"))),
        (BucketTransform(4), DecimalType(9, 2), pa.array([Decimal("1.234")])),
        (BucketTransform(4), DOUBLE, pa.array([1.0])),
    ],
)
def test_an_array_of_another_type_is_refused(transform: Transform, data_type: IcebergType, array: pa.Array) -> None:
    with pytest.raises(InvalidInput):
        transform_array(transform, data_type, array)


def test_a_transform_that_is_not_known_is_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="zorder"):
        transform_array(UnknownTransform("zorder"), INT, pa.array([1]))


def test_hashes_of_many_longs_equal_the_oracle_over_slices() -> None:
    values = np.random.default_rng(26).integers(-(2**63), 2**63 - 1, 40_000)
    sample = slice(16_000, 17_000)
    expected = [mmh3.hash(int(v).to_bytes(8, "little", signed=True), signed=False) for v in values[sample]]
    assert hash_longs(values)[sample].tolist() == expected


@given(st.lists(st.binary(max_size=40) | st.binary(min_size=1020, max_size=1030), max_size=20))
def test_hashes_of_bytes_of_any_length_equal_the_oracle(rows: list[bytes]) -> None:
    data = np.frombuffer(b"".join(rows), dtype=np.uint8)
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    assert hash_slices(data, starts, lengths).tolist() == [mmh3.hash(row, signed=False) for row in rows]


@pytest.mark.parametrize("number", [-(2**63), -(2**63) + 3, -(2**63) - 1, 2**63 - 1, 2**63])
def test_wide_decimals_at_the_edge_of_64_bits_do_not_wrap(number: int) -> None:
    value = Decimal(number)
    array = pa.array([value, None], pa.decimal128(38, 0))
    expected = [TruncateTransform(10).apply(DecimalType(38, 0), value), None]
    assert transform_array(TruncateTransform(10), DecimalType(38, 0), array).to_pylist() == expected
