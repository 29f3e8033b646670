"""The filesystem catalog: a warehouse folder, a folder a namespace, a folder a table, and versions published by
create-if-absent. https://iceberg.apache.org/spec/#file-system-tables

Tables are those of the Java HadoopCatalog. Writing at the same time as it on a local file system is unsafe: it checks
and then renames over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from floeberg.catalogs.base import CatalogCapabilities, LoadedTable, LoadedView, unsupported
from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.catalogs.metadata_files import (
    check_same_table,
    delete_dropped_metadata,
    encode_metadata,
    metadata_suffix,
    read_metadata,
)
from floeberg.catalogs.versions import HINT, HINT_CHECKSUM, Version, find_head, listed_versions, write_hint
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
    PathEscape,
    PreconditionFailed,
    StorageError,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
    ViewNotFound,
)
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.view_metadata import ViewMetadata
from floeberg.storage.location import child, join
from floeberg.storage.registry import Stores

KIND: Final = "filesystem"
NAMESPACE_MARKER: Final = ".namespace"
"""Keeps a namespace without tables alive where the store has no folders."""


class FilesystemCatalog:
    """A catalog that is nothing but files: no service, no database."""

    capabilities = CatalogCapabilities(rename=False, views=False, namespace_properties=False, metadata_anywhere=False)

    def __init__(self, name: str, *, warehouse: str, stores: Stores, effects: Effects) -> None:
        self._name = name
        self._warehouse = warehouse
        self._stores = stores
        self._effects = effects
        self._store = stores.for_location(warehouse)
        if not self._store.capabilities.create_if_absent:
            raise UnsupportedFeature(
                f"catalog {name}: the store of {warehouse} cannot create a file only if it is absent, so two writers could "
                "overwrite each other's commits; use a SQL catalog for it",
                catalog=name,
            )

    def __repr__(self) -> str:
        return f"FilesystemCatalog({self._name!r}, warehouse={self._warehouse!r})"

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
        """Nothing is held open."""

    # namespaces

    def _folder(self, namespace: Namespace) -> str:
        location = self._warehouse
        for level in namespace:
            location = self._child(location, level)
        return location

    def _child(self, folder: str, name: str) -> str:
        try:
            return child(folder, name)
        except PathEscape as error:
            raise unsupported(
                self._name,
                KIND,
                f"hold the name {name!r}, which is no single path segment",
                "use a SQL catalog, or another name",
            ) from error

    def _shown(self, parts: object) -> str:
        return f"{self._name}.{parts}"

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        if properties:
            raise unsupported(self._name, KIND, "keep namespace properties", "create it without, or use a SQL catalog")
        folder = self._folder(namespace)
        if self.namespace_exists(namespace):
            raise NamespaceAlreadyExists(f"namespace {self._shown('.'.join(namespace))} is there already")
        if self._is_table(folder):
            raise InvalidInput(f"{self._shown('.'.join(namespace))} is a table")
        self._store.replace(join(folder, NAMESPACE_MARKER), b"")

    def drop_namespace(self, namespace: Namespace) -> None:
        self._require_namespace(namespace)
        folder = self._folder(namespace)
        inside = [
            info.location for info in self._store.list(folder) if not info.location.endswith(f"/{NAMESPACE_MARKER}")
        ]
        if inside or self.list_namespaces(namespace):
            raise InvalidInput(
                f"namespace {self._shown('.'.join(namespace))} is not empty; drop its tables first (their data files count)"
            )
        self._store.delete(join(folder, NAMESPACE_MARKER))
        self._store.delete_folder(folder)

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if parent:
            self._require_namespace(parent)
        folder = self._folder(parent)
        return sorted(
            (*parent, name) for name in self._store.list_folders(folder) if not self._is_table(join(folder, name))
        )

    def namespace_exists(self, namespace: Namespace) -> bool:
        folder = self._folder(namespace)
        if self._store.exists(join(folder, NAMESPACE_MARKER)):
            return True
        parent, name = self._folder(namespace[:-1]), namespace[-1]
        return name in set(self._store.list_folders(parent)) and not self._is_table(folder)

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        self._require_namespace(namespace)
        return {"location": self._folder(namespace)}

    def update_namespace_properties(
        self, namespace: Namespace, *, set: Mapping[str, str], remove: Collection[str]
    ) -> None:
        raise unsupported(self._name, KIND, "keep namespace properties", "use a SQL catalog")

    def _require_namespace(self, namespace: Namespace) -> None:
        if not self.namespace_exists(namespace):
            shown = self._shown(".".join(namespace))
            raise NamespaceNotFound(f"namespace {shown} does not exist; create_namespace makes it", namespace=shown)

    # tables

    def default_location(self, identifier: Identifier) -> str:
        return self._child(self._folder(identifier.namespace), identifier.name)

    def _is_table(self, folder: str) -> bool:
        metadata = join(folder, "metadata")
        return self._store.exists(join(metadata, HINT)) or bool(listed_versions(self._store, metadata))

    def list_tables(self, namespace: Namespace) -> list[Identifier]:
        self._require_namespace(namespace)
        folder = self._folder(namespace)
        return sorted(
            Identifier(namespace, name)
            for name in self._store.list_folders(folder)
            if self._is_table(join(folder, name))
        )

    def table_exists(self, identifier: Identifier) -> bool:
        return find_head(self._store, join(self.default_location(identifier), "metadata")) is not None

    def create_table(self, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
        location = self.default_location(identifier)
        if metadata.location.rstrip("/") != location:
            raise unsupported(
                self._name,
                KIND,
                f"put table {identifier} at {metadata.location}",
                "leave its location out, or use a SQL catalog",
            )
        if "write.metadata.path" in metadata.properties:
            raise unsupported(self._name, KIND, "keep metadata elsewhere (write.metadata.path)", "leave it out")
        self._require_namespace(identifier.namespace)
        pointer = FilesystemPointer(self, identifier)
        if self.table_exists(identifier):
            raise TableAlreadyExists(f"table {pointer.identifier} is there already", table=pointer.identifier)
        try:
            state = pointer.publish(Version(1, metadata_suffix(metadata)), metadata, base=None)
        except CommitConflict as conflict:
            raise TableAlreadyExists(
                f"table {pointer.identifier} was created by someone else meanwhile", table=pointer.identifier
            ) from conflict
        return LoadedTable(pointer, state)

    def load_table(self, identifier: Identifier) -> LoadedTable:
        pointer = FilesystemPointer(self, identifier)
        return LoadedTable(pointer, pointer.refresh())

    def register_table(self, identifier: Identifier, metadata_location: str) -> LoadedTable:
        raise unsupported(
            self._name, KIND, "register a table that lies elsewhere", "open it with open_table, or use a SQL catalog"
        )

    def drop_table(self, identifier: Identifier) -> TableState | None:
        """Removes the published versions, oldest first, so that a crash on the way leaves the newest state or none; the
        data files stay."""
        pointer = FilesystemPointer(self, identifier)
        state: TableState | None
        try:
            state = pointer.refresh()
        except TableNotFound:
            raise
        except FloebergError:
            state = None  # a table whose metadata cannot be read can still be dropped
        folder = join(self.default_location(identifier), "metadata")
        while versions := listed_versions(self._store, folder):
            for version in versions:
                self._store.delete(join(folder, version.file_name))
        self._store.delete(join(folder, HINT))
        self._store.delete(join(folder, HINT_CHECKSUM))
        return state

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        raise unsupported(self._name, KIND, "rename tables", "use a SQL catalog, or copy the table")

    # views

    def list_views(self, namespace: Namespace) -> list[Identifier]:
        self._require_namespace(namespace)
        return []

    def create_view(self, identifier: Identifier, metadata: ViewMetadata) -> LoadedView:
        raise unsupported(self._name, KIND, "keep views", "use a SQL catalog")

    def load_view(self, identifier: Identifier) -> LoadedView:
        raise ViewNotFound(f"view {self._shown(identifier)} does not exist: a filesystem catalog keeps no views")

    def swap_view(self, base: LoadedView, new: ViewMetadata) -> LoadedView:
        raise unsupported(self._name, KIND, "keep views", "use a SQL catalog")

    def drop_view(self, identifier: Identifier) -> None:
        self.load_view(identifier)

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        self.load_view(source)


class FilesystemPointer:
    """One table of a filesystem catalog."""

    def __init__(self, catalog: FilesystemCatalog, identifier: Identifier) -> None:
        self._catalog = catalog
        self._folder = join(catalog.default_location(identifier), "metadata")
        self._store: Store = catalog.stores.for_location(self._folder)
        self._known: TableMetadata | None = None
        self.identifier = f"{catalog.name}.{identifier}"

    @property
    def effects(self) -> Effects:
        return self._catalog.effects

    def store_for(self, location: str) -> Store:
        return self._catalog.stores.for_location(location)

    def refresh(self) -> TableState:
        while True:
            head = find_head(self._store, self._folder)
            if head is None:
                raise TableNotFound(f"table {self.identifier} does not exist", table=self.identifier)
            location = join(self._folder, head.file_name)
            try:
                metadata = read_metadata(self._store, location)
            except FileNotFound:
                continue  # a cleaner or a drop was quicker; look again
            if self._known is not None:
                check_same_table(self.identifier, self._known, metadata)
            self._known = metadata
            return TableState(self.identifier, metadata, location)

    def swap(self, base: TableState, new: TableMetadata) -> TableState:
        if base.metadata_location is None:
            raise InvalidInput(f"table {self.identifier}: the state to build on was never published")
        return self.publish(_version_of(base.metadata_location).after(), new, base=base)

    def publish(self, version: Version, new: TableMetadata, *, base: TableState | None) -> TableState:
        """Publishes a version, or raises CommitConflict when another has it and CommitUnknown when that cannot be told."""
        location = join(self._folder, version.file_name)
        content = encode_metadata(new, location)
        try:
            self._store.create(location, content)
        except PreconditionFailed as taken:
            if not self._is_ours(location, content):
                raise self._conflict(version) from taken
        except StorageError as failed:
            self._settle(location, content, failed)
        self._check_in_line(version, location, new, content)
        self._hint(version)
        self._known = new
        delete_dropped_metadata(self._catalog.stores, None if base is None else base.metadata, new)
        return TableState(self.identifier, new, location)

    def _is_ours(self, location: str, content: bytes) -> bool:
        """A client or proxy that repeats our request finds our own file in the way."""
        try:
            return self._store.read(location) == content
        except FileNotFound:
            return False

    def _settle(self, location: str, content: bytes, failed: StorageError) -> None:
        """After an error that does not say whether the file was written: what is there decides."""
        try:
            found = self._store.read(location)
        except FileNotFound:
            found = None
        except StorageError as error:
            failed.add_note(f"reading it back failed too: {error}")
            found = None
        if found == content:
            return
        if found is not None:
            raise CommitConflict(
                f"table {self.identifier}: another commit took {location}", table=self.identifier
            ) from failed
        raise CommitUnknown(
            f"table {self.identifier}: {location} may or may not appear ({failed})", table=self.identifier
        ) from failed

    def _check_in_line(self, version: Version, location: str, new: TableMetadata, content: bytes) -> None:
        """A version's file may be gone again (metadata clean-up, drop) and its name free, so a late writer can create an
        old version. It counts only if it is the head or the head's ancestor."""
        head = find_head(self._store, self._folder)
        if head is not None and head.number == version.number:
            return
        if head is not None and head.number > version.number and self._is_parent_of_next(version, location, new):
            return
        if self._is_ours(location, content):
            self._store.delete(location)
        raise self._conflict(version)

    def _is_parent_of_next(self, version: Version, location: str, new: TableMetadata) -> bool:
        try:
            following = read_metadata(self._store, join(self._folder, version.after().file_name))
        except FileNotFound:
            return False
        return any(
            entry.metadata_file == location and entry.timestamp_ms == new.last_updated_ms
            for entry in following.metadata_log
        )

    def _hint(self, version: Version) -> None:
        try:
            write_hint(self._store, self._folder, version.number)
        except StorageError:
            return  # only a hint: readers look further

    def _conflict(self, version: Version) -> CommitConflict:
        return CommitConflict(
            f"table {self.identifier}: another commit published version {version.number} first", table=self.identifier
        )


def _version_of(location: str) -> Version:
    name = location.rpartition("/")[2]
    number, _, suffix = name[1:].partition(".")
    return Version(int(number), f".{suffix}")
