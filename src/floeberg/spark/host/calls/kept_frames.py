"""DataFrames that are kept between statements, each for as long as what it reads is the same."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Final

from floeberg.scan.last_used import LastUsed
from floeberg.spark.host.calls.shared_plans import SharedPlan

_MAX_FRAMES: Final = 128
_MAX_FILES: Final = 40_000
"""Spark keeps the status of every file of a DataFrame, and its plan the delete files."""


@dataclass(frozen=True, slots=True)
class KeptFrame:
    """A DataFrame, what is known of it, its columns, and how many files it has in memory. `plan` is that of the views of a
    classic session. `held_by_users` is the same DataFrame with the plan that those of users have, if that is another one."""

    frame: Any
    known: Any
    columns: list[str]
    plan: SharedPlan | None
    files: int
    held_by_users: KeptFrame | None = None


class KeptFrames:
    """The last used ones, bounded by number and by files. Threads of one session share them."""

    def __init__(self) -> None:
        self._kept: LastUsed[KeptFrame] = LastUsed(most=_MAX_FRAMES, most_size=_MAX_FILES)

    def get(self, key: Hashable, spark: Any) -> KeptFrame | None:
        """The DataFrame of a key, if this very session made it: a clone of a session does not see another's views."""
        found = self._kept.get(key)
        return None if found is None or found.frame.sparkSession is not spark else found

    def put(self, key: Hashable, kept: KeptFrame) -> None:
        self._kept.put(key, kept, size=kept.files)
