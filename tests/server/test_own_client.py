"""Our client at our server keeps the contract of all our catalogs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from catalogs import test_namespaces, test_tables, test_views
from floeberg.api.catalog import Catalog
from floeberg.catalogs.rest.catalog import open_rest_catalog
from floeberg.effects.system import system_effects
from floeberg.errors import AlreadyExists, BadRequest, TableAlreadyExists, Unavailable, ViewAlreadyExists
from floeberg.storage.registry import StoreRegistry
from lakes.catalogs_lake import Lake
from servers.rest_lake import AppClient, open_lake


def a_broken_table_is_told_as_the_servers_failure(lake: Lake) -> None:
    table = lake.catalog.create_table("db.t", "id int")
    lake.store.replace(str(table.metadata_location), b'{"format-version": 2')
    with pytest.raises(Unavailable, match="is not valid JSON"):
        lake.catalog.load_table("db.t")
    lake.catalog.drop_table("db.t")
    assert not lake.catalog.table_exists("db.t")


def a_reserved_property_is_the_servers_to_refuse(lake: Lake) -> None:
    cat = lake.catalog
    cat.create_namespace("p", {"owner": "me", "x%_": "1"})
    cat.update_namespace_properties("p", set={"owner": "you"}, remove=["x%_", "never there"])
    assert lake.reopen().namespace_properties("p") == {"owner": "you"}
    with pytest.raises(BadRequest, match="reserved"):
        cat.update_namespace_properties("p", set={"exists": "no"})


def a_taken_name_is_refused_whatever_has_it(lake: Lake) -> None:
    """Of a renaming the server does not say whether a table or a view has the name."""
    cat = lake.catalog
    cat.create_table("db.t", "id int")
    cat.create_view("db.v", "SELECT 1 AS a", "a int")
    with pytest.raises(TableAlreadyExists):
        cat.create_view("db.t", "SELECT 1", "a int")
    with pytest.raises(ViewAlreadyExists):
        cat.create_table("db.v", "id int")
    with pytest.raises(AlreadyExists):
        cat.rename_table("db.t", "db.v")
    with pytest.raises(AlreadyExists):
        cat.rename_view("db.v", "db.t")


OTHERWISE = {
    "test_views_and_tables_share_their_names": a_taken_name_is_refused_whatever_has_it,
    "test_a_table_whose_metadata_is_broken_can_be_dropped": a_broken_table_is_told_as_the_servers_failure,
    "test_properties_are_kept_where_the_catalog_keeps_them": a_reserved_property_is_the_servers_to_refuse,
}
"""What differs with a server in between, and its own answer."""


class InProcess(httpx.BaseTransport):
    """Requests to an application without a network."""

    def __init__(self, client: AppClient) -> None:
        self._client = client

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        answer = self._client.request(request.method, path, content=request.content, headers=dict(request.headers))
        return httpx.Response(answer.status_code, content=answer.content, headers=answer.headers)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    effects = system_effects()
    stores = StoreRegistry(effects, {"local.fsync": "false"})
    with open_lake("sql", tmp_path) as served:

        def open_it() -> Catalog:
            transport = InProcess(served.client)
            backend = open_rest_catalog(
                "lake",
                uri="http://127.0.0.1:8181",
                warehouse=None,
                options={},
                effects=effects,
                stores=stores,
                transport=transport,
            )
            return Catalog(backend)

        made = Lake("rest-own", open_it(), served.warehouse, open_it, stores)
        if not made.catalog.namespace_exists("db"):
            made.catalog.create_namespace("db")
        yield made


def cases() -> list[Callable[[Lake], None]]:
    modules = (test_tables, test_namespaces, test_views)
    functions = [
        one for module in modules for name, one in inspect.getmembers(module, inspect.isfunction) if name[:5] == "test_"
    ]
    return [one for one in functions if list(inspect.signature(one).parameters) == ["lake"]]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.__name__.removeprefix("test_"))
def test_the_contract_of_catalogs(lake: Lake, case: Callable[[Lake], None]) -> None:
    OTHERWISE.get(case.__name__, case)(lake)
