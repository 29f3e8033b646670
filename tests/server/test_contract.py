"""The contract of all our catalogs, kept by our client of REST catalogs over our server over a SQL catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import floeberg as fb
from catalogs import test_concurrency, test_namespaces, test_tables, test_views
from floeberg.api.catalog import Catalog
from floeberg.effects.system import system_effects
from floeberg.errors import BadRequest, Unavailable
from floeberg.server.served_catalog import ServedCatalog
from floeberg.storage.registry import StoreRegistry
from lakes.catalogs_lake import Lake
from servers.floeberg_server import server_in_thread
from servers_contract.test_contract import cases


def a_broken_table_is_a_fault_of_the_server_and_can_be_dropped(lake: Lake) -> None:
    table = lake.catalog.create_table("db.t", "id int")
    lake.store.replace(str(table.metadata_location), b'{"format-version": 2')
    with pytest.raises(Unavailable, match="is not valid JSON"):
        lake.catalog.load_table("db.t")
    lake.catalog.drop_table("db.t")
    assert not lake.catalog.table_exists("db.t")


def properties_are_kept_and_reserved_ones_refused_by_the_server(lake: Lake) -> None:
    cat = lake.catalog
    cat.create_namespace("p", {"owner": "me", "x%_": "1"})
    cat.update_namespace_properties("p", set={"owner": "you", "new": "2"}, remove=["x%_", "never there"])
    assert lake.reopen().namespace_properties("p") == {"owner": "you", "new": "2"}
    with pytest.raises(BadRequest, match="reserved"):
        cat.update_namespace_properties("p", set={"exists": "no"})


DIFFERENCES = {
    "test_a_table_whose_metadata_is_broken_can_be_dropped": a_broken_table_is_a_fault_of_the_server_and_can_be_dropped,
    "test_properties_are_kept_where_the_catalog_keeps_them": properties_are_kept_and_reserved_ones_refused_by_the_server,
}
"""Where an error is told by a status, its class is the status's."""


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """A catalog with the namespace `db`, as the contract of all catalogs wants it."""
    warehouse = str(tmp_path / "warehouse")
    opened: list[Catalog] = []
    with (
        fb.catalog("lake", type="sql", uri=f"sqlite:///{tmp_path}/lake.db", warehouse=warehouse) as served,
        server_in_thread([ServedCatalog.of(served, warehouse=warehouse, roots=[str(tmp_path)])]) as url,
    ):

        def open_it() -> Catalog:
            opened.append(fb.catalog("lake", type="rest", uri=url))
            return opened[-1]

        stores = StoreRegistry(system_effects(), {"local.fsync": "false"})
        made = Lake("rest-floeberg", open_it(), warehouse, open_it, stores)
        made.catalog.create_namespace("db")
        yield made
        for one in opened:
            one.close()


@pytest.mark.parametrize(
    "case",
    [*cases(test_tables), *cases(test_namespaces), *cases(test_views), *cases(test_concurrency)],
    ids=lambda case: case.__name__.removeprefix("test_"),
)
def test_the_contract_of_catalogs(lake: Lake, case: Callable[[Lake], None]) -> None:
    DIFFERENCES.get(case.__name__, case)(lake)
