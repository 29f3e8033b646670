"""snapshot and migrate: a table of Spark's own catalog as a table of ours, over the same files.

https://iceberg.apache.org/docs/latest/spark-procedures/#table-migration
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from floeberg.catalogs.base import shown_name
from floeberg.catalogs.new_table import TableDefinition, require_namespace, stated_version
from floeberg.errors import (
    CommitUnknown,
    InvalidInput,
    NamespaceAlreadyExists,
    TableAlreadyExists,
    UnsupportedFeature,
    ViewAlreadyExists,
)
from floeberg.maintenance.imports.add_files import AddedFiles
from floeberg.maintenance.imports.new_table import SNAPSHOT_PROPERTIES, publish_with_files, refuse_overlap
from floeberg.spark.host.calls.originals import spark_sql
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.types.spark_types import iceberg_schema_of
from floeberg.spark.procedures.file_work import import_work
from floeberg.spark.procedures.import_source import ImportSource, find_source, source_rows
from floeberg.spark.procedures.imports import Identify, import_request, positive_parallelism
from floeberg.spark.procedures.snapshots import Rows, Values
from floeberg.spec.partitions.terms import PartitionTerm
from floeberg.spec.partitions.transforms import IdentityTransform
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import SESSION_CATALOG, TableIdentifier
from floeberg.storage.location import parse_from_user

_OF_SPARK: Final = frozenset({"path", "transient_lastDdlTime", "serialization.format", "location"})
_LOCATIONS: Final = frozenset(
    {"write.metadata.path", "write.data.path", "write.object-storage.path", "write.folder-storage.path"}
)
_BACKUP: Final = "_BACKUP_"


@dataclass(frozen=True, slots=True)
class _Asked:
    """How files are imported."""

    parallelism: int | None
    ignore_missing_files: bool

    @classmethod
    def of(cls, values: Values) -> _Asked:
        return cls(positive_parallelism(values), bool(values["ignore_missing_files"]))


def snapshot(execution: Execution, identify: Identify, values: Values) -> Rows:
    """A new table over the files of another, which stays: neither sees what is written to the other from then on."""
    session, asked = execution.session, _Asked.of(values)
    identifier = identify(values["table"])
    source = find_source(session, values["source_table"], session.backend(identifier.catalog).stores.for_location)
    properties = {**_kept(source), **(values["properties"] or {}), **SNAPSHOT_PROPERTIES}
    done = _made(session, identifier, source, properties=properties, location=values["location"], asked=asked)
    return [(done.added_files,)]


def migrate(execution: Execution, identify: Identify, values: Values) -> Rows:
    """A table of Spark's catalog becomes one of ours under its name; Spark's stays under another name as a backup."""
    session, asked = execution.session, _Asked.of(values)
    identifier = identify(values["table"])
    if identifier.catalog != SESSION_CATALOG:
        raise UnsupportedFeature(
            f"migrate takes the place of a table in {SESSION_CATALOG}, which catalog {identifier.catalog} is not; use "
            f"CALL {identifier.catalog}.system.snapshot(source_table => …, table => …), or set "
            f"spark.sql.catalog.{SESSION_CATALOG} to an Iceberg catalog"
        )
    backup = (*identifier.namespace, values["backup_table_name"] or f"{identifier.name}{_BACKUP}")
    stores = session.backend(identifier.catalog).stores.for_location
    source = find_source(session, _quoted((SESSION_CATALOG, *identifier.path)), stores)
    if source.is_managed and values["drop_backup"]:
        raise InvalidInput(
            f"{identifier} is a managed table of Spark: dropping the backup would delete the files; migrate without "
            "drop_backup"
        )
    spark_sql(execution.spark, f"ALTER TABLE {_quoted(identifier.path)} RENAME TO {_quoted(backup)}")
    try:
        # Spark moves the files of a managed table that it renames.
        source = find_source(session, _quoted((SESSION_CATALOG, *backup)), stores)
        properties = {**_kept(source), **(values["properties"] or {}), "migrated": "true"}
        own = source.location.text if session.backend(identifier.catalog).capabilities.custom_location else None
        done = _made(session, identifier, source, properties=properties, location=own, asked=asked)
    except CommitUnknown:
        raise  # the table may be there: its place is not given back
    except BaseException:
        spark_sql(execution.spark, f"ALTER TABLE {_quoted(backup)} RENAME TO {_quoted(identifier.path)}")
        raise
    if values["drop_backup"]:
        spark_sql(execution.spark, f"DROP TABLE {_quoted(backup)}")
    return [(done.added_files,)]


def _made(
    session: AttachedSession,
    identifier: TableIdentifier,
    source: ImportSource,
    *,
    properties: Mapping[str, str],
    location: str | None,
    asked: _Asked,
) -> AddedFiles:
    """Publishes a new table with the files of the source, in one commit."""
    attached, key = session.catalog(identifier.catalog), session.key(identifier)
    backend = attached.backend
    merged = {**attached.table_defaults, **properties, **attached.table_overrides}
    definition = TableDefinition(
        schema=iceberg_schema_of(source_rows(session, source).schema),
        partition_by=[PartitionTerm(IdentityTransform(), column) for column in source.columns],  # type: ignore[misc]
        format_version=stated_version(key, merged, None),
        properties=merged,
        location=None if location is None else parse_from_user(location).text,
    )
    if identifier.catalog == SESSION_CATALOG and not backend.namespace_exists(key.namespace):
        with suppress(NamespaceAlreadyExists):
            backend.create_namespace(key.namespace, {})
    require_namespace(backend, key)
    if backend.table_exists(key):
        raise TableAlreadyExists(f"table {shown_name(backend.name, key)} is there already", table=str(key))
    if backend.capabilities.views and backend.view_exists(key):
        raise ViewAlreadyExists(f"{shown_name(backend.name, key)} is there already, as a view")
    where = definition.location or backend.default_location(key)
    staged = backend.stage_table(key, definition.new_metadata(location=where, effects=backend.effects))
    if "snapshot" in properties:
        refuse_overlap(str(identifier), staged.state.metadata.location, source.location)
    request = import_request(
        session, source, check_duplicate_files=False, ignore_missing_files=asked.ignore_missing_files
    )
    return publish_with_files(staged, import_work(session.spark, staged, request.files, asked.parallelism), request)


def _kept(source: ImportSource) -> dict[str, str]:
    """The source's properties that mean something to a table of ours."""
    return {key: value for key, value in source.properties.items() if key not in _OF_SPARK | _LOCATIONS}


def _quoted(parts: tuple[str, ...]) -> str:
    return ".".join(quote_name(part) for part in parts)
