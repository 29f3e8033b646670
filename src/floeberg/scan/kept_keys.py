"""Values of key columns that plans read of small tables, kept for the next plan: a snapshot never changes."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from typing import Any, Final

from floeberg.scan.last_used import LastUsed

_MAX_KEPT: Final = 256
_MAX_BYTES: Final = 64 << 20
"""Of all that are kept."""
_BYTES: Final = 64
"""Of a value in a tuple, about."""


class KeptKeys(LastUsed[Sequence[Any]]):
    """Key values that were read before, by the state of the table and what was asked of it."""

    def __init__(self) -> None:
        super().__init__(most=_MAX_KEPT, most_size=_MAX_BYTES)

    def keep(self, key: Hashable, values: Sequence[Any]) -> None:
        """Keeps the values of a key for later plans."""
        self.put(key, values, size=len(values) * (values.itemsize if isinstance(values, array) else _BYTES))
