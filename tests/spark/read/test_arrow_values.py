"""Arrow arrays in the forms that Spark takes, nulls and slices and all."""

from __future__ import annotations

import uuid

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from floeberg.arrow.columns.types import arrow_schema
from floeberg.spark.host.types.spark_types import frame_schema
from floeberg.spark.workers.arrow_values import spark_arrow_schema, to_spark, uuid_text
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    TIME,
    TIMESTAMP_NS,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    UUID,
    VARIANT,
    FixedType,
    ListType,
    NestedField,
    StructType,
)


@given(st.lists(st.none() | st.uuids(), max_size=20), st.integers(0, 5))
def test_uuids_become_their_text(values: list[uuid.UUID | None], skipped: int) -> None:
    array = pa.array([None if value is None else value.bytes for value in values], pa.binary(16)).slice(skipped)
    assert uuid_text(array).to_pylist() == [None if value is None else str(value) for value in values[skipped:]]


@given(st.lists(st.none() | st.integers(-(2**62), 2**62), min_size=1, max_size=20))
def test_nanoseconds_are_cut_to_the_microsecond_they_are_in(values: list[int | None]) -> None:
    schema = Schema(NestedField(1, "n", TIMESTAMP_NS), NestedField(2, "z", TIMESTAMPTZ_NS))
    arrays = [pa.array(values, pa.int64()).view(field.type) for field in arrow_schema(schema)]
    found = to_spark(
        pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema)), schema, spark_arrow_schema(schema)
    )
    expected = [None if value is None else value // 1000 for value in values]
    for column in found.columns:
        assert column.cast(pa.int64()).to_pylist() == expected


def test_types_that_spark_lacks_are_changed_at_every_depth() -> None:
    inside = StructType((NestedField(3, "u", UUID, required=True), NestedField(4, "t", TIME)))
    schema = Schema(
        NestedField(1, "l", ListType(2, inside)),
        NestedField(5, "f", FixedType(2)),
        NestedField(6, "v", VARIANT),
        NestedField(7, "n", UNKNOWN),
    )
    one = uuid.UUID(int=1)
    rows = [
        {
            "l": [{"u": one.bytes, "t": 5}, None],
            "f": b"ab",
            "v": {"metadata": b"\x01\x00\x00", "value": b"\x0c\x05"},
            "n": None,
        },
        {"l": None, "f": None, "v": None, "n": None},
    ]
    arrow = arrow_schema(schema)
    arrays = [pa.array([row[field.name] for row in rows], field.type) for field in arrow]
    found = to_spark(pa.RecordBatch.from_arrays(arrays, schema=arrow), schema, spark_arrow_schema(schema))
    assert found.to_pylist() == [
        {
            "l": [{"u": str(one), "t": 5}, None],
            "f": b"ab",
            "v": {"value": b"\x0c\x05", "metadata": b"\x01\x00\x00"},
            "n": None,
        },
        {"l": None, "f": None, "v": None, "n": None},
    ]
    assert frame_schema(schema).simpleString() == "struct<l:array<struct<u:string,t:bigint>>,f:binary,v:variant,n:void>"
