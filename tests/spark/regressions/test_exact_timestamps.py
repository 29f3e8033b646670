"""Timestamps of nanoseconds on their way to Spark and back."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pytest

from floeberg.errors import InvalidInput
from floeberg.spark.workers.arrow_values import from_spark, spark_arrow_schema, to_spark
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import ListType, NestedField, TimestampNsType, TimestamptzNsType

SCHEMA: Final = Schema(NestedField(1, "c", TimestampNsType()), NestedField(2, "l", ListType(3, TimestamptzNsType())))
VALUES: Final = [-(2**63), -(2**63) + 1, -1001, -1000, -999, -1, 0, 1, 999, 1000, 2**63 - 1, None]


def test_every_timestamp_comes_back_as_it_was() -> None:
    numbers = pa.array(VALUES, pa.int64())
    lists = pa.ListArray.from_arrays(pa.array(range(13), pa.int32()), numbers.view(pa.timestamp("ns", tz="UTC")))
    given = pa.RecordBatch.from_arrays([numbers.view(pa.timestamp("ns")), lists], names=["c", "l"])
    sent = to_spark(given, SCHEMA, spark_arrow_schema(SCHEMA, exact=True), exact=True)
    for start, end in ((0, 12), (3, 8)):
        found = from_spark(sent.slice(start, end - start), SCHEMA)
        assert found.column(0).view(pa.int64()).to_pylist() == VALUES[start:end]
        assert [each[0].value for each in found.column(1)] == VALUES[start:end]


def test_a_timestamp_that_nanoseconds_do_not_reach_is_refused() -> None:
    kind = spark_arrow_schema(SCHEMA, exact=True).field(0).type
    beyond = pa.array([{"microsecond": 2**62, "nanosecond": 0}], kind)
    with pytest.raises(InvalidInput, match="1677-09-21 to 2262-04-11"):
        from_spark(pa.RecordBatch.from_arrays([beyond], names=["c"]), SCHEMA)
