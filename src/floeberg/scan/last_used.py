"""Values that are kept for their next use, the last used ones for longest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[V]):
    value: V
    files: int


class LastUsed(Generic[V]):
    """Bounded by the number of values, and by the files that they have in memory. Threads share it."""

    def __init__(self, *, most: int, most_files: int = 0) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, _Kept[V]] = OrderedDict()
        self._most = most
        self._most_files = most_files
        self._files = 0

    def get(self, key: Hashable) -> V | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found.value

    def put(self, key: Hashable, value: V, *, files: int = 0) -> None:
        """Keeps a value in place of an older one, unless it alone has more files than the bound."""
        if files > self._most_files:
            return
        with self._lock:
            replaced = self._kept.pop(key, None)
            self._files += files - (0 if replaced is None else replaced.files)
            self._kept[key] = _Kept(value, files)
            while len(self._kept) > self._most or self._files > self._most_files:
                _, oldest = self._kept.popitem(last=False)
                self._files -= oldest.files
