"""Every kind of catalog on every store it supports, for the contract that all of them keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from floeberg.api.catalog import Catalog
from floeberg.catalogs.base import CatalogCapabilities
from floeberg.catalogs.factory import open_catalog
from floeberg.effects.protocols import Store
from floeberg.effects.system import system_effects
from floeberg.storage.registry import StoreRegistry
from servers.s3_server import S3Server

KINDS = [
    "filesystem-local",
    "filesystem-memory",
    pytest.param("filesystem-s3", marks=pytest.mark.s3),
    "sqlite-local",
    "sqlite-v0",
    pytest.param("postgres-local", marks=pytest.mark.postgres),
    "memory",
]


@dataclass(frozen=True)
class Lake:
    """A catalog under test, and the means to open the same one again, as another process would."""

    kind: str
    catalog: Catalog
    warehouse: str
    reopen: Callable[[], Catalog]
    stores: StoreRegistry
    server_properties: Mapping[str, str] = field(default_factory=dict)
    """What the catalog itself puts into every new table."""
    is_tidy: bool = True
    """Whether what a refused change wrote is removed again."""

    @property
    def can(self) -> CatalogCapabilities:
        return self.catalog._backend.capabilities

    @property
    def store(self) -> Store:
        return self.stores.for_location(self.warehouse)

    def files(self, below: str | None = None) -> list[str]:
        """Every file in the warehouse, but for the markers of namespaces."""
        listed = (info.location for info in self.store.list(below or self.warehouse))
        return sorted(location for location in listed if not location.endswith("/.namespace"))


def make_lake(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    database, _, place = kind.partition("-")
    options: dict[str, str] = {}
    warehouse = str(tmp_path / "warehouse")
    if place == "s3":
        server: S3Server = request.getfixturevalue("s3_server")
        options |= server.options()
        warehouse = f"s3://{server.new_bucket()}/warehouse"
    elif place == "memory" or kind == "memory":
        warehouse = "memory://world/warehouse"
    uri: str | None = None
    jdbc: dict[str, str] = {}
    if database == "sqlite":
        uri = f"sqlite:///{tmp_path}/lake.db"
        jdbc = {"jdbc.schema-version": "V0"} if place == "v0" else {}
    elif database == "postgres":
        uri = request.getfixturevalue("fresh_postgres")
    effects = system_effects()
    stores = StoreRegistry(effects, {**options, "local.fsync": "false"})
    opened: list[Catalog] = []

    def open_it() -> Catalog:
        kind_of = {"sqlite": "sql", "postgres": "sql"}.get(database, database)
        if kind_of == "memory" and opened:
            return opened[0]
        backend = open_catalog(
            "lake", type=kind_of, warehouse=warehouse, uri=uri, options=jdbc, effects=effects, stores=stores
        )
        opened.append(Catalog(backend))
        return opened[-1]

    lake = Lake(kind, open_it(), warehouse, open_it, stores)
    request.addfinalizer(lambda: [one.close() for one in opened])
    return lake
