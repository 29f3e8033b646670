"""Whether the names of functions mean Spark's own: up to Spark 4.1 a temporary function of the session replaces a built-in one,
also in expressions that users do not see."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pyspark.errors import AnalysisException

from floeberg.spark.host.calls.gateway import function_class
from floeberg.spark.host.calls.originals import spark_sql

_BUILT_IN: Final = "org.apache.spark.sql.catalyst.expressions."


def is_sparks_own(spark: Any, function: str) -> bool:
    """Whether an unqualified name means Spark's built-in function."""
    known = function_class(spark, function)
    if known is not None:
        return known.startswith(_BUILT_IN)
    try:
        rows = spark_sql(spark, f"DESCRIBE FUNCTION {function}").collect()
    except AnalysisException:
        return False
    return any(str(row[0]).startswith(f"Class: {_BUILT_IN}") for row in rows)


def is_temporary_function(spark: Any, function: str) -> bool:
    """Whether a classic session knows an unqualified name for a function that is not built in."""
    known = function_class(spark, function)
    return known is not None and not known.startswith(_BUILT_IN)


def replaced(spark: Any, functions: Iterable[str]) -> list[str]:
    """Those of Spark's functions that mean others in this session."""
    if tuple(map(int, spark.version.split(".")[:2])) > (4, 1):
        return []
    return [function for function in functions if not is_sparks_own(spark, function)]
