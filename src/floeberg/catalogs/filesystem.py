"""The filesystem catalog: a warehouse folder, a folder a namespace, a folder a table.

Tables are those of the Java HadoopCatalog. Writing at the same time as it on a local file system is unsafe: it checks
and then renames over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from floeberg.catalogs.base import CatalogCapabilities, LoadedTable, LoadedView, TableSwap, shown_name, unsupported
from floeberg.catalogs.filesystem_namespaces import NAMESPACE_MARKER, NamespaceFolders, is_table
from floeberg.catalogs.filesystem_pointer import FilesystemPointer
from floeberg.catalogs.given_settings import GivenSettings
from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.catalogs.metadata_files import is_other_table
from floeberg.catalogs.unpublished import staged_table
from floeberg.catalogs.versions import HINT, HINT_CHECKSUM, Version, find_head, listed_versions
from floeberg.commit.pointer import TableState
from floeberg.effects.protocols import Effects
from floeberg.errors import (
    CommitConflict,
    FileNotFound,
    NamespaceAlreadyExists,
    NamespaceNotEmpty,
    NamespaceNotFound,
    PathEscape,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
    ViewNotFound,
)
from floeberg.files.metadata_file import GZIP_MAGIC, encode_metadata_file
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.view_metadata import ViewMetadata
from floeberg.storage.location import child, join, parse
from floeberg.storage.registry import Stores

KIND: Final = "filesystem"


class FilesystemCatalog:
    """A catalog that is nothing but files: no service, no database."""

    given: GivenSettings | None = None
    """By which another process opens it again."""

    capabilities = CatalogCapabilities(
        rename=False,
        views=False,
        namespace_properties=False,
        register=False,
        custom_location=False,
        any_name=False,
        namespaces_by_use=True,
    )

    def __init__(self, name: str, *, warehouse: str, stores: Stores, effects: Effects) -> None:
        self._name = name
        self._warehouse = warehouse
        self._stores = stores
        self._effects = effects
        self._store = stores.for_location(warehouse)
        self._folders = NamespaceFolders(self._store)
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
    def warehouse(self) -> str:
        return self._warehouse

    @property
    def effects(self) -> Effects:
        return self._effects

    @property
    def stores(self) -> Stores:
        return self._stores

    def close(self) -> None:
        """Nothing is held open."""

    def _path(self, names: Namespace) -> list[str]:
        """The folders of the levels, outermost first."""
        folders: list[str] = []
        for name in names:
            folders.append(self._child(folders[-1] if folders else self._warehouse, name))
        return folders

    def _child(self, folder: str, name: str) -> str:
        try:
            if name == NAMESPACE_MARKER:
                raise PathEscape(f"{name!r} is the name of a marker")
            return child(folder, name)
        except PathEscape as error:
            raise unsupported(
                self._name,
                KIND,
                f"hold the name {name[:60]!r}, which is no single path segment of at most 255 bytes",
                "use a SQL catalog, or another name",
            ) from error

    # namespaces

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        if properties:
            raise unsupported(self._name, KIND, "keep namespace properties", "create it without, or use a SQL catalog")
        path = self._path(namespace)
        for folder in path:
            if is_table(self._store, folder):
                raise TableAlreadyExists(
                    f"namespace {self._shown(namespace)} cannot be made: {folder} is a table", table=folder
                )
        if self._folders.is_namespace(path):
            raise NamespaceAlreadyExists(f"namespace {self._shown(namespace)} is there already")
        for folder in path:
            self._folders.mark(folder)

    def drop_namespace(self, namespace: Namespace) -> None:
        self._require_namespace(namespace)
        folder = self._path(namespace)[-1]
        if not self._folders.is_empty(folder):
            raise NamespaceNotEmpty(
                f"namespace {self._shown(namespace)} is not empty; drop the tables and namespaces in it first",
                namespace=self._shown(namespace),
            )
        self._folders.remove(folder)

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if parent:
            self._require_namespace(parent)
        path = self._path(parent)
        names = self._store.list_folders(path[-1] if path else self._warehouse)
        return sorted((*parent, name) for name in names if self._folders.is_namespace([*path, self._below(path, name)]))

    def _below(self, path: list[str], name: str) -> str:
        return join(path[-1] if path else self._warehouse, name)

    def namespace_exists(self, namespace: Namespace) -> bool:
        return self._folders.is_namespace(self._path(namespace))

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        self._require_namespace(namespace)
        return {"location": self._path(namespace)[-1]}

    def update_namespace_properties(
        self, namespace: Namespace, *, set: Mapping[str, str], remove: Collection[str]
    ) -> None:
        raise unsupported(self._name, KIND, "keep namespace properties", "use a SQL catalog")

    def _require_namespace(self, namespace: Namespace) -> None:
        if not self.namespace_exists(namespace):
            shown = self._shown(namespace)
            raise NamespaceNotFound(f"namespace {shown} does not exist; create_namespace makes it", namespace=shown)

    def _shown(self, parts: Identifier | Namespace) -> str:
        return shown_name(self._name, parts)

    # tables

    def default_location(self, identifier: Identifier) -> str:
        return self._path((*identifier.namespace, identifier.name))[-1]

    def list_tables(self, namespace: Namespace) -> list[Identifier]:
        self._require_namespace(namespace)
        folder = self._path(namespace)[-1]
        names = self._store.list_folders(folder)
        return sorted(Identifier(namespace, name) for name in names if is_table(self._store, join(folder, name)))

    def table_exists(self, identifier: Identifier) -> bool:
        return is_table(self._store, self.default_location(identifier))

    def create_table(self, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
        location = self.default_location(identifier)
        if parse(metadata.location) != parse(location):
            raise unsupported(
                self._name,
                KIND,
                f"put table {identifier} at {metadata.location}",
                "leave its location out, or use a SQL catalog",
            )
        pointer = self._pointer(identifier)
        if is_table(self._store, location):
            raise TableAlreadyExists(f"table {pointer.identifier} is there already", table=pointer.identifier)
        self._require_namespace(identifier.namespace)
        if self._folders.is_namespace(self._path((*identifier.namespace, identifier.name))):
            raise NamespaceAlreadyExists(
                f"table {pointer.identifier} cannot be made: a namespace has that name, and its folder", table=location
            )
        try:
            state = pointer.create(metadata)
        except CommitConflict as conflict:
            raise TableAlreadyExists(
                f"table {pointer.identifier} was created by someone else meanwhile", table=pointer.identifier
            ) from conflict
        return LoadedTable(pointer, state)

    def stage_table(self, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
        return staged_table(self, identifier, metadata)

    def load_table(self, identifier: Identifier) -> LoadedTable:
        pointer = self._pointer(identifier)
        return LoadedTable(pointer, pointer.refresh())

    def swap_tables(self, swaps: Sequence[TableSwap]) -> list[TableState]:
        raise unsupported(
            self._name, KIND, "commit several tables at once", "commit one at a time, or use a SQL catalog"
        )

    def register_table(self, identifier: Identifier, metadata_location: str) -> LoadedTable:
        raise unsupported(
            self._name, KIND, "register a table that lies elsewhere", "open it with open_table, or use a SQL catalog"
        )

    def drop_table(self, identifier: Identifier, *, only_if: TableState | None = None, purge: bool = False) -> None:
        """Removes the published versions, oldest first, so that a crash on the way leaves the newest state or none; the data
        files stay, and with them, unless the table is being purged, a copy of the last metadata, which no reader takes
        for a version: `open_table` and other catalogs' `register_table` can bring the table back."""
        location = self.default_location(identifier)
        folder = join(location, "metadata")
        head = find_head(self._store, folder)
        if head is None:
            shown = self._shown(identifier)
            raise TableNotFound(f"table {shown} does not exist", table=shown)
        if only_if is not None:
            self._check_unchanged(identifier, only_if)
        else:
            self._keep_copy(folder, head)
        self._folders.mark(self._path(identifier.namespace)[-1])  # it stays when its last table is dropped
        while versions := listed_versions(self._store, folder):
            for version in versions:
                self._store.delete(join(folder, version.file_name))
        self._store.delete(join(folder, HINT))
        self._store.delete(join(folder, HINT_CHECKSUM))

    def _check_unchanged(self, identifier: Identifier, expected: TableState) -> None:
        state = self._pointer(identifier).refresh()
        changed = state.metadata_location != expected.metadata_location
        if changed or is_other_table(expected.metadata, state.metadata):
            raise CommitConflict(
                f"table {self._shown(identifier)} was changed meanwhile", table=self._shown(identifier)
            )

    def _keep_copy(self, folder: str, head: Version) -> None:
        try:
            content = self._store.read(join(folder, head.file_name))
        except FileNotFound:
            return  # another drop came first
        if content[:2] != GZIP_MAGIC:
            content = encode_metadata_file(content, "gzip")
        self._store.write(join(folder, f"dropped-{self._effects.ids.uuid()}.metadata.json.gz"), content)

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        raise unsupported(self._name, KIND, "rename tables", "use a SQL catalog, or copy the table")

    def _pointer(self, identifier: Identifier) -> FilesystemPointer:
        return FilesystemPointer(
            self._shown(identifier), self.default_location(identifier), stores=self._stores, effects=self._effects
        )

    # views

    def list_views(self, namespace: Namespace) -> list[Identifier]:
        self._require_namespace(namespace)
        return []

    def view_exists(self, identifier: Identifier) -> bool:
        return False

    def create_view(self, identifier: Identifier, metadata: ViewMetadata) -> LoadedView:
        raise self._no_views()

    def load_view(self, identifier: Identifier) -> LoadedView:
        raise ViewNotFound(f"view {self._shown(identifier)} does not exist: a filesystem catalog keeps no views")

    def swap_view(self, base: LoadedView, new: ViewMetadata) -> LoadedView:
        raise self._no_views()

    def drop_view(self, identifier: Identifier) -> None:
        self.load_view(identifier)

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        raise self._no_views()

    def _no_views(self) -> UnsupportedFeature:
        return unsupported(self._name, KIND, "keep views", "use a SQL catalog")
