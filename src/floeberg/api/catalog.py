"""Catalogs, as the public API has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from floeberg.api.attach import import_on_spark
from floeberg.api.caches import Caches
from floeberg.api.catalog_maintenance import TableMaintenance, maintain_tables
from floeberg.api.catalog_namespaces import Name
from floeberg.api.catalog_transaction import CatalogTransaction
from floeberg.api.catalog_views import CatalogViews
from floeberg.api.definition import AnySchema, terms, to_schema
from floeberg.api.staged import StagedTable
from floeberg.api.table import Table
from floeberg.catalogs.base import CatalogBackend, LoadedTable, shown_name
from floeberg.catalogs.factory import open_catalog
from floeberg.catalogs.identifiers import Identifier, to_namespace
from floeberg.catalogs.new_table import TableDefinition, require_namespace, stated_version
from floeberg.catalogs.purge import purge_table
from floeberg.catalogs.static import open_static
from floeberg.effects.protocols import Effects
from floeberg.effects.system import system_effects
from floeberg.errors import InvalidInput, TableAlreadyExists, TableNotFound, ViewAlreadyExists
from floeberg.maintenance.file_work import FileWork, ThreadedWork
from floeberg.maintenance.imports.add_files import ImportRequest, columns_of, file_format_of
from floeberg.maintenance.imports.folders import list_folder
from floeberg.maintenance.imports.new_table import (
    SNAPSHOT_PROPERTIES,
    folder_schema,
    publish_with_files,
    refuse_overlap,
)
from floeberg.spec.json.limits import DEFAULT_LIMITS, LENIENT_LIMITS
from floeberg.spec.partitions.terms import PartitionTerm
from floeberg.spec.partitions.transforms import IdentityTransform
from floeberg.storage.location import GivenPath, parse_from_user
from floeberg.storage.registry import StoreRegistry
from floeberg.storage.secret import Secret, found_secret

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

StageMode = Literal["create", "replace", "create-or-replace"]


class Catalog(CatalogViews):
    """Namespaces, tables and views. Names are `"db.table"`, or a tuple of levels where a level has a dot of its own."""

    def __init__(
        self,
        backend: CatalogBackend,
        *,
        table_defaults: Mapping[str, str] | None = None,
        table_overrides: Mapping[str, str] | None = None,
        default_namespace: str | Sequence[str] | None = None,
    ) -> None:
        super().__init__(backend, default_namespace=default_namespace)
        self._defaults = dict(table_defaults or {})
        self._overrides = dict(table_overrides or {})
        self._caches = Caches()

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
    def table_defaults(self) -> Mapping[str, str]:
        """Properties that new tables get unless they are given others."""
        return self._defaults

    @property
    def table_overrides(self) -> Mapping[str, str]:
        """Properties that new tables get whatever they are given."""
        return self._overrides

    def close(self) -> None:
        """Closes connections."""
        self._backend.close()

    def list_tables(self, namespace: str | Sequence[str]) -> list[Identifier]:
        """Raises NamespaceNotFound."""
        return self._backend.list_tables(to_namespace(namespace))

    def maintain(
        self,
        namespace: str | Sequence[str] = (),
        *,
        dry_run: bool = False,
        measure_reads: bool = True,
        spark: SparkSession | None = None,
    ) -> Iterator[TableMaintenance]:
        """Does what each table of the catalog, or of a namespace and those below it, needs now, as `t.maintenance.maintain`
        does; gives what was done for each table as it is done. A table that fails does not stop the others."""
        below = to_namespace(namespace) if namespace else ()
        return maintain_tables(self, below, dry_run=dry_run, measure_reads=measure_reads, spark=spark)

    def table_exists(self, name: Name) -> bool:
        return self._backend.table_exists(self.identifier(name))

    def create_table(
        self,
        name: Name,
        schema: AnySchema,
        *,
        partition_by: str | Sequence[str] = (),
        sort_by: str | Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        format_version: int | None = None,
        location: str | None = None,
        if_not_exists: bool = False,
    ) -> Table:
        """Makes an empty table. The schema as `Schema`, `pyarrow.Schema` or Spark DDL text; partitioning as
        `"day(ts)"` or `["day(ts)", "bucket(16, id)"]`, sorting as `"ts desc"` or a list. Raises TableAlreadyExists unless
        `if_not_exists`, ViewAlreadyExists, NamespaceNotFound."""
        identifier = self.identifier(name)
        if if_not_exists and self._backend.table_exists(identifier):
            return self.load_table(identifier)
        definition = self._definition(
            identifier,
            schema,
            partition_by=partition_by,
            sort_by=sort_by,
            properties=properties,
            format_version=format_version,
            location=location,
        )
        require_namespace(self._backend, identifier)
        metadata = definition.new_metadata(location=self._location(identifier, definition), effects=self._effects)
        try:
            return self._table(self._backend.create_table(identifier, metadata), identifier)
        except TableAlreadyExists:
            if not if_not_exists:
                raise
            return self.load_table(identifier)

    def replace_table(
        self,
        name: Name,
        schema: AnySchema,
        *,
        partition_by: str | Sequence[str] = (),
        sort_by: str | Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        format_version: int | None = None,
        location: str | None = None,
    ) -> Table:
        """Gives a table another definition and no rows, in one commit. Its history, branches and tags stay, and properties
        are merged into those it has. Raises TableNotFound."""
        with self.stage_table(
            name, schema, mode="replace", partition_by=partition_by, sort_by=sort_by, properties=properties,
            format_version=format_version, location=location,
        ) as staged:  # fmt: skip
            return staged.commit()

    def create_or_replace_table(
        self,
        name: Name,
        schema: AnySchema,
        *,
        partition_by: str | Sequence[str] = (),
        sort_by: str | Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        format_version: int | None = None,
        location: str | None = None,
    ) -> Table:
        """As `replace_table` where the table is there, as `create_table` where it is not."""
        with self.stage_table(
            name, schema, mode="create-or-replace", partition_by=partition_by, sort_by=sort_by, properties=properties,
            format_version=format_version, location=location,
        ) as staged:  # fmt: skip
            return staged.commit()

    def stage_table(
        self,
        name: Name,
        schema: AnySchema,
        *,
        mode: StageMode = "create",
        partition_by: str | Sequence[str] = (),
        sort_by: str | Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        format_version: int | None = None,
        location: str | None = None,
    ) -> StagedTable:
        """A table that does not exist yet: its rows are written first and published with it in one commit (CTAS, RTAS). The
        catalog does not show it before. Raises what `create_table` and `replace_table` raise, as far as it is known now."""
        identifier = self.identifier(name)
        if mode not in ("create", "replace", "create-or-replace"):
            raise InvalidInput(f"table {identifier}: mode must be create, replace or create-or-replace, not {mode!r}")
        definition = self._definition(
            identifier,
            schema,
            partition_by=partition_by,
            sort_by=sort_by,
            properties=properties,
            format_version=format_version,
            location=location,
        )
        if mode != "create":
            try:
                loaded = self._backend.load_table(identifier)
                return StagedTable._of_replaced(loaded, identifier, definition, caches=self._caches)
            except TableNotFound:
                if mode == "replace":
                    raise
        require_namespace(self._backend, identifier)
        if self._backend.table_exists(identifier):
            raise TableAlreadyExists(f"table {shown_name(self.name, identifier)} is there already")
        if self._backend.view_exists(identifier):
            raise ViewAlreadyExists(f"{shown_name(self.name, identifier)} is there already, as a view")
        metadata = definition.new_metadata(location=self._location(identifier, definition), effects=self._effects)
        return StagedTable._of_new(self._backend, identifier, metadata, caches=self._caches)

    def load_table(self, name: Name) -> Table:
        """Raises TableNotFound."""
        identifier = self.identifier(name)
        return self._table(self._backend.load_table(identifier), identifier)

    def register_table(self, name: Name, metadata_location: str) -> Table:
        """Takes over a table by its metadata file. Raises TableAlreadyExists, UnsupportedFeature."""
        identifier = self.identifier(name)
        where = parse_from_user(metadata_location).text
        return self._table(self._backend.register_table(identifier, where), identifier)

    def snapshot_folder(
        self,
        name: Name,
        source: str,
        *,
        format: str = "parquet",
        schema: AnySchema | None = None,
        properties: Mapping[str, str] | None = None,
        format_version: int | None = None,
        location: str | None = None,
        spark: SparkSession | None = None,
    ) -> Table:
        """Makes a table over the data files of a folder, where they lie; no row is copied, and the folder stays as it is.

        The columns are those of the first file and of folders such as `day=2026-05-01`, by which the table is partitioned, or
        those of `schema`. The table has `gc.enabled` false: no maintenance deletes the files. With `spark` many files are
        looked at by a Spark job. Raises InvalidInput, TableAlreadyExists, DataFileCorrupt for a file that does not fit.
        """
        file_format, store_for = file_format_of(format), self._backend.stores.for_location
        files = list_folder(store_for, source)
        request = ImportRequest(
            files=files, columns=columns_of(files), file_format=file_format, check_duplicate_files=False
        )
        staged = self.stage_table(
            name,
            folder_schema(store_for, files, file_format) if schema is None else schema,
            partition_by=[PartitionTerm(IdentityTransform(), column) for column in request.columns],  # type: ignore[misc]
            properties={**(properties or {}), **SNAPSHOT_PROPERTIES},
            format_version=format_version,
            location=location,
        )
        loaded = LoadedTable(staged._pointer, staged._base)
        refuse_overlap(
            shown_name(self.name, staged.identifier), loaded.state.metadata.location, parse_from_user(source)
        )
        work: FileWork = ThreadedWork(store_for)
        if spark is not None:
            work = import_on_spark(spark, loaded, files, None)
        publish_with_files(loaded, work, request)
        return self.load_table(staged.identifier)

    def rename_table(self, name: Name, to: Name) -> None:
        """Raises TableNotFound, TableAlreadyExists, NamespaceNotFound, UnsupportedFeature."""
        self._backend.rename_table(self.identifier(name), self.identifier(to))

    def drop_table(self, name: Name, *, purge: bool = False, if_exists: bool = False) -> None:
        """Removes a table from the catalog; with `purge`, deletes its files too (unless its gc.enabled forbids it). Raises
        TableNotFound unless `if_exists`."""
        identifier = self.identifier(name)
        try:
            if purge:
                purge_table(self._backend, identifier)
            else:
                self._backend.drop_table(identifier)
        except TableNotFound:
            if not if_exists:
                raise

    def transaction(self) -> CatalogTransaction:
        """Changes of several tables as one commit, all or nothing: `with cat.transaction() as tx:
        tx.table("db.a").append(rows); tx.table("db.b").delete("id = 3")`. Raises UnsupportedFeature where it
        cannot be."""
        return CatalogTransaction(self._backend, identify=self.identifier, load=self.load_table)

    @property
    def _effects(self) -> Effects:
        return self._backend.effects

    def _table(self, loaded: LoadedTable, identifier: Identifier) -> Table:
        return Table(loaded, identifier=identifier, caches=self._caches)

    def _location(self, identifier: Identifier, definition: TableDefinition) -> str:
        return definition.location or self._backend.default_location(identifier)

    def _definition(
        self,
        identifier: Identifier,
        schema: AnySchema,
        *,
        partition_by: str | Sequence[str],
        sort_by: str | Sequence[str],
        properties: Mapping[str, str] | None,
        format_version: int | None,
        location: str | None,
    ) -> TableDefinition:
        merged = {**self._defaults, **(properties or {}), **self._overrides}
        return TableDefinition(
            schema=to_schema(schema),
            partition_by=terms(partition_by),
            sort_by=terms(sort_by),
            format_version=stated_version(identifier, merged, format_version),
            properties=merged,
            location=None if location is None else parse_from_user(location).text,
        )


def catalog(
    name: str,
    *,
    type: str = "filesystem",
    warehouse: GivenPath | None = None,
    uri: str | Secret | None = None,
    default_namespace: str | Sequence[str] | None = None,
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
    location: GivenPath,
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
        stores=StoreRegistry(real, {key: found_secret(value) for key, value in (properties or {}).items()}),
        effects=real,
        relocate=relocate,
        limits=LENIENT_LIMITS if lenient else DEFAULT_LIMITS,
    )
    return Table(loaded, identifier=None)
