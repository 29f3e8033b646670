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
    size: int


class LastUsed(Generic[V]):
    """Bounded by the number of values, and by their sizes in all: the files or keys that they have in memory. Threads share
    it."""

    def __init__(self, *, most: int, most_size: int = 0) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, _Kept[V]] = OrderedDict()
        self._most = most
        self._most_size = most_size
        self._size = 0

    def get(self, key: Hashable) -> V | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found.value

    def put(self, key: Hashable, value: V, *, size: int = 0) -> None:
        """Keeps a value in place of an older one, unless it alone is larger than the bound."""
        if size > self._most_size:
            return
        with self._lock:
            replaced = self._kept.pop(key, None)
            self._size += size - (0 if replaced is None else replaced.size)
            self._kept[key] = _Kept(value, size)
            while len(self._kept) > self._most or self._size > self._most_size:
                _, oldest = self._kept.popitem(last=False)
                self._size -= oldest.size
