"""What a commit needs of a catalog: the table's current state, and one compare-and-swap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from floeberg.effects.protocols import Effects, Store
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.storage.registry import Stores


@dataclass(frozen=True, slots=True)
class TableState:
    """A table at one moment: its name, its metadata, and the file that holds them (None before the first commit)."""

    identifier: str
    metadata: TableMetadata
    metadata_location: str | None


class TablePointer(Protocol):
    """A table in a catalog, as commits see it. A catalog implements this once."""

    @property
    def identifier(self) -> str:
        """The name for messages, `catalog.namespace.table`."""
        ...

    @property
    def effects(self) -> Effects: ...

    @property
    def stores(self) -> Stores:
        """Where the stores come from, for engines that make the same ones in other processes."""
        ...

    def store_for(self, location: str) -> Store: ...

    def refresh(self) -> TableState:
        """The newest state. Raises TableNotFound."""
        ...

    def swap(self, base: TableState, new: TableMetadata) -> TableState:
        """Makes `new` the table's metadata if `base` still is.

        Raises CommitConflict when it is proved that `new` did not and will not become visible, and CommitUnknown when
        that cannot be told. A catalog looks for its own attempt before it concludes either.
        """
        ...
