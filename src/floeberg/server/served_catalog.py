"""A catalog that is served: its names as clients see them, and where its tables may lie."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from floeberg.api.catalog import Catalog
from floeberg.api.table import Table
from floeberg.catalogs.base import CatalogBackend, LoadedTable
from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.metadata_files import table_folders
from floeberg.commit.pointer import TablePointer
from floeberg.errors import InvalidInput
from floeberg.server.guarded_pointer import GuardedPointer
from floeberg.spec.changes.updates import AddSnapshot, MetadataUpdate, SetPartitionStatistics, SetStatistics
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.view_metadata import ViewMetadata
from floeberg.storage.guard import Roots
from floeberg.storage.location import parse_from_user

_PATH_PROPERTY: Final = re.compile(r"write\.[a-z-]+\.path")
"""`write.data.path`, `write.metadata.path`, `write.object-storage.path`, `write.folder-storage.path`."""
LOCATION: Final = "location"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedCatalog:
    """A catalog, its warehouse, and the folders outside of which clients can point the server at nothing."""

    catalog: Catalog
    warehouse: str | None = None
    roots: tuple[str, ...] = ()
    read_only: bool = False

    @classmethod
    def of(
        cls, catalog: Catalog, *, warehouse: str | None = None, roots: Iterable[str] = (), read_only: bool = False
    ) -> ServedCatalog:
        """A catalog whose tables may lie in its warehouse and in further roots. Raises InvalidInput when there are none:
        then a client could choose any folder that the server can write."""
        where = None if warehouse is None else parse_from_user(warehouse).text
        allowed = [parse_from_user(root).text for root in roots]
        if where is not None:
            allowed.insert(0, where)
        if not allowed and not read_only:
            raise InvalidInput(
                f"catalog {catalog.name}: say where its tables may lie: a warehouse, --root FOLDER, or --read-only"
            )
        return cls(catalog=catalog, warehouse=where, roots=tuple(allowed), read_only=read_only)

    @property
    def name(self) -> str:
        return self.catalog.name

    @property
    def backend(self) -> CatalogBackend:
        return self.catalog._backend

    def answers_to(self, warehouse: str) -> bool:
        """Whether a client means this catalog: by its name, or by its warehouse."""
        return warehouse == self.name or (
            self.warehouse is not None and warehouse.rstrip("/") == self.warehouse.rstrip("/")
        )

    def check_location(self, location: str) -> None:
        """Raises PathEscape for a location outside the roots."""
        self._roots().guard(location)

    def _roots(self) -> Roots:
        return Roots(self.roots, follow_links=True)

    def table_to_read(self, identifier: Identifier) -> Table:
        """A table of which the server reads files that lie in the roots or in the table's own folders, and no others: a client
        that can commit could make it read any file with its own credentials. Raises TableNotFound."""
        table = self.catalog.load_table(identifier)
        if self.read_only:
            return table
        pointer = self.guarded(table._pointer, table.metadata)
        return Table(LoadedTable(pointer, table._state), identifier=identifier, caches=table._caches)

    def guarded(self, pointer: TablePointer, metadata: TableMetadata) -> GuardedPointer:
        """A pointer that reads in the roots and in the table's own folders."""
        return GuardedPointer(pointer, roots=(*self.roots, *table_folders(metadata)))

    def check_namespace(self, properties: Mapping[str, str]) -> None:
        """Raises PathEscape when a namespace's tables would go outside the roots."""
        location = properties.get(LOCATION)
        if location:
            self.check_location(parse_from_user(location).text)

    def check_table(self, metadata: TableMetadata, updates: Iterable[MetadataUpdate] = ()) -> None:
        """Raises PathEscape when a table lies, writes, or refers to a file outside the roots. Without updates every
        snapshot and statistics file counts, with updates those that they add."""
        roots = self._roots()
        for location in (metadata.location, *_path_properties(metadata.properties)):
            roots.guard(location)
        for location in _added_files(updates):
            roots.guard(location)

    def check_whole_table(self, metadata: TableMetadata) -> None:
        """As `check_table`, with every snapshot, statistics and old metadata file that the table refers to."""
        self.check_table(metadata)
        roots = self._roots()
        for snapshot in metadata.snapshots:
            for location in (snapshot.manifest_list, *(snapshot.manifests or ())):
                if location is not None:
                    roots.guard(location)
        for file in metadata.statistics:
            roots.guard(file.statistics_path)
        for partition_file in metadata.partition_statistics:
            roots.guard(partition_file.statistics_path)
        for entry in metadata.metadata_log:
            roots.guard(entry.metadata_file)

    def check_view(self, metadata: ViewMetadata) -> None:
        """Raises PathEscape when a view lies outside the roots."""
        self.check_location(metadata.location)
        for location in _path_properties(metadata.properties):
            self.check_location(location)


def _path_properties(properties: Mapping[str, str]) -> list[str]:
    return [value for name, value in properties.items() if _PATH_PROPERTY.fullmatch(name) and value]


def _added_files(updates: Iterable[MetadataUpdate]) -> Iterable[str]:
    for update in updates:
        match update:
            case AddSnapshot(snapshot=snapshot):
                yield from (one for one in (snapshot.manifest_list, *(snapshot.manifests or ())) if one is not None)
            case SetStatistics(statistics=file):
                yield file.statistics_path
            case SetPartitionStatistics(partition_statistics=partition_file):
                yield partition_file.statistics_path
