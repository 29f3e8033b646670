"""Values of key columns that plans read of small tables, kept for the next plan: a snapshot never changes."""

from __future__ import annotations

from typing import Any, Final

from floeberg.scan.last_used import LastUsed

_MAX_KEPT: Final = 256
_MAX_VALUES: Final = 2_000_000
"""Of all that are kept; a value takes some tens of bytes."""


class KeptKeys(LastUsed[tuple[Any, ...]]):
    """Key values that were read before, by the state of the table and what was asked of it."""

    def __init__(self) -> None:
        super().__init__(most=_MAX_KEPT, most_size=_MAX_VALUES)
