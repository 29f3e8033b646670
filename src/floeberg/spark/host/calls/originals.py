"""PySpark's own methods, which attach replaced by ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from floeberg.spark.host.settings.changed_settings import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORIGINALS: Final[dict[tuple[type, str], Any]] = {}


def original(target: object, name: str) -> Any:
    """A method or property of an object as PySpark has it."""
    for kind in type(target).__mro__:
        found = ORIGINALS.get((kind, name))
        if isinstance(found, property):
            assert found.fget is not None
            return found.fget(target)
        if found is not None:
            return found.__get__(target)
    return getattr(target, name)


def spark_sql(
    spark: SparkSession, text: str, args: Mapping[str, Any] | Sequence[Any] | None = None, **kwargs: Any
) -> DataFrame:
    """PySpark's own `spark.sql`."""
    with SETTINGS.resolving():
        frame: DataFrame = original(spark, "sql")(text, args, **kwargs)
    return frame
