"""Catalogs, namespaces and views."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.server.page.rendering import page
from floeberg.server.served_catalog import ServedCatalog
from floeberg.storage.secret import redact_options


def catalogs(served: Mapping[str, ServedCatalog]) -> Response:
    found = [(one.name, one.backend.list_namespaces(), one.read_only) for one in served.values()]
    return page("catalogs.html", {"title": "Catalogs", "catalogs": found})


def namespaces(served: ServedCatalog) -> Response:
    return page(
        "namespace.html",
        {
            "title": served.name,
            "catalog": served.name,
            "namespace": (),
            "namespaces": served.backend.list_namespaces(),
            "tables": [],
            "views": [],
            "properties": {},
        },
    )


def namespace(served: ServedCatalog, levels: Namespace) -> Response:
    backend = served.backend
    return page(
        "namespace.html",
        {
            "title": ".".join(levels),
            "catalog": served.name,
            "namespace": levels,
            "namespaces": backend.list_namespaces(levels),
            "tables": sorted(backend.list_tables(levels)),
            "views": sorted(backend.list_views(levels)),
            "properties": redact_options(backend.namespace_properties(levels)),
        },
    )


def view(served: ServedCatalog, identifier: Identifier) -> Response:
    loaded = served.backend.load_view(identifier)
    metadata = loaded.metadata
    return page(
        "view.html",
        {
            "title": str(identifier),
            "catalog": served.name,
            "identifier": identifier,
            "metadata": metadata,
            "versions": sorted(metadata.versions, key=lambda one: one.version_id, reverse=True),
            "properties": redact_options(metadata.properties),
        },
    )
