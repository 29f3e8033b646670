"""Making a catalog from its type and options."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final

from floeberg.catalogs.base import CatalogBackend
from floeberg.catalogs.filesystem import FilesystemCatalog
from floeberg.catalogs.memory import MemoryRows
from floeberg.catalogs.pointed import PointedCatalog
from floeberg.effects.protocols import Effects
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.storage.location import parse_from_user
from floeberg.storage.registry import StoreRegistry, Stores
from floeberg.storage.secret import Secret

FILESYSTEM: Final = "filesystem"
SQL: Final = "sql"
MEMORY: Final = "memory"
ALIASES: Final = {"hadoop": FILESYSTEM, "jdbc": SQL, "in-memory": MEMORY}
LATER: Final = ("rest", "hive", "glue", "nessie", "dynamodb", "snowflake")
CATALOG_OPTIONS: Final = frozenset({"type", "warehouse", "uri", "default-namespace"})
SQL_PREFIX: Final = "jdbc."


def open_catalog(
    name: str,
    *,
    type: str = FILESYSTEM,
    warehouse: str | None = None,
    uri: str | Secret | None = None,
    options: Mapping[str, str | Secret] | None = None,
    effects: Effects,
    stores: Stores | None = None,
) -> CatalogBackend:
    """A catalog. `options` are those of stores (`s3.endpoint` …) and, for SQL, `jdbc.*`.

    Raises UnsupportedFeature for a type that comes later, InvalidInput for one that nobody knows or what it lacks.
    """
    kind = ALIASES.get(type, type)
    given = dict(options or {})
    jdbc = {key: given.pop(key) for key in list(given) if key.startswith(SQL_PREFIX)}
    if kind in LATER:
        raise UnsupportedFeature(
            f"catalog {name}: a {type} catalog is not supported yet; filesystem, sql and memory catalogs are",
            catalog=name,
        )
    if kind not in (FILESYSTEM, SQL, MEMORY):
        raise InvalidInput(
            f"catalog {name}: unknown type {type!r}; one of filesystem (hadoop), sql (jdbc), memory (in-memory)"
        )
    where = None if warehouse is None else parse_from_user(warehouse).text.rstrip("/")
    registry = stores or StoreRegistry(effects, given)
    if kind == FILESYSTEM:
        if where is None:
            raise InvalidInput(
                f"catalog {name}: a filesystem catalog needs a warehouse: catalog({name!r}, warehouse=…)"
            )
        return FilesystemCatalog(name, warehouse=where, stores=registry, effects=effects)
    if kind == MEMORY:
        return PointedCatalog(
            name, warehouse=where or f"memory://{name}", rows=MemoryRows(), stores=registry, effects=effects
        )
    if uri is None:
        raise InvalidInput(
            f"catalog {name}: a SQL catalog needs a uri: catalog({name!r}, type='sql', uri='sqlite:///lake.db')"
        )
    try:
        sql = importlib.import_module("floeberg.catalogs.sql")
    except ModuleNotFoundError as error:
        raise UnsupportedFeature(
            f"catalog {name}: SQL catalogs need SQLAlchemy: pip install 'floeberg[sql]'"
        ) from error
    rows = sql.SqlRows.connect(name, uri=uri, options=jdbc, effects=effects)
    return PointedCatalog(name, warehouse=where, rows=rows, stores=registry, effects=effects)
