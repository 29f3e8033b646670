"""Names of columns that SQL text cannot tell from something else under the session's settings."""

from __future__ import annotations

import re
from typing import Any, Final

from floeberg.errors import UnsupportedFeature
from floeberg.spark.host.session_settings import QUOTED_PATTERNS, quoted_patterns, setting_of
from floeberg.spec.schemas.schema import Schema
from floeberg.sql.text.lexer import words

_NO_PATTERN: Final = re.compile(r"\w+")
_RESERVED_KEYWORDS: Final = "spark.sql.ansi.enforceReservedKeywords"
_FUNCTIONS: Final = words("CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER SESSION_USER USER")
"""Functions without parentheses. Where keywords are reserved, the bare word is the function; else it is the column, if there is
one."""


def refuse_ambiguous_names(spark: Any, schema: Schema, table: str) -> None:
    """Raises UnsupportedFeature for a column whose name Spark would take for a pattern of names, or for a function."""
    patterns = [field.name for field in schema.fields if not _NO_PATTERN.fullmatch(field.name)]
    if patterns and quoted_patterns(spark):
        raise UnsupportedFeature(
            f"table {table}: while {QUOTED_PATTERNS} is true, the name of column {patterns[0]!r} is a pattern of names; set it "
            "to false, or rename the column"
        )
    functions = [field.name for field in schema.fields if field.name.upper() in _FUNCTIONS]
    if functions and _reserves_keywords(spark):
        raise UnsupportedFeature(
            f"table {table}: while {_RESERVED_KEYWORDS} is true, the name of column {functions[0]!r} is a function; set it to "
            "false, or rename the column"
        )


def _reserves_keywords(spark: Any) -> bool:
    """Spark heeds the setting in ANSI mode alone."""
    return (
        setting_of(spark, _RESERVED_KEYWORDS, "false") == "true"
        and setting_of(spark, "spark.sql.ansi.enabled", "true") == "true"
    )
