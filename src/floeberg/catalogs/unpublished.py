"""The pointer of a table that is not in its catalog yet: the first swap creates it."""

from __future__ import annotations

from floeberg.catalogs.base import CatalogBackend, LoadedTable, shown_name
from floeberg.catalogs.identifiers import Identifier
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.effects.protocols import Effects, Store
from floeberg.errors import AlreadyExists, NotFound, ValidationConflict
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.storage.registry import Stores


class UnpublishedPointer:
    """A table that does not exist yet. Data files can be written for it; a commit publishes it with them, or nothing."""

    def __init__(self, catalog: CatalogBackend, identifier: Identifier) -> None:
        self._catalog = catalog
        self._key = identifier
        self._published: TablePointer | None = None
        self.identifier = shown_name(catalog.name, identifier)

    @property
    def effects(self) -> Effects:
        return self._catalog.effects

    @property
    def stores(self) -> Stores:
        return self._catalog.stores

    def store_for(self, location: str) -> Store:
        return self._catalog.stores.for_location(location)

    def refresh(self) -> TableState:
        return self._pointer().refresh()

    def swap(self, base: TableState, new: TableMetadata) -> TableState:
        """Creates the table. Raises ValidationConflict, which proves that nothing became visible, when the name is taken
        or the namespace is gone."""
        if base.metadata_location is not None:
            return self._pointer().swap(base, new)
        try:
            loaded = self._catalog.create_table(self._key, new)
        except (AlreadyExists, NotFound) as refused:
            raise ValidationConflict(str(refused), table=self.identifier, retry_can_help=False) from refused
        self._published = loaded.pointer
        return loaded.state

    def _pointer(self) -> TablePointer:
        if self._published is None:
            self._published = self._catalog.load_table(self._key).pointer
        return self._published


def staged_table(catalog: CatalogBackend, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
    """A table to be in a catalog of metadata files."""
    pointer = UnpublishedPointer(catalog, identifier)
    return LoadedTable(pointer, TableState(pointer.identifier, metadata, None))
