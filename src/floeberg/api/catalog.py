"""Catalogs as users hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self, TypeAlias

import pyarrow as pa

from floeberg.api.caches import Caches
from floeberg.api.table import Table
from floeberg.arrow.types import iceberg_schema
from floeberg.catalogs.base import CatalogBackend
from floeberg.catalogs.factory import open_catalog
from floeberg.catalogs.identifiers import Identifier, to_identifier, to_namespace
from floeberg.catalogs.purge import purge_table
from floeberg.catalogs.static import open_static
from floeberg.effects.protocols import Effects
from floeberg.effects.system import system_effects
from floeberg.errors import InvalidInput, NamespaceNotFound, TableNotFound
from floeberg.spec.builder import apply_updates
from floeberg.spec.limits import DEFAULT_LIMITS, LENIENT_LIMITS
from floeberg.spec.partitioning import build_partition_spec
from floeberg.spec.schema import Schema
from floeberg.spec.schema_projection import assign_fresh_ids
from floeberg.spec.sorting import build_sort_order
from floeberg.spec.spark_ddl import schema_from_ddl
from floeberg.spec.updates import create_table_updates
from floeberg.storage.location import parse_from_user
from floeberg.storage.registry import StoreRegistry
from floeberg.storage.secret import Secret

Name = str | Sequence[str] | Identifier
AnySchema: TypeAlias = "Schema | pa.Schema | str"
DEFAULT_FORMAT_VERSION = 2


class Catalog:
    """Namespaces and tables. Names are `"db.table"`, or a tuple of levels where a level has a dot of its own."""

    def __init__(self, backend: CatalogBackend, *, table_defaults: Mapping[str, str] | None = None,
                 table_overrides: Mapping[str, str] | None = None, default_namespace: str | None = None) -> None:  # fmt: skip
        self._backend = backend
        self._defaults = dict(table_defaults or {})
        self._overrides = dict(table_overrides or {})
        self._caches = Caches()
        self.default_namespace = None if default_namespace is None else to_namespace(default_namespace)

    def __repr__(self) -> str:
        return f"Catalog({self._backend!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        return self._backend.name

    @property
    def backend(self) -> CatalogBackend:
        """The catalog below, for engines."""
        return self._backend

    def close(self) -> None:
        """Lets go of connections."""
        self._backend.close()

    # namespaces

    def create_namespace(
        self,
        namespace: str | Sequence[str],
        properties: Mapping[str, str] | None = None,
        *,
        if_not_exists: bool = False,
    ) -> None:
        """Raises NamespaceAlreadyExists unless `if_not_exists`."""
        wanted = to_namespace(namespace)
        if if_not_exists and self._backend.namespace_exists(wanted):
            return
        self._backend.create_namespace(wanted, dict(properties or {}))

    def drop_namespace(self, namespace: str | Sequence[str], *, if_exists: bool = False) -> None:
        """Raises NamespaceNotFound unless `if_exists`, and InvalidInput when it is not empty."""
        wanted = to_namespace(namespace)
        if if_exists and not self._backend.namespace_exists(wanted):
            return
        self._backend.drop_namespace(wanted)

    def list_namespaces(self, parent: str | Sequence[str] = ()) -> list[tuple[str, ...]]:
        return self._backend.list_namespaces(to_namespace(parent) if parent else ())

    def namespace_exists(self, namespace: str | Sequence[str]) -> bool:
        return self._backend.namespace_exists(to_namespace(namespace))

    def namespace_properties(self, namespace: str | Sequence[str]) -> dict[str, str]:
        return self._backend.namespace_properties(to_namespace(namespace))

    def update_namespace_properties(
        self, namespace: str | Sequence[str], *, set: Mapping[str, str] | None = None, remove: Sequence[str] = ()
    ) -> None:
        self._backend.update_namespace_properties(to_namespace(namespace), set=dict(set or {}), remove=tuple(remove))

    # tables

    def list_tables(self, namespace: str | Sequence[str]) -> list[Identifier]:
        return self._backend.list_tables(to_namespace(namespace))

    def table_exists(self, name: Name) -> bool:
        identifier = to_identifier(name)
        try:
            return self._backend.table_exists(identifier)
        except NamespaceNotFound:
            return False

    def create_table(
        self,
        name: Name,
        schema: AnySchema,
        *,
        partition_by: Sequence[str] = (),
        sort_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        format_version: int | None = None,
        location: str | None = None,
        if_not_exists: bool = False,
    ) -> Table:
        """Makes an empty table. The schema as `Schema`, `pyarrow.Schema` or Spark DDL text; partitioning as
        `["day(ts)", "bucket(16, id)"]`, sorting as `["ts desc"]`. Raises TableAlreadyExists unless `if_not_exists`."""
        identifier = to_identifier(name)
        if if_not_exists and self.table_exists(identifier):
            return self.load_table(identifier)
        fresh = assign_fresh_ids(to_schema(schema))
        merged = {**self._defaults, **(properties or {}), **self._overrides}
        stated = merged.pop("format-version", None) if format_version is not None else None
        version = format_version if format_version is not None else DEFAULT_FORMAT_VERSION
        if stated is not None and stated != str(version):
            raise InvalidInput(
                f"table {identifier}: format version {version} is asked for, and {stated} in the properties"
            )
        effects = self._backend.effects
        metadata = apply_updates(
            None,
            create_table_updates(
                table_uuid=str(effects.ids.uuid()),
                location=(location or self._backend.default_location(identifier)).rstrip("/"),
                schema=fresh,
                spec=build_partition_spec(fresh, partition_by),
                sort_order=build_sort_order(fresh, sort_by),
                properties=merged,
                format_version=version,
            ),
            now_ms=effects.clock.now_ms(),
        )
        return Table(self._backend.create_table(identifier, metadata), identifier=identifier, caches=self._caches)

    def load_table(self, name: Name) -> Table:
        """Raises TableNotFound."""
        identifier = to_identifier(name)
        return Table(self._backend.load_table(identifier), identifier=identifier, caches=self._caches)

    def register_table(self, name: Name, metadata_location: str) -> Table:
        """Takes over a table by its metadata file."""
        identifier = to_identifier(name)
        where = parse_from_user(metadata_location).text
        return Table(self._backend.register_table(identifier, where), identifier=identifier, caches=self._caches)

    def rename_table(self, name: Name, to: Name) -> None:
        self._backend.rename_table(to_identifier(name), to_identifier(to))

    def drop_table(self, name: Name, *, purge: bool = False, if_exists: bool = False) -> None:
        """Takes a table out of the catalog; with `purge`, deletes its files too (unless its gc.enabled forbids it)."""
        identifier = to_identifier(name)
        try:
            if purge:
                purge_table(self._backend, identifier)
            else:
                self._backend.drop_table(identifier)
        except TableNotFound:
            if not if_exists:
                raise


def to_schema(given: AnySchema) -> Schema:
    """A schema from what users give."""
    if isinstance(given, Schema):
        return given
    if isinstance(given, pa.Schema):
        return iceberg_schema(given)
    if isinstance(given, str):
        return schema_from_ddl(given)
    raise InvalidInput(f"a schema is a floeberg.Schema, a pyarrow.Schema or Spark DDL text, not {type(given).__name__}")


def catalog(
    name: str,
    *,
    type: str = "filesystem",
    warehouse: str | None = None,
    uri: str | Secret | None = None,
    default_namespace: str | None = None,
    properties: Mapping[str, str | Secret] | None = None,
    effects: Effects | None = None,
) -> Catalog:
    """A catalog: `catalog("lake", warehouse="path-or-uri")` on files, `type="sql", uri="sqlite:///lake.db"` on a database,
    `type="memory"` for tests. `properties` are options of stores (`s3.endpoint` …), `jdbc.*`, `table-default.*` and
    `table-override.*`."""
    given = dict(properties or {})
    defaults = _taken(given, "table-default.")
    overrides = _taken(given, "table-override.")
    backend = open_catalog(
        name, type=type, warehouse=warehouse, uri=uri, options=given, effects=effects or system_effects()
    )
    return Catalog(backend, table_defaults=defaults, table_overrides=overrides, default_namespace=default_namespace)


def _taken(options: dict[str, str | Secret], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): str(options.pop(key)) for key in list(options) if key.startswith(prefix)}


def open_table(
    location: str,
    *,
    relocate: Mapping[str, str] | None = None,
    properties: Mapping[str, str | Secret] | None = None,
    lenient: bool = False,
    effects: Effects | None = None,
) -> Table:
    """A table by its metadata file or its folder, without a catalog: read-only. `relocate` maps path prefixes that the
    metadata record to where the files are now; `lenient` reads what known writers got wrong."""
    real = effects or system_effects()
    loaded = open_static(
        parse_from_user(location).text,
        stores=StoreRegistry(real, dict(properties or {})),
        effects=real,
        relocate=relocate,
        limits=LENIENT_LIMITS if lenient else DEFAULT_LIMITS,
    )
    return Table(loaded, identifier=None)
