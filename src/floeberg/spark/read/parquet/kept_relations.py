"""Relations of files that a session keeps: DataFrames of the same files share one, so that Spark takes their scans for equal
(it reads one of them twice, and finds what is cached), and the files' log is read once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from floeberg.scan.last_used import LastUsed

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
        self._kept: LastUsed[KeptRelation] = LastUsed(most=_MAX_RELATIONS, most_size=_MAX_FILES)

    def get(self, key: Hashable) -> KeptRelation | None:
        return self._kept.get(key)

    def put(self, key: Hashable, kept: KeptRelation) -> None:
        self._kept.put(key, kept, size=len(kept.listed))


_OF_SESSIONS: Final[WeakKeyDictionary[Any, KeptRelations]] = WeakKeyDictionary()


def kept_relations(spark: Any) -> KeptRelations:
    """The relations of a session."""
    return _OF_SESSIONS.setdefault(spark, KeptRelations())
