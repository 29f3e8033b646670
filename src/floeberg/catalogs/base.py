"""The interface of every catalog. A catalog knows metadata and one compare-and-swap per table; it knows no rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from floeberg.catalogs.identifiers import Identifier, Namespace, quote
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.effects.protocols import Effects
from floeberg.errors import UnsupportedFeature
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.view_metadata import ViewMetadata
from floeberg.storage.registry import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogCapabilities:
    """What a catalog can do beyond creating, loading, committing and dropping tables."""

    rename: bool
    views: bool
    namespace_properties: bool
    register: bool
    """Whether a table can be taken over by its metadata file, wherever that lies."""
    custom_location: bool
    """Whether a table may have a location of its own."""
    any_name: bool
    """Whether names may have characters that no folder can have."""
    several_tables: bool = False
    """Whether one commit can change several tables, all of them or none."""
    purge: bool = False
    """Whether the catalog itself deletes the files of a table that is dropped with `purge`."""
    namespaces_by_use: bool = False
    """Whether SQL that creates a table makes its missing namespace, as in the Java library's catalog of that kind."""


CHOSEN_BY_CATALOG: Final = "catalog:/chosen-by-the-catalog"
"""In place of a new table's location, where only the catalog knows it: creating or staging the table gives the real one."""


def is_chosen_by_catalog(location: str) -> bool:
    """Whether a location stands for one that the catalog will choose."""
    return location == CHOSEN_BY_CATALOG


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table as it was loaded: the pointer to commit through, and its state then."""

    pointer: TablePointer
    state: TableState


@dataclass(frozen=True, slots=True)
class TableSwap:
    """One table of a commit over several: what it was planned on (None: the table is created) and what it becomes. A table
    that stays as it is takes part where the commit depends on that."""

    identifier: Identifier
    base: TableState | None
    new: TableMetadata

    @property
    def only_holds(self) -> bool:
        """Whether the table is not written, and the commit is refused when another one changed it."""
        return self.base is not None and self.new is self.base.metadata


@dataclass(frozen=True, slots=True)
class LoadedView:
    """A view as it was loaded."""

    identifier: Identifier
    metadata: ViewMetadata
    metadata_location: str | None


class CatalogBackend(Protocol):
    """A catalog. Names are given as Identifier and Namespace; errors name them with the catalog's own name in front."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> CatalogCapabilities: ...

    @property
    def effects(self) -> Effects: ...

    @property
    def stores(self) -> Stores: ...

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """Raises NamespaceAlreadyExists."""
        ...

    def drop_namespace(self, namespace: Namespace) -> None:
        """Raises NamespaceNotFound, and NamespaceNotEmpty."""
        ...

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        """The namespaces directly below `parent`."""
        ...

    def namespace_exists(self, namespace: Namespace) -> bool: ...

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        """Raises NamespaceNotFound."""
        ...

    def update_namespace_properties(
        self, namespace: Namespace, *, set: Mapping[str, str], remove: Collection[str]
    ) -> None:
        """Raises NamespaceNotFound, and UnsupportedFeature."""
        ...

    def list_tables(self, namespace: Namespace) -> list[Identifier]:
        """Raises NamespaceNotFound."""
        ...

    def table_exists(self, identifier: Identifier) -> bool: ...

    def default_location(self, identifier: Identifier) -> str:
        """Where a new table goes when its creator does not say; CHOSEN_BY_CATALOG where that is known later."""
        ...

    def create_table(self, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
        """Publishes a new table. Raises TableAlreadyExists, NamespaceNotFound."""
        ...

    def stage_table(self, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
        """A table to be, as the catalog will have it: data files can be written for it, and the first swap of its pointer
        publishes it with them, or nothing. Nothing is in the catalog before that."""
        ...

    def load_table(self, identifier: Identifier) -> LoadedTable:
        """Raises TableNotFound."""
        ...

    def swap_tables(self, swaps: Sequence[TableSwap]) -> list[TableState]:
        """Makes every `new` its table's metadata if every `base` still is, or changes nothing. Raises CommitConflict when it
        is proved that nothing became visible, CommitUnknown when that cannot be told, UnsupportedFeature."""
        ...

    def register_table(self, identifier: Identifier, metadata_location: str) -> LoadedTable:
        """Takes over a table whose metadata file is there. Raises TableAlreadyExists."""
        ...

    def drop_table(self, identifier: Identifier, *, only_if: TableState | None = None, purge: bool = False) -> None:
        """Removes a table from the catalog and leaves its data files, even if its metadata cannot be read. Given `only_if`
        (for a purge), only if that is still its state; with `purge`, a catalog that says so in its capabilities deletes the
        files. Raises TableNotFound, CommitConflict."""
        ...

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        """Raises TableNotFound, TableAlreadyExists, NamespaceNotFound, UnsupportedFeature."""
        ...

    def list_views(self, namespace: Namespace) -> list[Identifier]: ...

    def view_exists(self, identifier: Identifier) -> bool: ...

    def create_view(self, identifier: Identifier, metadata: ViewMetadata) -> LoadedView:
        """Raises ViewAlreadyExists, TableAlreadyExists, NamespaceNotFound, UnsupportedFeature."""
        ...

    def load_view(self, identifier: Identifier) -> LoadedView:
        """Raises ViewNotFound."""
        ...

    def swap_view(self, base: LoadedView, new: ViewMetadata) -> LoadedView:
        """Raises CommitConflict, CommitUnknown."""
        ...

    def drop_view(self, identifier: Identifier) -> None:
        """Raises ViewNotFound."""
        ...

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        """Raises ViewNotFound, ViewAlreadyExists, TableAlreadyExists, NamespaceNotFound, UnsupportedFeature."""
        ...

    def close(self) -> None: ...


def unsupported(catalog: str, kind: str, what: str, instead: str) -> UnsupportedFeature:
    """The error for what a kind of catalog cannot do; raised before anything is made."""
    return UnsupportedFeature(f"catalog {catalog}: a {kind} catalog cannot {what}; {instead}", catalog=catalog)


def shown_name(catalog: str, parts: Identifier | Namespace) -> str:
    """A name for messages, with the catalog's in front."""
    return f"{catalog}.{parts if isinstance(parts, Identifier) else '.'.join(quote(level) for level in parts)}"
