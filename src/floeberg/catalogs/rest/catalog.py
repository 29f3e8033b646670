"""A catalog behind the Iceberg REST protocol."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import httpx

from floeberg.catalogs.base import (
    CHOSEN_BY_CATALOG,
    CatalogCapabilities,
    LoadedTable,
    LoadedView,
    TableSwap,
    unsupported,
)
from floeberg.catalogs.given_settings import GivenSettings
from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.catalogs.rest import endpoints as e
from floeberg.catalogs.rest.metrics import MetricsReporter
from floeberg.catalogs.rest.namespaces import RestNamespaces
from floeberg.catalogs.rest.session import RestSession, open_session
from floeberg.catalogs.rest.settings import rest_settings
from floeberg.catalogs.rest.tables import RestTables
from floeberg.catalogs.rest.transactions import commit_transaction
from floeberg.catalogs.rest.views import RestViews
from floeberg.commit.pointer import TableState
from floeberg.effects.protocols import Effects
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.view_metadata import ViewMetadata
from floeberg.storage.registry import StoreRegistry
from floeberg.storage.secret import Secret


class RestCatalog:
    """A catalog that a server keeps."""

    given: GivenSettings | None = None
    """By which another process opens it again."""

    def __init__(self, session: RestSession, *, stores: StoreRegistry) -> None:
        self._session = session
        self._stores = stores
        self._namespaces = RestNamespaces(session)
        self._reporter = MetricsReporter(session)
        self._tables = RestTables(session, stores=stores, reporter=self._reporter)
        self._views = RestViews(session)

    def __repr__(self) -> str:
        return f"RestCatalog({self.name!r}, {self._session.settings.uri!r})"

    @property
    def name(self) -> str:
        return self._session.name

    @property
    def capabilities(self) -> CatalogCapabilities:
        return CatalogCapabilities(
            rename=self._session.offers(e.RENAME_TABLE),
            views=self._views.are_offered,
            namespace_properties=self._session.offers(e.UPDATE_NAMESPACE),
            register=self._session.offers(e.REGISTER_TABLE),
            custom_location=True,
            any_name=True,
            several_tables=self._session.offers(e.COMMIT_TRANSACTION),
            purge=True,
        )

    @property
    def effects(self) -> Effects:
        return self._session.effects

    @property
    def stores(self) -> StoreRegistry:
        return self._stores

    def close(self) -> None:
        self._reporter.close()
        self._session.client.close()

    # namespaces

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        self._session.require(e.CREATE_NAMESPACE, "create namespaces")
        self._namespaces.create(namespace, properties)

    def drop_namespace(self, namespace: Namespace) -> None:
        self._session.require(e.DROP_NAMESPACE, "drop namespaces")
        self._namespaces.drop(namespace)

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        return self._namespaces.list(parent)

    def namespace_exists(self, namespace: Namespace) -> bool:
        return self._namespaces.exists(namespace)

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        return self._namespaces.properties(namespace)

    def update_namespace_properties(
        self, namespace: Namespace, *, set: Mapping[str, str], remove: Collection[str]
    ) -> None:
        self._namespaces.update(namespace, set=set, remove=remove)

    # tables

    def default_location(self, identifier: Identifier) -> str:
        """The server decides when the table is created or staged."""
        return CHOSEN_BY_CATALOG

    def list_tables(self, namespace: Namespace) -> list[Identifier]:
        found = self._tables.list(namespace)
        if not found:
            self._namespaces.require(namespace)  # some servers answer for an unknown namespace with an empty list
        return found

    def table_exists(self, identifier: Identifier) -> bool:
        return self._tables.exists(identifier)

    def create_table(self, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
        self._session.require(e.CREATE_TABLE, "create tables")
        return self._tables.create(identifier, metadata)

    def stage_table(self, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
        self._session.require(e.CREATE_TABLE, "create tables")
        return self._tables.stage(identifier, metadata)

    def load_table(self, identifier: Identifier) -> LoadedTable:
        return self._tables.load(identifier)

    def register_table(self, identifier: Identifier, metadata_location: str) -> LoadedTable:
        return self._tables.register(identifier, metadata_location)

    def drop_table(self, identifier: Identifier, *, only_if: TableState | None = None, purge: bool = False) -> None:
        self._session.require(e.DROP_TABLE, "drop tables")
        self._tables.drop(identifier, only_if=only_if, purge=purge)

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        self._tables.rename(source, target)

    def swap_tables(self, swaps: Sequence[TableSwap]) -> list[TableState]:
        """Makes the new metadata of several tables current, all of them or none, by one request. Raises CommitConflict,
        CommitUnknown, WriteRefused, UnsupportedFeature."""
        return commit_transaction(self._session, self._tables, swaps)

    # views

    def list_views(self, namespace: Namespace) -> list[Identifier]:
        found = self._views.list(namespace) if self._views.are_offered else []
        if not found:
            self._namespaces.require(namespace)
        return found

    def view_exists(self, identifier: Identifier) -> bool:
        return self._views.exists(identifier)

    def create_view(self, identifier: Identifier, metadata: ViewMetadata) -> LoadedView:
        self._require_views()
        self._namespaces.require(identifier.namespace)  # some servers keep a view in a namespace that is not there
        return self._views.create(identifier, metadata)

    def load_view(self, identifier: Identifier) -> LoadedView:
        return self._views.load(identifier)

    def swap_view(self, base: LoadedView, new: ViewMetadata) -> LoadedView:
        self._require_views()
        return self._views.swap(base, new)

    def drop_view(self, identifier: Identifier) -> None:
        self._views.drop(identifier)

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        self._require_views()
        self._views.rename(source, target)

    def _require_views(self) -> None:
        if not self._views.are_offered:
            raise unsupported(
                self.name, "REST", "keep views on this server", "its /v1/config lists no endpoint for them"
            )


def open_rest_catalog(
    name: str,
    *,
    uri: str | Secret | None,
    warehouse: str | None,
    options: Mapping[str, str | Secret],
    effects: Effects,
    stores: StoreRegistry | None = None,
    transport: httpx.BaseTransport | None = None,
) -> RestCatalog:
    """Connects to a REST catalog. `transport` takes the network's place in tests. Raises InvalidInput, Unavailable,
    Unauthorized, Forbidden, CatalogError."""
    settings = rest_settings(name, uri=uri, warehouse=warehouse, options=options)
    session = open_session(name, settings, effects=effects, transport=transport)
    return RestCatalog(session, stores=stores or StoreRegistry(effects, session.settings.stores))
