"""Threads that share a session, while one of them has changed its settings for a text of its own: statements of the others
wait, so that they are not resolved under settings that are not the session's, and no one restores what another one set.

DataFrame methods of the user, and what Spark plans when a query runs, do not wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, get_ident
from typing import Final

_MAX_RESOLVING_S: Final = 10.0
"""A text that takes longer is taken for a command, which is resolved and runs: no one waits for it again."""


@dataclass(slots=True)
class _Resolving:
    """The texts that a thread resolves, one inside the other."""

    depth: int = 0
    is_running: bool = False


class SettingsInUse:
    """Any number of threads resolve texts, or one of them changes settings and resolves its own."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._resolving: dict[int, _Resolving] = {}
        self._owner: int | None = None

    @contextmanager
    def resolving(self) -> Iterator[None]:
        """While Spark resolves a text, or a setting is read or set, under the session's settings."""
        own = get_ident()
        with self._changed:
            # One whose text is being resolved is waited for: it does not wait itself.
            self._changed.wait_for(lambda: self._owner in (None, own) or own in self._resolving)
            self._resolving.setdefault(own, _Resolving()).depth += 1
        try:
            yield
        finally:
            with self._changed:
                known = self._resolving[own]
                known.depth -= 1
                if not known.depth:
                    del self._resolving[own]
                self._changed.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """While settings are not the session's own. Not to be nested, nor inside `resolving`."""
        own = get_ident()
        assert self._owner != own
        assert own not in self._resolving
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._owner is None)
                self._owner = own
                self._changed.wait_for(self._all_resolved, _MAX_RESOLVING_S)
                for each in self._resolving.values():
                    each.is_running = True
            yield
        finally:
            with self._changed:
                if self._owner == own:
                    self._owner = None
                    self._changed.notify_all()

    def _all_resolved(self) -> bool:
        return all(each.is_running for each in self._resolving.values())


SETTINGS: Final = SettingsInUse()
"""Those of all sessions: the objects of one session, and its clones, are not told apart."""
