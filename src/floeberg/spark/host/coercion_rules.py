"""What a session's settings say of comparing values of different types."""

from __future__ import annotations

from typing import Any, TypedDict

from floeberg.spark.host.session_settings import CASE_SENSITIVE, setting_of


class CoercionRules(TypedDict):
    """The arguments of `to_expression` and `to_exact_expression` that are settings."""

    ansi: bool
    session_time_zone: str
    case_sensitive: bool
    timestamp_ntz: bool
    datetimes_as_text: bool


def coercion_rules(spark: Any) -> CoercionRules:
    """The rules of a session, as they are now."""
    ansi = setting_of(spark, "spark.sql.ansi.enabled", "true") == "true"
    legacy = setting_of(spark, "spark.sql.legacy.typeCoercion.datetimeToString.enabled", "false") == "true"
    return {
        "ansi": ansi,
        "session_time_zone": setting_of(spark, "spark.sql.session.timeZone", "UTC"),
        "case_sensitive": setting_of(spark, CASE_SENSITIVE, "false") == "true",
        "timestamp_ntz": setting_of(spark, "spark.sql.timestampType", "TIMESTAMP_LTZ") == "TIMESTAMP_NTZ",
        "datetimes_as_text": legacy and not ansi,
    }
