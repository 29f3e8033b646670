"""Making a catalog from its type and options."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Final, Protocol

from floeberg.catalogs.base import CatalogBackend
from floeberg.catalogs.filesystem import FilesystemCatalog
from floeberg.catalogs.given_settings import GivenSettings
from floeberg.catalogs.memory import MemoryRows
from floeberg.catalogs.pointed import PointedCatalog
from floeberg.catalogs.pointer_rows import PointerRows
from floeberg.effects.protocols import Effects
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.storage.location import GivenPath, parse_from_user
from floeberg.storage.registry import OPTIONS, StoreRegistry, Stores
from floeberg.storage.secret import Secret, found_secret, seal_options

FILESYSTEM: Final = "filesystem"
SQL: Final = "sql"
MEMORY: Final = "memory"
REST: Final = "rest"
ALIASES: Final = {"hadoop": FILESYSTEM, "jdbc": SQL, "in-memory": MEMORY}
LATER: Final = ("hive", "glue", "nessie", "dynamodb", "snowflake", "bigquery", "ecs")
SQL_PREFIX: Final = "jdbc."
UNIQUE_LOCATION: Final = "unique-table-location"
STORE_WORDS: Final = (*OPTIONS, "client")
IGNORED: Final = re.compile(
    r"cache-enabled|cache\..*|io-impl|clients|metrics-reporter-impl|lock-impl|lock\..*|catalog-impl|suppress-permission-error"
)
"""Options of the Java runtime that mean nothing here: there is no cache to be stale, and no class to be loaded."""


class OpenedCatalog(CatalogBackend, Protocol):
    """A catalog that remembers what it was opened with."""

    given: GivenSettings | None


def open_catalog(
    name: str,
    *,
    type: str = FILESYSTEM,
    warehouse: GivenPath | None = None,
    uri: str | Secret | None = None,
    options: Mapping[str, str | Secret] | None = None,
    effects: Effects,
    stores: Stores | None = None,
) -> CatalogBackend:
    """A catalog. `options` are those of stores (`s3.endpoint` …), `unique-table-location` and, for SQL, `jdbc.*`. The uri and
    the options may name credentials, `secret:env:NAME` or `secret:file:PATH`.

    Raises UnsupportedFeature for a type that comes later, InvalidInput for a type or option that nobody knows.
    """
    kind = _kind(name, type)
    given = {key: found_secret(value) for key, value in (options or {}).items() if not IGNORED.fullmatch(key)}
    if uri is not None and not isinstance(uri, (str, Secret)):
        raise InvalidInput(f"catalog {name}: uri is text such as 'sqlite:///lake.db', not {uri!r:.60}")
    address = None if uri is None else found_secret(uri)
    where = None if warehouse is None else str(warehouse) if kind == REST else parse_from_user(warehouse).text
    backend = _open(name, kind, warehouse=where, uri=address, options=given, effects=effects, stores=stores)
    if stores is None:
        sealed = seal_options({**given, **({} if address is None else {"uri": address})})
        backend.given = GivenSettings(type=kind, warehouse=where, uri=sealed.pop("uri", None), options=sealed)
    return backend


def _open(
    name: str,
    kind: str,
    *,
    warehouse: str | None,
    uri: str | Secret | None,
    options: Mapping[str, str | Secret],
    effects: Effects,
    stores: Stores | None,
) -> OpenedCatalog:
    given = dict(options)
    if kind == REST:
        return _rest_catalog(name, uri=uri, warehouse=warehouse, options=given, effects=effects, stores=stores)
    jdbc = {key: given.pop(key) for key in list(given) if key.startswith(SQL_PREFIX)}
    unique = str(given.pop(UNIQUE_LOCATION, "false")).lower() == "true"
    _check(name, kind, uri=uri, jdbc=jdbc, given=given)
    if kind == FILESYSTEM and warehouse is None:
        raise InvalidInput(f"catalog {name}: a filesystem catalog needs a warehouse: catalog({name!r}, warehouse=…)")
    registry = stores or StoreRegistry(effects, given)
    if kind == FILESYSTEM and warehouse is not None:
        return FilesystemCatalog(name, warehouse=warehouse, stores=registry, effects=effects)
    rows: PointerRows
    if kind == MEMORY:
        rows, warehouse = MemoryRows(), warehouse or "memory://warehouse"
    else:
        rows = _sql_rows(name, uri, jdbc)
    return PointedCatalog(
        name, warehouse=warehouse, rows=rows, stores=registry, effects=effects, unique_locations=unique
    )


def _kind(name: str, type: str) -> str:
    kind = ALIASES.get(type.lower(), type.lower())
    if kind in LATER:
        raise UnsupportedFeature(
            f"catalog {name}: a {type} catalog is not supported yet, it comes later; filesystem, sql, rest and memory "
            "catalogs are there",
            catalog=name,
        )
    if kind not in (FILESYSTEM, SQL, MEMORY, REST):
        raise InvalidInput(
            f"catalog {name}: unknown type {type!r}; one of filesystem (hadoop), sql (jdbc), rest, memory (in-memory)"
        )
    return kind


def _check(
    name: str, kind: str, *, uri: str | Secret | None, jdbc: Mapping[str, object], given: Mapping[str, object]
) -> None:
    if kind == SQL and uri is None:
        raise InvalidInput(
            f"catalog {name}: a SQL catalog needs a uri: catalog({name!r}, type='sql', uri='sqlite:///lake.db')"
        )
    if kind != SQL and (uri is not None or jdbc):
        raise InvalidInput(
            f"catalog {name}: a {kind} catalog has no database: leave out uri and jdbc.*, or say type='sql'"
        )
    for key in given:
        if key.partition(".")[0] not in STORE_WORDS:
            raise InvalidInput(
                f"catalog {name}: unknown option {key!r}; options are {UNIQUE_LOCATION}, {SQL_PREFIX}*, and those of stores: "
                f"{', '.join(f'{word}.*' for word in STORE_WORDS)}"
            )


def _sql_rows(name: str, uri: str | Secret | None, jdbc: Mapping[str, str | Secret]) -> PointerRows:
    try:
        sql = importlib.import_module("floeberg.catalogs.sql")
    except ModuleNotFoundError as error:
        raise UnsupportedFeature(
            f"catalog {name}: SQL catalogs need SQLAlchemy: pip install 'floeberg[sql]'"
        ) from error
    rows: PointerRows = sql.SqlRows.connect(name, uri=uri, options=jdbc)
    return rows


def _rest_catalog(
    name: str,
    *,
    uri: str | Secret | None,
    warehouse: str | None,
    options: Mapping[str, str | Secret],
    effects: Effects,
    stores: Stores | None,
) -> OpenedCatalog:
    try:
        rest = importlib.import_module("floeberg.catalogs.rest.catalog")
    except ModuleNotFoundError as error:
        raise UnsupportedFeature(f"catalog {name}: REST catalogs need httpx: pip install 'floeberg[rest]'") from error
    backend: OpenedCatalog = rest.open_rest_catalog(
        name, uri=uri, warehouse=warehouse, options=options, effects=effects, stores=stores
    )
    return backend
