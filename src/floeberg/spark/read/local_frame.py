"""Rows that this process holds, as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from floeberg.spark.host.types.exact_types import exact_frame_schema
from floeberg.spark.host.types.spark_types import frame_schema
from floeberg.spark.workers.arrow_values import spark_arrow_schema, to_spark
from floeberg.spec.schemas.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def local_frame(spark: Any, batches: Iterable[pa.RecordBatch], columns: Schema, *, exact: bool = False) -> DataFrame:
    """A DataFrame of batches that Spark takes (see `spark_arrow_schema`), in the types that the columns have on Spark;
    `exact` keeps nanoseconds.

    Empty batches are left out: PySpark takes the first one for the end of the rows. It fails on columns that have no
    batch at all, so there is always one.
    """
    schema = spark_arrow_schema(columns, exact=exact)
    rows = [batch for batch in batches if batch.num_rows]
    empty = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
    table = pa.Table.from_batches(rows or [empty], schema=schema)
    frame: DataFrame = spark.createDataFrame(
        table, exact_frame_schema(columns.fields) if exact else frame_schema(columns)
    )
    return frame


def arrow_local_frame(
    spark: Any, batches: Iterable[pa.RecordBatch], columns: Schema, *, exact: bool = False
) -> DataFrame:
    """The same of batches in the Arrow types of the columns."""
    schema = spark_arrow_schema(columns, exact=exact)
    return local_frame(
        spark, (to_spark(batch, columns, schema, exact=exact) for batch in batches), columns, exact=exact
    )
