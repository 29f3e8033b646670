"""Relations of files that a session keeps: DataFrames of the same files share one, so that Spark takes their scans for equal
(it reads one of them twice, and finds what is cached), and the files' log is read once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final
from weakref import WeakKeyDictionary

_MAX_RELATIONS: Final = 64
_MAX_FILES: Final = 20_000
"""Spark keeps the status of every file of a relation."""


@dataclass(frozen=True, slots=True)
class KeptRelation:
    """A relation of the JVM, and the files that Spark reads for it."""

    relation: Any
    listed: list[str]


class KeptRelations:
    """The last used ones, bounded by number and by files. Threads of one session share them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, KeptRelation] = OrderedDict()
        self._files = 0

    def get(self, key: Hashable) -> KeptRelation | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: Hashable, kept: KeptRelation) -> None:
        with self._lock:
            if key in self._kept or len(kept.listed) > _MAX_FILES:
                return
            self._kept[key] = kept
            self._files += len(kept.listed)
            while len(self._kept) > _MAX_RELATIONS or self._files > _MAX_FILES:
                _, oldest = self._kept.popitem(last=False)
                self._files -= len(oldest.listed)


_OF_SESSIONS: Final[WeakKeyDictionary[Any, KeptRelations]] = WeakKeyDictionary()


def kept_relations(spark: Any) -> KeptRelations:
    """The relations of a session."""
    return _OF_SESSIONS.setdefault(spark, KeptRelations())
