"""Every endpoint that the server has: what clients are told and what requests reach are one list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from floeberg.catalogs.base import CatalogCapabilities
from floeberg.server.rest import commits, metrics, namespaces, new_tables, planning, tables, transactions, views
from floeberg.server.rest.calls import Handler
from floeberg.server.served_catalog import ServedCatalog

_Offered = Callable[[CatalogCapabilities], bool]

_NAMESPACES: Final = "/v1/{prefix}/namespaces"
_NAMESPACE: Final = "/v1/{prefix}/namespaces/{namespace}"
_TABLE: Final = f"{_NAMESPACE}/tables/{{table}}"
_VIEW: Final = f"{_NAMESPACE}/views/{{view}}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method and path of the protocol, and what answers it. Catalogs that cannot do it do not offer it, but are asked all
    the same: their error says why."""

    method: str
    path: str
    handler: Handler
    changes: bool = False
    offered: _Offered = lambda capabilities: True

    def is_offered_by(self, served: ServedCatalog) -> bool:
        return self.offered(served.backend.capabilities) and not (self.changes and served.read_only)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def _keeps_properties(capabilities: CatalogCapabilities) -> bool:
    return capabilities.namespace_properties


def _registers(capabilities: CatalogCapabilities) -> bool:
    return capabilities.register


def _renames(capabilities: CatalogCapabilities) -> bool:
    return capabilities.rename


def _commits_several(capabilities: CatalogCapabilities) -> bool:
    return capabilities.several_tables


def _keeps_views(capabilities: CatalogCapabilities) -> bool:
    return capabilities.views


ENDPOINTS: Final = (
    Endpoint("GET", _NAMESPACES, namespaces.list_namespaces),
    Endpoint("POST", _NAMESPACES, namespaces.create_namespace, changes=True),
    Endpoint("GET", _NAMESPACE, namespaces.load_namespace),
    Endpoint("HEAD", _NAMESPACE, namespaces.namespace_exists),
    Endpoint("DELETE", _NAMESPACE, namespaces.drop_namespace, changes=True),
    Endpoint("POST", f"{_NAMESPACE}/properties", namespaces.update_properties, changes=True, offered=_keeps_properties),
    Endpoint("GET", f"{_NAMESPACE}/tables", tables.list_tables),
    Endpoint("POST", f"{_NAMESPACE}/tables", new_tables.create_table, changes=True),
    Endpoint("GET", _TABLE, tables.load_table),
    Endpoint("HEAD", _TABLE, tables.table_exists),
    Endpoint("POST", _TABLE, commits.commit_table, changes=True),
    Endpoint("DELETE", _TABLE, tables.drop_table, changes=True),
    Endpoint("POST", f"{_NAMESPACE}/register", tables.register_table, changes=True, offered=_registers),
    Endpoint("POST", f"{_TABLE}/plan", planning.plan_table_scan),
    Endpoint("POST", f"{_TABLE}/tasks", planning.fetch_scan_tasks),
    Endpoint("POST", f"{_TABLE}/metrics", metrics.report_metrics),
    Endpoint("POST", "/v1/{prefix}/tables/rename", tables.rename_table, changes=True, offered=_renames),
    Endpoint(
        "POST",
        "/v1/{prefix}/transactions/commit",
        transactions.commit_transaction,
        changes=True,
        offered=_commits_several,
    ),
    Endpoint("GET", f"{_NAMESPACE}/views", views.list_views, offered=_keeps_views),
    Endpoint("POST", f"{_NAMESPACE}/views", views.create_view, changes=True, offered=_keeps_views),
    Endpoint("GET", _VIEW, views.load_view, offered=_keeps_views),
    Endpoint("HEAD", _VIEW, views.view_exists, offered=_keeps_views),
    Endpoint("POST", _VIEW, views.commit_view, changes=True, offered=_keeps_views),
    Endpoint("DELETE", _VIEW, views.drop_view, changes=True, offered=_keeps_views),
    Endpoint("POST", "/v1/{prefix}/views/rename", views.rename_view, changes=True, offered=_keeps_views),
)
