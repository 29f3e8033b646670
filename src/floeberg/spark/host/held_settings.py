"""Settings of a session that one piece of work needs, and that come back after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final


@dataclass(slots=True)
class _Held:
    """How many hold a setting at this time, and what it was before the first of them."""

    holders: int
    before: str | None


SESSION_MARK: Final = "floeberg.session"
"""The setting by which an attached session is told: it has several Python objects."""

_lock: Final = Lock()
_held: Final[dict[tuple[str, str], _Held]] = {}


@contextmanager
def held_setting(spark: Any, name: str, value: str) -> Iterator[None]:
    """Sets a setting of the session, always to this value. The session's own comes back when the last of those that hold it
    at one time is done: if each put back what it found, one that began later would put back the other's."""
    key = (spark.conf.get(SESSION_MARK, None) or f"object {id(spark)}", name)
    with _lock:
        if key not in _held:
            _held[key] = _Held(0, spark.conf.get(name, None))
            spark.conf.set(name, value)
        _held[key].holders += 1
    try:
        yield
    finally:
        with _lock:
            held = _held[key]
            held.holders -= 1
            if not held.holders:
                del _held[key]
                if held.before is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, held.before)
