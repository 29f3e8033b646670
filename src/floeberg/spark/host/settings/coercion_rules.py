"""What a session's settings say of comparing values of different types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypedDict

from floeberg.spark.host.settings.session_settings import CASE_SENSITIVE

Setting: TypeAlias = Callable[[str, str], str]
"""A setting of a session by its name, or a default."""


class CoercionRules(TypedDict):
    """The arguments of `to_expression` and `to_exact_expression` that are settings."""

    ansi: bool
    session_time_zone: str
    case_sensitive: bool
    timestamp_ntz: bool
    datetimes_as_text: bool


def coercion_rules(setting: Setting) -> CoercionRules:
    """The rules of a session, as they are now."""
    ansi = setting("spark.sql.ansi.enabled", "true") == "true"
    legacy = setting("spark.sql.legacy.typeCoercion.datetimeToString.enabled", "false") == "true"
    return {
        "ansi": ansi,
        "session_time_zone": setting("spark.sql.session.timeZone", "UTC"),
        "case_sensitive": setting(CASE_SENSITIVE, "false") == "true",
        "timestamp_ntz": setting("spark.sql.timestampType", "TIMESTAMP_LTZ") == "TIMESTAMP_NTZ",
        "datetimes_as_text": legacy and not ansi,
    }
