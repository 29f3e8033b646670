"""Settings of a session that decide what SQL text means."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from floeberg.spark.host.settings.changed_settings import SETTINGS

_FLAGS: Final = ("true", "false")
QUOTED_PATTERNS: Final = "spark.sql.parser.quotedRegexColumnNames"
CASE_SENSITIVE: Final = "spark.sql.caseSensitive"


@dataclass(slots=True)
class _Read:
    """The settings of a session that a statement has read so far."""

    spark: Any
    values: dict[tuple[str, str], str] = field(default_factory=dict)


_READ: Final[ContextVar[_Read | None]] = ContextVar("settings of the statement", default=None)


@contextmanager
def settings_read_once(spark: Any) -> Iterator[None]:
    """Reads each setting of the session once within: a statement has many references, and each read is a call of the JVM or
    of a server."""
    known = _READ.get()
    if known is not None and known.spark is spark:
        yield
        return
    token = _READ.set(_Read(spark))
    try:
        yield
    finally:
        _READ.reset(token)


def forget_settings() -> None:
    """Called when a setting changes: the statement reads all of them again."""
    known = _READ.get()
    if known is not None:
        known.values.clear()


def setting_of(spark: Any, key: str, default: str) -> str:
    """A setting as text; `TRUE` and `False` are what `true` and `false` are, as for Spark."""
    known = _READ.get()
    if known is None or known.spark is not spark:
        return _setting(spark, key, default)
    found = known.values.get((key, default))
    if found is None:
        found = known.values[key, default] = _setting(spark, key, default)
    return found


def _setting(spark: Any, key: str, default: str) -> str:
    with SETTINGS.resolving():
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
