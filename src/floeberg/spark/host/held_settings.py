"""Settings of a session that are changed for one piece of work and restored after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final


@dataclass(slots=True)
class _Held:
    """How many hold a setting now, and its value before the first of them."""

    holders: int
    before: str | None


SESSION_MARK: Final = "floeberg.session"
"""The setting that identifies an attached session, which has several Python objects."""

_lock: Final = Lock()
_held: Final[dict[tuple[str, str], _Held]] = {}


@contextmanager
def held_setting(spark: Any, name: str, value: str) -> Iterator[None]:
    """Sets a setting of the session, always to this value. The session's own value is restored when the last of several
    holders is done: if each restored what it found, a later one would restore another's."""
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
