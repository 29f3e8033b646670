"""What was read of delete files, kept for the other data files that they apply to, within a bound of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

T = TypeVar("T")

DEFAULT_MAX_BYTES: Final = 256 << 20


class DeleteCache:
    """A least-recently-used cache. Several threads may ask for one entry: one loads it, the others wait."""

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._loading: dict[Hashable, threading.Lock] = {}
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        self.loads = 0

    @property
    def nbytes(self) -> int:
        return self._bytes

    def get(self, key: Hashable, load: Callable[[], T], size: Callable[[T], int]) -> T:
        """What is kept for the key, or what `load` gives, which is kept if it fits."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                kept: T = self._entries[key][0]
                return kept
            mine = self._loading.setdefault(key, threading.Lock())
        with mine:
            with self._lock:
                if key in self._entries:
                    found: T = self._entries[key][0]
                    return found
            loaded = load()
            with self._lock:
                self.loads += 1
                self._keep(key, loaded, size(loaded))
                self._loading.pop(key, None)
            return loaded

    def _keep(self, key: Hashable, value: object, size_bytes: int) -> None:
        if size_bytes > self.max_bytes:
            return
        self._entries[key] = (value, size_bytes)
        self._bytes += size_bytes
        while self._bytes > self.max_bytes:
            _, (_, freed) = self._entries.popitem(last=False)
            self._bytes -= freed
