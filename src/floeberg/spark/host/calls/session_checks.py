"""Checks that a Spark session can be attached: not stopped, and new enough."""

from __future__ import annotations

import re
from typing import Any, Final

from floeberg.errors import InvalidInput, UnsupportedFeature

_OLDEST: Final = (4, 1)
_HOLDERS: Final = ("sparkSession", "_sparkSession", "_spark", "_session", "_client")
"""Where PySpark's objects keep their session."""


def is_stopped(spark: Any) -> bool:
    """Whether the session was stopped: by the context of a classic session, by the client over Connect."""
    found = getattr(spark, "is_stopped", None)
    if isinstance(found, bool):
        return found
    context = vars(spark).get("_sc")
    return context is not None and getattr(context, "_jsc", context) is None


def session_behind(target: Any) -> Any | None:
    """The session of a PySpark object: itself, or the one that it was made with."""
    if hasattr(type(target), "newSession"):
        return target
    own = getattr(target, "__dict__", {})
    holder = next((name for name in _HOLDERS if name in own or name in vars(type(target))), None)
    found = None if holder is None else getattr(target, holder)
    found = getattr(found, "spark", found)  # our writers keep an attached session
    return found if hasattr(type(found), "newSession") else None


def stopped_session() -> InvalidInput:
    return InvalidInput(
        "this Spark session is stopped; make another with SparkSession.builder.getOrCreate() and call "
        "floeberg.attach(spark, …) for it"
    )


def check_session(spark: Any) -> None:
    """Raises InvalidInput for what is no session or a stopped one, UnsupportedFeature for a Spark that is too old."""
    if not hasattr(type(spark), "newSession"):
        raise InvalidInput(f"attach takes a SparkSession, not {type(spark).__name__}")
    if is_stopped(spark):
        raise stopped_session()
    version = str(spark.version)
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < _OLDEST:
        raise UnsupportedFeature(f"the session is of Spark {version}; floeberg needs Spark 4.1 or later")
