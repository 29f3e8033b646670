"""Settings that a temporary view keeps: its text means under them what it meant when the view was made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from floeberg.errors import UnsupportedFeature
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.settings.changed_settings import SETTINGS
from floeberg.spark.host.views import ViewScope

_KEPT: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
"""The settings by which Spark reads and resolves a text, with their defaults."""
_OF_CHARACTER: Final = {
    "spark.sql.ansi.doubleQuotedIdentifiers": '"',
    "spark.sql.parser.escapedStringLiterals": "\\",
}
"""Those that matter only to a text with this character."""
ANY_TEXT: Final = "".join(_OF_CHARACTER.values())
"""A text to which all of them may matter."""

Settings: TypeAlias = tuple[tuple[str, str], ...]


def settings_now(session: AttachedSession, text: str) -> Settings:
    """The settings that a view of this text keeps."""
    return tuple(
        (key, session.setting(key, default)) for key, default in _KEPT.items() if _OF_CHARACTER.get(key, "") in text
    )


def other_settings(session: AttachedSession, scope: ViewScope | None) -> Settings:
    """Those settings of a view that the session has another value for."""
    return () if scope is None else changed_settings(session, scope.settings)


def changed_settings(session: AttachedSession, settings: Settings) -> Settings:
    """Those settings that the session has another value for."""
    return tuple((key, value) for key, value in settings if session.setting(key, _KEPT[key]) != value)


@contextmanager
def under(session: AttachedSession, settings: Settings) -> Iterator[None]:
    """Gives the session these settings while a text is resolved; other threads wait. Raises UnsupportedFeature over Spark
    Connect, which resolves it later."""
    if not settings:
        yield
        return
    if type(session.spark).__module__.startswith("pyspark.sql.connect."):
        listed = ", ".join(f"{key}={value}" for key, value in settings)
        raise UnsupportedFeature(
            f"a temporary view was made under {listed}, and over Spark Connect it can only be read under the same settings; "
            "set them, or make the view again"
        )
    conf = session.spark.conf
    with SETTINGS.changing():
        before = {key: conf.get(key, _KEPT[key]) for key, _ in settings}
        try:
            for key, value in settings:
                conf.set(key, value)
            yield
        finally:
            for key, given in before.items():
                conf.set(key, given)
