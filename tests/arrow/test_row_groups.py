"""Footer statistics as values of the column's type: rounded outwards, and nothing where they prove nothing."""

from __future__ import annotations

import io
import math
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floeberg.arrow.formats.file_schema import file_fields
from floeberg.arrow.formats.row_groups import ChunkStatistics, chunk_statistics, row_group_filter
from floeberg.expr.bind import bind
from floeberg.expr.nodes import TRUE
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    IcebergType,
    ListType,
    NestedField,
    StructType,
)
from floeberg.sql.conditions.filters import parse_where


def statistics(array: pa.Array, target: IcebergType, **options: Any) -> ChunkStatistics:
    sink = io.BytesIO()
    pq.write_table(pa.table({"c": array}), sink, **options)
    file = pq.ParquetFile(io.BytesIO(sink.getvalue()))
    return chunk_statistics(file.metadata.row_group(0), file_fields(file.schema_arrow, location="f")[0], target)


@pytest.mark.parametrize(
    ("array", "target", "lower", "upper"),
    [
        (pa.array([1001, 5999], pa.timestamp("ns")), TIMESTAMP, 1, 6),
        (pa.array([-1001], pa.timestamp("ns")), TIMESTAMP, -2, -1),
        (pa.array([3], pa.timestamp("ms")), TIMESTAMP_NS, 3_000_000, 3_000_000),
        (pa.array([1, 7], pa.int32()), LONG, 1, 7),
        (pa.array([1, 7], pa.uint32()), LONG, None, None),
        (pa.array(["a", "b"]), STRING, "a", "b"),
        (pa.array([5], pa.date32()), DATE, 5, 5),
        (pa.array([5], pa.date32()), TIMESTAMP, None, None),
    ],
)
def test_statistics_are_bounds_of_the_type_they_are_read_as(
    array: pa.Array, target: IcebergType, lower: object, upper: object
) -> None:
    found = statistics(array, target)
    assert (found.lower, found.upper, found.null_count) == (lower, upper, 0)


def test_a_zero_stands_for_both_and_nan_for_nothing() -> None:
    found = statistics(pa.array([0.0]), DOUBLE)
    assert (math.copysign(1, found.lower), math.copysign(1, found.upper)) == (-1, 1)
    assert statistics(pa.array([float("nan")]), DOUBLE).lower is None


def test_without_statistics_only_the_rows_are_counted() -> None:
    found = statistics(pa.array([1, None]), INT, write_statistics=False)
    assert found == ChunkStatistics(value_count=2)


NESTED = Schema(
    NestedField(1, "s", StructType((NestedField(2, "x", LONG),))), NestedField(3, "l", ListType(4, LONG)), NestedField(5, "new", LONG)
)  # fmt: skip


def test_row_groups_are_skipped_by_struct_members_and_never_by_columns_that_are_not_there() -> None:
    ids = {b"PARQUET:field_id": b"2"}
    struct = pa.struct([pa.field("x", pa.int64(), metadata=ids)])
    schema = pa.schema([pa.field("s", struct, metadata={b"PARQUET:field_id": b"1"})])
    sink = io.BytesIO()
    pq.write_table(pa.table([pa.array([{"x": 1}, {"x": 5}], struct)], schema=schema), sink)
    file = pq.ParquetFile(io.BytesIO(sink.getvalue()))
    fields = file_fields(file.schema_arrow, location="f")
    group = file.metadata.row_group(0)

    def may_match(where: str) -> bool:
        test = row_group_filter(bind(parse_where(where), NESTED), NESTED)
        assert test is not None
        return test(group, fields)

    assert not may_match("s.x > 5")
    assert not may_match("s.x IS NULL")
    assert may_match("s.x = 5")
    assert may_match("new = 3")
    assert may_match("new IS NOT NULL")
    assert row_group_filter(TRUE, NESTED) is None
