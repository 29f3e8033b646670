"""Names of columns that SQL text cannot tell from something else under the session's settings."""

from __future__ import annotations

import re
from typing import Any, Final

from floeberg.errors import UnsupportedFeature
from floeberg.spark.host.settings.session_settings import QUOTED_PATTERNS, quoted_patterns, setting_of
from floeberg.spec.schemas.schema import Schema
from floeberg.sql.text.lexer import Kind, tokenize, words

_NO_PATTERN: Final = re.compile(r"\w+")
_RESERVED_KEYWORDS: Final = "spark.sql.ansi.enforceReservedKeywords"
_FUNCTIONS: Final = words("CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER SESSION_USER USER")
"""Functions without parentheses. Where keywords are reserved, the bare word is the function; else it is the column, if there is
one."""


def refuse_patterns(spark: Any, schema: Schema, table: str) -> None:
    """Raises UnsupportedFeature for a name that Spark would take for a pattern of names."""
    names = [field.name for field in schema.fields if not _NO_PATTERN.fullmatch(field.name)]
    if names and quoted_patterns(spark):
        raise UnsupportedFeature(
            f"table {table}: while {QUOTED_PATTERNS} is true, the name of column {names[0]!r} is a pattern of names; set it "
            "to false, or rename the column"
        )


def refuse_functions(spark: Any, schema: Schema, table: str, *, sql: str) -> None:
    """Raises UnsupportedFeature where a bare word of SQL text is a function to Spark, and a column of the table has its
    name."""
    names = _functions(spark, schema)
    bare = _bare_words(sql) if names else frozenset()
    found = [name for name in names if name.upper() in bare]
    if found:
        raise UnsupportedFeature(
            f"table {table}: while {_RESERVED_KEYWORDS} is true, the bare word {found[0]!r} is a function, not the column; "
            "write the column between backquotes, or set it to false to call the function"
        )


def _bare_words(sql: str) -> frozenset[str]:
    """The words in upper case, but for later parts of names."""
    tokens = tokenize(sql)
    return frozenset(
        token.upper
        for before, token in zip([None, *tokens], tokens, strict=False)
        if token.kind is Kind.WORD and (before is None or sql[before.start : before.end] != ".")
    )


def has_functions(spark: Any, schema: Schema) -> bool:
    """Whether a condition may name a function that a column of the table has the name of."""
    return bool(_functions(spark, schema))


def _functions(spark: Any, schema: Schema) -> list[str]:
    names = [field.name for field in schema.fields if field.name.upper() in _FUNCTIONS]
    return names if names and _reserves_keywords(spark) else []


def _reserves_keywords(spark: Any) -> bool:
    """Spark heeds the setting in ANSI mode alone."""
    return (
        setting_of(spark, _RESERVED_KEYWORDS, "false") == "true"
        and setting_of(spark, "spark.sql.ansi.enabled", "true") == "true"
    )
