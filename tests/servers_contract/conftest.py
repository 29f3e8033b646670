from __future__ import annotations

from collections.abc import Iterator

import pytest

from floeberg.api.catalog import Catalog, catalog
from floeberg.effects.system import system_effects
from floeberg.storage.registry import StoreRegistry
from lakes.catalogs_lake import Lake
from servers.rest_servers import RestServer, running_java_server, running_nessie
from servers.s3_server import running_s3_server

SERVERS = ["java", "nessie"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "servers_contract" in str(item.path):
            item.add_marker(pytest.mark.servers)


@pytest.fixture(scope="session")
def java_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    with running_java_server(tmp_path_factory.mktemp("java-server")) as server:
        yield server


@pytest.fixture(scope="session")
def nessie_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    with running_s3_server() as s3, running_nessie(tmp_path_factory.mktemp("nessie"), s3) as server:
        yield server


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> RestServer:
    """A running server with nothing in it."""
    found: RestServer = request.getfixturevalue(f"{request.param}_server")
    found.forget()
    return found


@pytest.fixture
def lake(server: RestServer) -> Iterator[Lake]:
    """A catalog with the namespace `db`, as the contract of all catalogs wants it."""
    opened: list[Catalog] = []

    def open_it() -> Catalog:
        opened.append(catalog("lake", type="rest", uri=server.uri, properties=server.options))
        return opened[-1]

    stores = StoreRegistry(system_effects(), {"local.fsync": "false", **server.options})
    made = Lake(
        f"rest-{server.kind}", open_it(), server.warehouse, open_it, stores, server.table_properties, is_tidy=False
    )
    made.catalog.create_namespace("db")
    yield made
    for one in opened:
        one.close()
