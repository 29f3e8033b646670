"""Values of key columns that plans read of small tables, kept for the next plan: a snapshot never changes."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any, Final

_MAX_KEPT: Final = 256


class KeptKeys:
    """Key values that were read before, by the state of the table and what was asked of it. Threads share them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[object, tuple[Any, ...] | None] = OrderedDict()

    def get(self, key: object) -> tuple[Any, ...] | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: object, values: tuple[Any, ...]) -> None:
        with self._lock:
            self._kept[key] = values
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
