"""Theta sketches: the bytes of Apache DataSketches, and estimates within its error."""

from __future__ import annotations

import random

import mmh3
import numpy as np
import pyarrow as pa
import pytest

from floeberg.arrow.columns.murmur3_128 import distinct_hashes
from floeberg.errors import PuffinCorrupt
from floeberg.files.theta_sketch import (
    DEFAULT_SEED,
    MAX_THETA,
    NOMINAL_ENTRIES,
    ThetaSketch,
    read_sketch,
    sketch_of,
    union,
    write_sketch,
)
from floeberg.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
)
from floeberg.spec.values.single_value import to_bytes


def of_texts(*texts: str) -> ThetaSketch:
    return sketch_of([distinct_hashes(pa.array(texts, pa.string()), StringType(), seed=DEFAULT_SEED)])


def of_numbers(start: int, end: int) -> ThetaSketch:
    numbers = pa.array(np.arange(start, end), pa.int64())
    return sketch_of([distinct_hashes(numbers, LongType(), seed=DEFAULT_SEED)])


def test_hashes_are_those_of_murmur3_for_values_of_any_length() -> None:
    rng = random.Random(7)
    values = [rng.randbytes(rng.randrange(70)) for _ in range(3000)]
    found = distinct_hashes(pa.array(values, pa.binary()), BinaryType(), seed=DEFAULT_SEED)
    expected = {mmh3.hash64(value, DEFAULT_SEED, signed=False)[0] >> 1 for value in values if value}
    assert sorted(int(one) for one in found) == sorted(expected)


@pytest.mark.parametrize(
    ("kind", "array", "physical"),
    [
        (IntegerType(), pa.array([1, -5, None, 1], pa.int32()), [1, -5]),
        (LongType(), pa.array([1, -5, None], pa.int64()), [1, -5]),
        (BooleanType(), pa.array([True, False, None]), [True, False]),
        (DoubleType(), pa.array([1.5, -2.0], pa.float64()), [1.5, -2.0]),
        (DateType(), pa.array([3, 4], pa.int32()).view(pa.date32()), [3, 4]),
        (TimestampType(), pa.array([7, 8], pa.int64()).view(pa.timestamp("us")), [7, 8]),
        (FixedType(3), pa.array([b"abc", b"abd"], pa.binary(3)), [b"abc", b"abd"]),
        (StringType(), pa.array(["", "ä", None, "b"]), ["ä", "b"]),
        (StringType(), pa.array(["x", "ä", None, "b"]).slice(1), ["ä", "b"]),
    ],
    ids=str,
)
def test_values_are_hashed_in_their_single_value_serialization(
    kind: IcebergType, array: pa.Array, physical: list[object]
) -> None:
    found = distinct_hashes(array, kind, seed=DEFAULT_SEED)
    expected = [mmh3.hash64(to_bytes(kind, one), DEFAULT_SEED, signed=False)[0] >> 1 for one in physical]
    assert sorted(int(one) for one in found) == sorted(expected)


def test_decimals_are_hashed_by_their_unscaled_bytes() -> None:
    kind = DecimalType(9, 2)
    array = pa.array(["1.50", "-300.00", None]).cast(pa.decimal128(9, 2))
    expected = [mmh3.hash64(one, DEFAULT_SEED, signed=False)[0] >> 1 for one in (b"\x00\x96", b"\x8a\xd0")]
    assert sorted(int(one) for one in distinct_hashes(array, kind, seed=DEFAULT_SEED)) == sorted(expected)


def test_few_values_are_counted_exactly_and_many_within_the_error() -> None:
    assert ThetaSketch().estimate == 0
    assert of_numbers(0, NOMINAL_ENTRIES).estimate == NOMINAL_ENTRIES
    for count in (5_000, 100_000):
        assert abs(of_numbers(0, count).estimate / count - 1) < 0.05


def test_a_union_counts_values_once_in_any_order() -> None:
    parts = [of_numbers(start, start + 3000) for start in range(0, 20_000, 1500)]
    whole = of_numbers(0, 19_500 + 3000)
    for some in (parts, parts[::-1]):
        together = union(some)
        assert together.theta <= whole.theta
        assert abs(together.estimate / (18_000 + 3000 + 1500) - 1) < 0.06
    assert (union([of_numbers(0, 9), of_numbers(5, 12)]).estimate, union([]).estimate) == (12, 0)


def test_the_bytes_are_those_of_the_library() -> None:
    """Made by the C++ library; the flag of a single value is Java's."""
    assert write_sketch(ThetaSketch()).hex() == "01030300001ecc93"
    assert write_sketch(of_texts("v0")).hex() == "01030300003acc93ad50444f08f3f163"
    assert read_sketch(bytes.fromhex("01030300001acc93ad50444f08f3f163")).estimate == 1


@pytest.mark.parametrize("count", [0, 1, 2, 4096, 4097, 20_000])
def test_a_sketch_is_read_as_it_was_written(count: int) -> None:
    sketch = of_numbers(0, count)
    back = read_sketch(write_sketch(sketch))
    assert back.theta == sketch.theta
    assert (back.theta == MAX_THETA) == (count <= 4096)
    assert back.hashes.tolist() == sketch.hashes.tolist()


@pytest.mark.parametrize(
    "data", [b"", b"\x01" * 8, write_sketch(ThetaSketch())[:5], write_sketch(of_texts("a", "b"))[:-1], bytes(24)]
)
def test_what_is_no_sketch_is_refused(data: bytes) -> None:
    with pytest.raises(PuffinCorrupt):
        read_sketch(data)
