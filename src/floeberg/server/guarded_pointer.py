"""A table whose files are read only where the server may read."""

from __future__ import annotations

from collections.abc import Iterable

from floeberg.commit.pointer import TablePointer, TableState
from floeberg.effects.protocols import Effects, Store
from floeberg.errors import UnsupportedFeature
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.storage.guard import Roots
from floeberg.storage.registry import Stores


class GuardedPointer:
    """A pointer that opens files inside the roots and no others, and changes nothing."""

    def __init__(self, pointer: TablePointer, *, roots: Iterable[str]) -> None:
        self._pointer = pointer
        self._roots = Roots(roots, follow_links=True)

    @property
    def identifier(self) -> str:
        return self._pointer.identifier

    @property
    def effects(self) -> Effects:
        return self._pointer.effects

    @property
    def stores(self) -> Stores:
        return self

    def for_location(self, location: str) -> Store:
        return self.store_for(location)

    def store_for(self, location: str) -> Store:
        """Raises PathEscape for a file outside the roots."""
        return self._pointer.store_for(self._roots.guard(location))

    def refresh(self) -> TableState:
        return self._pointer.refresh()

    def swap(self, base: TableState, new: TableMetadata) -> TableState:
        raise UnsupportedFeature(f"table {self.identifier} is read-only here")
