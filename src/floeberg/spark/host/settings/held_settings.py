"""Settings of a session that are changed for one piece of work and restored after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from floeberg.spark.host.settings.changed_settings import SETTINGS


@dataclass(slots=True)
class _Held:
    """How many hold a setting now, by which object it was set, and its value before the first of them."""

    spark: Any
    before: str | None
    holders: int = 0


SESSION_MARK: Final = "floeberg.session"
"""The setting that identifies an attached session, which has several Python objects."""

_lock: Final = Lock()
_held: Final[dict[tuple[str, str], list[_Held]]] = {}
"""Several of one key are sessions of streaming queries: clones, which have the mark of their origin and settings of their
own."""


@contextmanager
def held_setting(spark: Any, name: str, value: str) -> Iterator[None]:
    """Sets a setting of the session, always to this value. The session's own value is restored when the last of several
    holders is done: if each restored what it found, a later one would restore another's."""
    key = (spark.conf.get(SESSION_MARK, None) or f"object {id(spark)}", name)
    # To set a setting may mean to wait. Who waits with the lock would keep those who are waited for from it.
    with SETTINGS.resolving(), _lock:
        own = spark.conf.get(name, None)
        held = next((one for one in _held.get(key, ()) if one.spark is spark or own == value), None)
        if held is None:
            held = _Held(spark, own)
            _held.setdefault(key, []).append(held)
            spark.conf.set(name, value)
        held.holders += 1
    try:
        yield
    finally:
        with SETTINGS.resolving(), _lock:
            held.holders -= 1
            if not held.holders:
                _held[key].remove(held)
                if not _held[key]:
                    del _held[key]
                if held.before is None:
                    held.spark.conf.unset(name)
                else:
                    held.spark.conf.set(name, held.before)
