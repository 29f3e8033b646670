"""The engine's entries in snapshot summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def engine_summary(spark: SparkSession) -> dict[str, str]:
    """The engine's entries of a snapshot's summary, as the other engines write them."""
    return {"engine-name": "spark", "engine-version": str(spark.version)}
