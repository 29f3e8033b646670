"""A pointer at which others act just before the first commit through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from floeberg.commit.pointer import TablePointer, TableState
from floeberg.spec.metadata.table_metadata import TableMetadata


class HeldPointer:
    """A table whose first commit waits until `others` have acted: whoever works through it has planned by then. What commits
    nothing is held at a look at the table instead, the one after `at_refresh` others."""

    def __init__(self, pointer: TablePointer, others: Callable[[], object], *, at_refresh: int | None = None) -> None:
        self._pointer = pointer
        self._others: Callable[[], object] | None = others
        self._refreshes_left = at_refresh

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pointer, name)

    @property
    def is_passed(self) -> bool:
        """Whether the others have acted."""
        return self._others is None

    def refresh(self) -> TableState:
        if self._refreshes_left == 0:
            self.release()
        if self._refreshes_left is not None:
            self._refreshes_left -= 1
        return self._pointer.refresh()

    def swap(self, base: TableState, new: TableMetadata) -> TableState:
        self.release()
        return self._pointer.swap(base, new)

    def release(self) -> None:
        """Lets the others act, once."""
        others, self._others = self._others, None
        if others is not None:
            others()
