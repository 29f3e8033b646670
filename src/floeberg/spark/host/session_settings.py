"""Settings of a session that decide what SQL text means."""

from __future__ import annotations

from typing import Any, Final

_FLAGS: Final = ("true", "false")
QUOTED_PATTERNS: Final = "spark.sql.parser.quotedRegexColumnNames"


def setting_of(spark: Any, key: str, default: str) -> str:
    """A setting as text; `TRUE` and `False` are what `true` and `false` are, as for Spark."""
    value = spark.conf.get(key, default)
    text = default if value is None else str(value)
    return text.lower() if text.lower() in _FLAGS else text


def double_quoted_identifiers(spark: Any) -> bool:
    """Whether `"x"` is a name in SQL text, and not a string: Spark heeds the setting in ANSI mode alone."""
    asked = setting_of(spark, "spark.sql.ansi.doubleQuotedIdentifiers", "false") == "true"
    return asked and setting_of(spark, "spark.sql.ansi.enabled", "true") == "true"


def quoted_patterns(spark: Any) -> bool:
    """Whether a name between backquotes is a pattern of names in a list of columns."""
    return setting_of(spark, QUOTED_PATTERNS, "false") == "true"
