"""Results of statements as DataFrames, shaped as Spark shapes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as st

from floeberg.arrow.columns.types import arrow_schema
from floeberg.spark.host.calls.originals import spark_sql
from floeberg.sql.ddl.types import schema_from_ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def nothing(spark: SparkSession) -> DataFrame:
    """The result of a statement without rows."""
    return spark_sql(spark, "SELECT 1 AS nothing LIMIT 0").drop("nothing")


def rows(spark: SparkSession, schema: str, values: Sequence[Sequence[Any]]) -> DataFrame:
    """Rows under a schema given as Spark DDL. They go to Spark as Arrow, which needs no job and no Python worker."""
    fields = st.StructType.fromDDL(schema)
    columns = list(zip(*values, strict=True)) if values else [()] * len(fields)
    arrow = arrow_schema(schema_from_ddl(schema))
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, arrow, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, names=fields.names), fields)


def like(pattern: str | None, names: Sequence[str]) -> list[str]:
    """The names that match a pattern of SHOW … LIKE: `*` for anything, `|` between alternatives, case-insensitive."""
    if pattern is None:
        return list(names)
    return [name for name in names if any(_matches(one.strip(), name) for one in pattern.split("|"))]


def _matches(pattern: str, name: str) -> bool:
    """Whether a name is the pattern's texts in their order, with anything where a `*` stands."""
    first, *others = pattern.lower().split("*")
    lowered = name.lower()
    if not others:
        return lowered == first
    last = others.pop()
    if not lowered.startswith(first):
        return False
    at = len(first)
    for text in others:
        found = lowered.find(text, at)
        if found < 0:
            return False
        at = found + len(text)
    return len(lowered) - at >= len(last) and lowered.endswith(last)
