"""Catalogs that keep one pointer a table or view. SQL and in-memory catalogs differ only in where the rows are."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from urllib.parse import quote as percent_encode

from floeberg.catalogs.base import CatalogCapabilities, LoadedTable, LoadedView, TableSwap, shown_name, unsupported
from floeberg.catalogs.given_settings import GivenSettings
from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.catalogs.metadata_files import read_metadata
from floeberg.catalogs.pointed_views import PointedViews
from floeberg.catalogs.pointer_rows import TABLE, VIEW, PointerRows
from floeberg.catalogs.row_pointer import RowPointer
from floeberg.catalogs.row_pointers import swap_together
from floeberg.catalogs.unpublished import staged_table
from floeberg.commit.pointer import TableState
from floeberg.effects.protocols import Effects
from floeberg.errors import (
    CatalogError,
    CommitConflict,
    InvalidInput,
    NamespaceAlreadyExists,
    NamespaceNotEmpty,
    NamespaceNotFound,
    PathEscape,
    TableAlreadyExists,
    TableNotFound,
    Unavailable,
    ViewAlreadyExists,
)
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.view_metadata import ViewMetadata
from floeberg.storage.location import check_segment, join, parse_from_user
from floeberg.storage.registry import Stores

RESERVED_NAMESPACE_PROPERTY: Final = "exists"
"""The property that the Java and PyIceberg catalogs store to create a namespace."""
_MAX_ENCODED: Final = 180


class PointedCatalog:
    """A catalog over pointer rows."""

    given: GivenSettings | None = None
    """By which another process opens it again."""

    def __init__(
        self,
        name: str,
        *,
        warehouse: str | None,
        rows: PointerRows,
        stores: Stores,
        effects: Effects,
        unique_locations: bool = False,
    ) -> None:
        self._name = name
        self._warehouse = warehouse
        self._stores = stores
        self._effects = effects
        self._unique_locations = unique_locations
        self._views = PointedViews(name, rows=rows, stores=stores, effects=effects)
        self.rows = rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, warehouse={self._warehouse!r}, rows={self.rows!r})"

    @property
    def name(self) -> str:
        return self._name

    @property
    def warehouse(self) -> str | None:
        return self._warehouse

    @property
    def capabilities(self) -> CatalogCapabilities:
        return CatalogCapabilities(
            rename=True,
            views=self.rows.keeps_views,
            namespace_properties=True,
            register=True,
            custom_location=True,
            any_name=True,
            several_tables=True,
            namespaces_by_use=self.rows.namespaces_by_use,
        )

    @property
    def effects(self) -> Effects:
        return self._effects

    @property
    def stores(self) -> Stores:
        return self._stores

    def close(self) -> None:
        self.rows.close()

    def _shown(self, parts: Identifier | Namespace) -> str:
        return shown_name(self._name, parts)

    # namespaces

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        self.rows.check_names(namespace)
        self._check_properties(namespace, properties)
        is_new = not self.namespace_exists(namespace)
        if is_new:
            with self._known_outcome(f"namespace {self._shown(namespace)}: whether it was created"):
                is_new = self.rows.create_namespace(namespace, properties)
        if not is_new:
            raise NamespaceAlreadyExists(f"namespace {self._shown(namespace)} is there already")

    def drop_namespace(self, namespace: Namespace) -> None:
        self._require(namespace)
        inside = [*self.rows.list(namespace, TABLE), *self.rows.list(namespace, VIEW)]
        if inside or self.list_namespaces(namespace):
            held = ", ".join(str(i) for i in inside[:5]) or "other namespaces"
            raise NamespaceNotEmpty(
                f"namespace {self._shown(namespace)} is not empty: it holds {held}; drop them first"
            )
        with self._known_outcome(f"namespace {self._shown(namespace)}: whether it was dropped"):
            self.rows.drop_namespace(namespace)

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if parent:
            self._require(parent)
        depth = len(parent)
        return sorted({n[: depth + 1] for n in self.rows.namespaces() if len(n) > depth and n[:depth] == parent})

    def namespace_exists(self, namespace: Namespace) -> bool:
        depth = len(namespace)
        return depth > 0 and any(found[:depth] == namespace for found in self.rows.namespaces())

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        self._require(namespace)
        return self.rows.namespace_properties(namespace)

    def update_namespace_properties(
        self, namespace: Namespace, *, set: Mapping[str, str], remove: Collection[str]
    ) -> None:
        self._require(namespace)
        if both := sorted({*set} & {*remove}):
            raise InvalidInput(f"namespace {self._shown(namespace)}: set and removed at once: {', '.join(both)}")
        self._check_properties(namespace, {**set, **dict.fromkeys(remove, "")})
        with self._known_outcome(f"namespace {self._shown(namespace)}: whether its properties changed"):
            self.rows.update_namespace(namespace, set=set, remove=remove)

    def _check_properties(self, namespace: Namespace, properties: Mapping[str, object]) -> None:
        if RESERVED_NAMESPACE_PROPERTY in properties:
            raise InvalidInput(
                f"namespace {self._shown(namespace)}: the property {RESERVED_NAMESPACE_PROPERTY!r} is reserved"
            )
        for key, value in properties.items():
            if not isinstance(value, str) or not key:
                raise InvalidInput(
                    f"namespace {self._shown(namespace)}: property {key!r} must be a text, not {value!r}"
                )

    def _require(self, namespace: Namespace) -> None:
        if not self.namespace_exists(namespace):
            raise NamespaceNotFound(
                f"namespace {self._shown(namespace)} does not exist; create_namespace makes it", namespace=namespace
            )

    # tables

    def default_location(self, identifier: Identifier) -> str:
        """Below the namespace's `location`, or the warehouse. A folder that another table or view uses already (it was
        renamed, or registered) is not given twice: what cleans up one would delete the other's files."""
        self.rows.check_names(identifier.namespace, identifier.name)
        base = self.rows.namespace_properties(identifier.namespace).get("location")
        if base is None:
            if self._warehouse is None:
                raise InvalidInput(f"catalog {self._name} has no warehouse; give {identifier} a location")
            base = self._warehouse
            for level in identifier.namespace:
                base = join(base, folder_name(level))
        location = join(parse_from_user(base).text, folder_name(identifier.name))
        if self._unique_locations or self.rows.any_below(location):
            location = f"{location}-{self._effects.ids.uuid().hex}"
        return location

    def list_tables(self, namespace: Namespace) -> list[Identifier]:
        self._require(namespace)
        return sorted(self.rows.list(namespace, TABLE))

    def table_exists(self, identifier: Identifier) -> bool:
        return self.rows.get(identifier, TABLE) is not None

    def create_table(self, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
        self._check_new(identifier)
        pointer = self._pointer(identifier)
        return LoadedTable(pointer, pointer.create(metadata))

    def register_table(self, identifier: Identifier, metadata_location: str) -> LoadedTable:
        self._check_new(identifier)
        metadata = read_metadata(self._stores.for_location(metadata_location), metadata_location)
        pointer = self._pointer(identifier)
        with self._known_outcome(f"table {self._shown(identifier)}: whether it was registered"):
            inserted = self.rows.insert(identifier, TABLE, metadata_location)
        if not inserted:
            self._refuse_taken(identifier)
            raise TableAlreadyExists(f"{self._shown(identifier)} was created by someone else meanwhile")
        return LoadedTable(pointer, TableState(pointer.identifier, metadata, metadata_location))

    def swap_tables(self, swaps: Sequence[TableSwap]) -> list[TableState]:
        for one in swaps:
            if one.base is None:
                self._check_new(one.identifier)
        parts = [(self._pointer(one.identifier), one.base, one.new) for one in swaps]
        return swap_together(self.rows, self._stores, parts)

    def stage_table(self, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
        return staged_table(self, identifier, metadata)

    def load_table(self, identifier: Identifier) -> LoadedTable:
        pointer = self._pointer(identifier)
        return LoadedTable(pointer, pointer.refresh())

    def drop_table(self, identifier: Identifier, *, only_if: TableState | None = None, purge: bool = False) -> None:
        expected = None if only_if is None else only_if.metadata_location
        with self._known_outcome(
            f"table {self._shown(identifier)}, of which no file was deleted: whether it was dropped"
        ):
            dropped = self.rows.delete(identifier, TABLE, expected=expected)
        if dropped:
            return
        if expected is not None and self.table_exists(identifier):
            raise CommitConflict(f"table {self._shown(identifier)} was changed meanwhile")
        raise TableNotFound(f"table {self._shown(identifier)} does not exist", table=self._shown(identifier))

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        self._rename(source, target, TABLE)

    def _rename(self, source: Identifier, target: Identifier, kind: str) -> None:
        self.rows.check_names(target.namespace, target.name)
        self._require(target.namespace)
        if source == target and self.rows.kind_of(source) == kind:
            return
        with self._known_outcome(f"{self._shown(source)}: whether it was renamed"):
            self.rows.rename(source, target, kind)

    @contextmanager
    def _known_outcome(self, what: str) -> Iterator[None]:
        """Around a change that cannot be told from another's afterwards: a lost answer must not look as if the same call could
        be made again."""
        try:
            yield
        except Unavailable as failed:
            raise CatalogError(f"{what} is not known ({failed}); look before you try again") from failed

    def _pointer(self, identifier: Identifier) -> RowPointer:
        return RowPointer(
            identifier, self._shown(identifier), rows=self.rows, stores=self._stores, effects=self._effects
        )

    def _check_new(self, identifier: Identifier) -> None:
        self.rows.check_names(identifier.namespace, identifier.name)
        self._require(identifier.namespace)
        self._refuse_taken(identifier)

    def _refuse_taken(self, identifier: Identifier) -> None:
        kind = self.rows.kind_of(identifier)
        if kind == TABLE:
            raise TableAlreadyExists(f"table {self._shown(identifier)} is there already", table=str(identifier))
        if kind == VIEW:
            raise ViewAlreadyExists(f"{self._shown(identifier)} is there already, as a view", view=str(identifier))

    # views

    def list_views(self, namespace: Namespace) -> list[Identifier]:
        self._require(namespace)
        return sorted(self.rows.list(namespace, VIEW))

    def view_exists(self, identifier: Identifier) -> bool:
        return self.rows.get(identifier, VIEW) is not None

    def create_view(self, identifier: Identifier, metadata: ViewMetadata) -> LoadedView:
        self._require_views()
        self._check_new(identifier)
        return self._views.create(identifier, metadata)

    def load_view(self, identifier: Identifier) -> LoadedView:
        return self._views.load(identifier)

    def swap_view(self, base: LoadedView, new: ViewMetadata) -> LoadedView:
        self._require_views()
        return self._views.swap(base, new)

    def drop_view(self, identifier: Identifier) -> None:
        with self._known_outcome(f"view {self._shown(identifier)}: whether it was dropped"):
            self._views.drop(identifier)

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        self._require_views()
        self._rename(source, target, VIEW)

    def _require_views(self) -> None:
        if not self.rows.keeps_views:
            raise unsupported(
                self._name,
                "SQL",
                "keep views in a database of schema V0",
                "open it once with jdbc.schema-version=V1, which upgrades it",
            )


def folder_name(name: str) -> str:
    """The folder of a name: the name itself where a folder can have it, otherwise its encoding with a part of its hash, so
    that no two names share a folder."""
    try:
        return check_segment(name)
    except PathEscape:
        digest = hashlib.sha256(name.encode()).hexdigest()[:16]
        return f"{percent_encode(name, safe='').replace('.', '%2E')[:_MAX_ENCODED]}-{digest}"
