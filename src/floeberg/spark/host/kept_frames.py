"""DataFrames that are kept between statements, each for as long as what it reads is the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

_MAX_FRAMES: Final = 128
_MAX_FILES: Final = 20_000
"""Spark keeps the status of every file of a DataFrame."""


@dataclass(frozen=True, slots=True)
class KeptFrame:
    """A DataFrame, what is known of it, and how many files it reads. `columns` are its names, `array` the same in its JVM."""

    frame: Any
    known: Any
    columns: list[str]
    array: Any
    files: int


class KeptFrames:
    """The last used ones, bounded by number and by files. Threads of one session share them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, KeptFrame] = OrderedDict()
        self._files = 0

    def get(self, key: Hashable, spark: Any) -> KeptFrame | None:
        """The DataFrame of a key, if this very session made it: a clone of a session does not see another's views."""
        with self._lock:
            found = self._kept.get(key)
            if found is None or found.frame.sparkSession is not spark:
                return None
            self._kept.move_to_end(key)
            return found

    def put(self, key: Hashable, kept: KeptFrame) -> None:
        if kept.files > _MAX_FILES:
            return
        with self._lock:
            replaced = self._kept.pop(key, None)
            self._files += kept.files - (0 if replaced is None else replaced.files)
            self._kept[key] = kept
            while len(self._kept) > _MAX_FRAMES or self._files > _MAX_FILES:
                _, oldest = self._kept.popitem(last=False)
                self._files -= oldest.files
