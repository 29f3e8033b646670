"""A catalog behind our server, asked without a network, and the bodies of requests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from starlette.types import ASGIApp

import floeberg as fb
from floeberg.server.http.app import make_app
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings

SCHEMA: dict[str, Any] = {
    "type": "struct",
    "fields": [
        {"id": 7, "name": "id", "type": "long", "required": False},
        {"id": 9, "name": "s", "type": "string", "required": False},
    ],
}
TABLES = "/v1/lake/namespaces/db/tables"


class AppClient:
    """Asks an application as an HTTP client does, without a network; from several threads at once, if need be."""

    def __init__(self, app: ASGIApp, base_url: str = "http://127.0.0.1:8181") -> None:
        self._app = app
        self._base_url = base_url

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        return asyncio.run(self._ask(method, path, given))

    async def _ask(self, method: str, path: str, given: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(app=self._app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=self._base_url) as client:
            return await client.request(method, path, **given)

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.request("GET", path, **given)

    def head(self, path: str, **given: Any) -> httpx.Response:
        return self.request("HEAD", path, **given)

    def post(self, path: str, **given: Any) -> httpx.Response:
        return self.request("POST", path, **given)

    def delete(self, path: str, **given: Any) -> httpx.Response:
        return self.request("DELETE", path, **given)


@dataclass(frozen=True, slots=True)
class RestLake:
    """A catalog named `lake` with a namespace `db`, and a client of its server."""

    catalog: fb.Catalog
    client: AppClient
    warehouse: str

    def create(self, name: str = "t", **given: Any) -> dict[str, Any]:
        """The answer to creating a table."""
        answer = self.client.post(TABLES, json={"name": name, "schema": SCHEMA, **given})
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json()
        return document


@contextmanager
def open_lake(kind: str, folder: Path, *, settings: ServerSettings | None = None, **served: Any) -> Iterator[RestLake]:
    """A catalog of a kind behind the server."""
    warehouse = str(folder / "lake")
    given: dict[str, Any] = {"type": "sql", "uri": f"sqlite:///{folder}/lake.db"} if kind == "sql" else {}
    with fb.catalog("lake", warehouse=warehouse, **given) as catalog:
        catalog.create_namespace("db", if_not_exists=True)
        app = make_app([ServedCatalog.of(catalog, warehouse=warehouse, **served)], settings or ServerSettings())
        yield RestLake(catalog, AppClient(app), warehouse)
