"""The engine's entries in snapshot summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from floeberg.spark.host.settings.session_settings import setting_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APPLICATION_ID: Final = "spark.app.id"


def engine_summary(spark: SparkSession) -> dict[str, str]:
    """The engine's entries of a snapshot's summary, as the other engines write them."""
    summary = {"engine-name": "spark", "engine-version": str(spark.version)}
    application = setting_of(spark, APPLICATION_ID, "")
    return {**summary, APPLICATION_ID: application} if application else summary
