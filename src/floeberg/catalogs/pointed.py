"""Catalogs that keep one pointer a table: rows of (name → metadata file) that are swapped by compare-and-put.

The metadata file is written first, under a name that carries a uuid; then the row is put if it still points where the
commit began. SQL and in-memory catalogs differ only in where the rows are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final, Protocol

from floeberg.catalogs.base import CatalogCapabilities, LoadedTable, LoadedView
from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.catalogs.metadata_files import (
    check_same_table,
    delete_dropped_metadata,
    encode_metadata,
    encode_view_metadata,
    metadata_folder,
    metadata_suffix,
    read_metadata,
    read_view_metadata,
)
from floeberg.commit.pointer import TableState
from floeberg.effects.protocols import Effects, Store
from floeberg.errors import (
    CommitConflict,
    CommitUnknown,
    FileNotFound,
    FloebergError,
    InvalidInput,
    NamespaceAlreadyExists,
    NamespaceNotFound,
    TableAlreadyExists,
    TableNotFound,
    Throttled,
    Unavailable,
    ViewAlreadyExists,
    ViewNotFound,
)
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.view_metadata import ViewMetadata
from floeberg.storage.location import child
from floeberg.storage.registry import Stores

TABLE: Final = "TABLE"
VIEW: Final = "VIEW"
_NUMBERED: Final = re.compile(r"(\d{1,18})-[0-9a-fA-F-]{36}\.")


class PointerRows(Protocol):
    """Where the pointers are. Every method is one atomic step. Raises Throttled when it is proved that a change did not
    take effect, Unavailable when that is not known."""

    def get(self, identifier: Identifier, kind: str) -> str | None: ...

    def kind_of(self, identifier: Identifier) -> str | None:
        """TABLE or VIEW, when something of that name is there."""
        ...

    def insert(self, identifier: Identifier, kind: str, location: str) -> bool:
        """False when something of that name is there."""
        ...

    def swap(self, identifier: Identifier, kind: str, *, expected: str, location: str) -> bool:
        """False when the pointer is not the expected one (any more)."""
        ...

    def delete(self, identifier: Identifier, kind: str) -> bool: ...

    def rename(self, source: Identifier, target: Identifier, kind: str) -> None:
        """Raises TableNotFound/ViewNotFound and TableAlreadyExists/ViewAlreadyExists."""
        ...

    def list(self, namespace: Namespace, kind: str) -> list[Identifier]: ...

    def namespaces(self) -> set[Namespace]:
        """Every namespace that was created or holds something."""
        ...

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]: ...

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> bool: ...

    def update_namespace(self, namespace: Namespace, *, set: Mapping[str, str], remove: Collection[str]) -> None: ...

    def drop_namespace(self, namespace: Namespace) -> None: ...

    def close(self) -> None: ...


class PointedCatalog:
    """A catalog over pointer rows."""

    capabilities = CatalogCapabilities(rename=True, views=True, namespace_properties=True, metadata_anywhere=True)

    def __init__(
        self, name: str, *, warehouse: str | None, rows: PointerRows, stores: Stores, effects: Effects
    ) -> None:
        self._name = name
        self._warehouse = warehouse
        self._stores = stores
        self._effects = effects
        self.rows = rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, warehouse={self._warehouse!r}, rows={self.rows!r})"

    @property
    def name(self) -> str:
        return self._name

    @property
    def effects(self) -> Effects:
        return self._effects

    @property
    def stores(self) -> Stores:
        return self._stores

    def close(self) -> None:
        self.rows.close()

    def shown(self, parts: Identifier | Namespace) -> str:
        """A name for messages."""
        return f"{self._name}.{parts if isinstance(parts, Identifier) else '.'.join(parts)}"

    # namespaces

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        if self.namespace_exists(namespace) or not self.rows.create_namespace(namespace, properties):
            raise NamespaceAlreadyExists(f"namespace {self.shown(namespace)} is there already")

    def drop_namespace(self, namespace: Namespace) -> None:
        self._require(namespace)
        inside = [*self.rows.list(namespace, TABLE), *self.rows.list(namespace, VIEW)]
        if inside or self.list_namespaces(namespace):
            held = ", ".join(str(i) for i in inside[:5]) or "other namespaces"
            raise InvalidInput(f"namespace {self.shown(namespace)} is not empty: it holds {held}")
        self.rows.drop_namespace(namespace)

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if parent:
            self._require(parent)
        depth = len(parent)
        return sorted({n[: depth + 1] for n in self.rows.namespaces() if len(n) > depth and n[:depth] == parent})

    def namespace_exists(self, namespace: Namespace) -> bool:
        depth = len(namespace)
        return any(found[:depth] == namespace for found in self.rows.namespaces())

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        self._require(namespace)
        return self.rows.namespace_properties(namespace)

    def update_namespace_properties(
        self, namespace: Namespace, *, set: Mapping[str, str], remove: Collection[str]
    ) -> None:
        self._require(namespace)
        if both := sorted({*set} & {*remove}):
            raise InvalidInput(f"namespace {self.shown(namespace)}: set and removed at once: {', '.join(both)}")
        self.rows.update_namespace(namespace, set=set, remove=remove)

    def _require(self, namespace: Namespace) -> None:
        if not self.namespace_exists(namespace):
            raise NamespaceNotFound(
                f"namespace {self.shown(namespace)} does not exist; create_namespace makes it", namespace=namespace
            )

    # tables

    def default_location(self, identifier: Identifier) -> str:
        properties = {} if not identifier.namespace else self.rows.namespace_properties(identifier.namespace)
        if base := properties.get("location"):
            return child(base, identifier.name)
        if self._warehouse is None:
            raise InvalidInput(f"catalog {self._name} has no warehouse; give table {identifier} a location")
        location = self._warehouse
        for level in (*identifier.namespace, identifier.name):
            location = child(location, level)
        return location

    def list_tables(self, namespace: Namespace) -> list[Identifier]:
        self._require(namespace)
        return sorted(self.rows.list(namespace, TABLE))

    def table_exists(self, identifier: Identifier) -> bool:
        return self.rows.get(identifier, TABLE) is not None

    def create_table(self, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
        self._require(identifier.namespace)
        self._refuse_taken(identifier)
        pointer = RowPointer(self, identifier)
        location = pointer.write_file(metadata, base_location=None)
        if not self.rows.insert(identifier, TABLE, location):
            self._stores.for_location(location).delete(location)
            self._refuse_taken(identifier)
        return LoadedTable(pointer, TableState(pointer.identifier, metadata, location))

    def register_table(self, identifier: Identifier, metadata_location: str) -> LoadedTable:
        self._require(identifier.namespace)
        self._refuse_taken(identifier)
        metadata = read_metadata(self._stores.for_location(metadata_location), metadata_location)
        if not self.rows.insert(identifier, TABLE, metadata_location):
            self._refuse_taken(identifier)
        pointer = RowPointer(self, identifier)
        return LoadedTable(pointer, TableState(pointer.identifier, metadata, metadata_location))

    def load_table(self, identifier: Identifier) -> LoadedTable:
        pointer = RowPointer(self, identifier)
        return LoadedTable(pointer, pointer.refresh())

    def drop_table(self, identifier: Identifier) -> TableState | None:
        state: TableState | None = None
        try:
            state = RowPointer(self, identifier).refresh()
        except TableNotFound:
            raise
        except FloebergError:
            state = None  # a table whose metadata cannot be read can still be dropped
        if not self.rows.delete(identifier, TABLE):
            raise _no_table(self.shown(identifier))
        return state

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        self._require(target.namespace)
        self.rows.rename(source, target, TABLE)

    def _refuse_taken(self, identifier: Identifier) -> None:
        kind = self.rows.kind_of(identifier)
        if kind == TABLE:
            raise TableAlreadyExists(f"table {self.shown(identifier)} is there already", table=str(identifier))
        if kind == VIEW:
            raise ViewAlreadyExists(f"{self.shown(identifier)} is there already, as a view", view=str(identifier))

    # views

    def list_views(self, namespace: Namespace) -> list[Identifier]:
        self._require(namespace)
        return sorted(self.rows.list(namespace, VIEW))

    def create_view(self, identifier: Identifier, metadata: ViewMetadata) -> LoadedView:
        self._require(identifier.namespace)
        self._refuse_taken(identifier)
        location = self._write_view(metadata)
        if not self.rows.insert(identifier, VIEW, location):
            self._stores.for_location(location).delete(location)
            self._refuse_taken(identifier)
        return LoadedView(identifier, metadata, location)

    def load_view(self, identifier: Identifier) -> LoadedView:
        location = self.rows.get(identifier, VIEW)
        if location is None:
            raise ViewNotFound(f"view {self.shown(identifier)} does not exist", view=str(identifier))
        return LoadedView(identifier, read_view_metadata(self._stores.for_location(location), location), location)

    def swap_view(self, base: LoadedView, new: ViewMetadata) -> LoadedView:
        if base.metadata_location is None:
            raise InvalidInput(f"view {self.shown(base.identifier)} was never published")
        location = self._write_view(new)
        if not self.rows.swap(base.identifier, VIEW, expected=base.metadata_location, location=location):
            self._stores.for_location(location).delete(location)
            raise CommitConflict(f"view {self.shown(base.identifier)}: another change came first")
        return LoadedView(base.identifier, new, location)

    def drop_view(self, identifier: Identifier) -> None:
        if not self.rows.delete(identifier, VIEW):
            raise ViewNotFound(f"view {self.shown(identifier)} does not exist", view=str(identifier))

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        self._require(target.namespace)
        self.rows.rename(source, target, VIEW)

    def _write_view(self, metadata: ViewMetadata) -> str:
        name = f"{metadata.current_version_id:05d}-{self._effects.ids.uuid()}.metadata.json"
        location = f"{metadata.location.rstrip('/')}/metadata/{name}"
        self._stores.for_location(location).write(location, encode_view_metadata(metadata))
        return location


class RowPointer:
    """One table of a catalog of pointer rows."""

    def __init__(self, catalog: PointedCatalog, identifier: Identifier) -> None:
        self._catalog = catalog
        self._identifier = identifier
        self._known: TableMetadata | None = None
        self.identifier = catalog.shown(identifier)

    @property
    def effects(self) -> Effects:
        return self._catalog.effects

    def store_for(self, location: str) -> Store:
        return self._catalog.stores.for_location(location)

    def refresh(self) -> TableState:
        location = self._catalog.rows.get(self._identifier, TABLE)
        if location is None:
            raise _no_table(self.identifier)
        metadata = self._read(location)
        if self._known is not None:
            check_same_table(self.identifier, self._known, metadata)
        self._known = metadata
        return TableState(self.identifier, metadata, location)

    def _read(self, location: str) -> TableMetadata:
        try:
            return read_metadata(self.store_for(location), location)
        except FileNotFound:
            newer = self._catalog.rows.get(self._identifier, TABLE)
            if newer is None or newer == location:
                raise
            return self._read(newer)  # the file was cleaned up after a newer commit

    def swap(self, base: TableState, new: TableMetadata) -> TableState:
        if base.metadata_location is None:
            raise InvalidInput(f"table {self.identifier}: the state to build on was never published")
        location = self.write_file(new, base_location=base.metadata_location)
        try:
            swapped = self._catalog.rows.swap(
                self._identifier, TABLE, expected=base.metadata_location, location=location
            )
        except Throttled as refused:
            self.store_for(location).delete(location)
            raise CommitConflict(
                f"table {self.identifier}: the catalog refused for now: {refused}", table=self.identifier
            ) from refused
        except Unavailable as failed:
            swapped = self._settle(base.metadata_location, location, failed)
        if not swapped:
            self.store_for(location).delete(location)
            raise CommitConflict(f"table {self.identifier}: another commit came first", table=self.identifier)
        self._known = new
        delete_dropped_metadata(self._catalog.stores, base.metadata, new)
        return TableState(self.identifier, new, location)

    def _settle(self, expected: str, location: str, failed: Unavailable) -> bool:
        """After an error that does not say whether the row was put: what it points at decides. The expected pointer still
        being there proves nothing, because the change may yet arrive."""
        try:
            found = self._catalog.rows.get(self._identifier, TABLE)
        except FloebergError as error:
            failed.add_note(f"reading the pointer failed too: {error}")
            found = expected
        if found == location:
            return True
        if found is not None and found != expected and self._descends_from(found, location):
            return True
        if found is not None and found != expected:
            return False
        raise CommitUnknown(
            f"table {self.identifier}: the catalog did not say whether {location} became current ({failed})",
            table=self.identifier,
        ) from failed

    def _descends_from(self, found: str, location: str) -> bool:
        log = read_metadata(self.store_for(found), found).metadata_log
        return any(entry.metadata_file == location for entry in log)

    def write_file(self, metadata: TableMetadata, *, base_location: str | None) -> str:
        """Writes a metadata file under a name of its own."""
        number = 0 if base_location is None else _number_of(base_location) + 1
        name = f"{number:05d}-{self.effects.ids.uuid()}{metadata_suffix(metadata)}"
        location = f"{metadata_folder(metadata)}/{name}"
        self.store_for(location).write(location, encode_metadata(metadata, location))
        return location


def _number_of(location: str) -> int:
    """The version in a metadata file's name; 0 where another writer named it otherwise."""
    match = _NUMBERED.match(location.rpartition("/")[2])
    return int(match[1]) if match else 0


def _no_table(shown: str) -> TableNotFound:
    return TableNotFound(f"table {shown} does not exist", table=shown)
