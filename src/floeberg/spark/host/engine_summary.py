"""What snapshots say of the engine that made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def engine_summary(spark: SparkSession) -> dict[str, str]:
    """The engine's entries of a snapshot's summary, as the other engines write them."""
    return {"engine-name": "spark", "engine-version": str(spark.version)}
