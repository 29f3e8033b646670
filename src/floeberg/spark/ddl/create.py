"""CREATE and REPLACE TABLE, with and without AS query, DROP and RENAME."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from floeberg.catalogs.base import LoadedTable, shown_name
from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.new_table import TableDefinition, stated_version
from floeberg.catalogs.purge import purge_table
from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.pointer import TableState
from floeberg.commit.replace_table import ReplaceTable
from floeberg.errors import (
    AlreadyExists,
    FloebergError,
    InvalidInput,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
    ValidationConflict,
    ViewAlreadyExists,
)
from floeberg.spark.ddl.columns import check_names_without_case, schema_of
from floeberg.spark.ddl.namespaces import check_namespace, ensure_namespace
from floeberg.spark.ddl.property_names import stated_on_create
from floeberg.spark.host.calls.active_session import in_own_session
from floeberg.spark.host.engine_summary import engine_summary
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.results import nothing
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.session_state import AttachedCatalog
from floeberg.spark.host.settings.session_settings import CASE_SENSITIVE
from floeberg.spark.host.types.spark_types import iceberg_schema_of, optional_columns
from floeberg.spark.query.run import span_frame
from floeberg.spark.read.table_cache import forget
from floeberg.spark.write.align import Alignment, aligned
from floeberg.spark.write.geo_values import with_wkb
from floeberg.spark.write.job import write_data_files
from floeberg.spark.write.options import names_txn, session_write_options, write_options
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.partitions.terms import PartitionTerm
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.sql.statements.statements import CreateTable, CreateTableLike, DropTable, RenameTable
from floeberg.sql.text.names import TableIdentifier
from floeberg.storage.location import parse_from_user

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

PROVIDERS: Final = ("iceberg", "floeberg")
_FORMATS: Final = ("parquet", "orc", "avro")
COMMENT: Final = "comment"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTable:
    """A table that a statement or a writer creates: its definition, its name, and what to do if it exists."""

    schema: Schema
    partitioning: tuple[PartitionTerm, ...] = ()
    properties: dict[str, str]
    location: str | None = None
    create: bool = True
    replace: bool = False
    if_not_exists: bool = False
    provider: str | None = None


def create_table(execution: Execution, statement: CreateTable) -> DataFrame:
    session = execution.session
    identifier = session.table_identifier(statement.table.parts)
    frame = None
    if statement.if_not_exists and _exists(session, identifier):
        return nothing(execution.spark)
    if statement.query is not None:
        frame = span_frame(execution, statement.query)
        schema = query_schema(session, identifier, frame.schema)
    else:
        schema = schema_of(execution, statement.columns)
    properties = stated_on_create(identifier, dict(statement.properties))
    if statement.comment is not None:
        properties[COMMENT] = statement.comment
    new = NewTable(
        schema=schema,
        partitioning=statement.partitioning,
        properties=properties,
        location=statement.location,
        create=statement.create,
        replace=statement.replace,
        if_not_exists=statement.if_not_exists,
        provider=statement.provider,
    )
    make_table(session, identifier, new, frame)
    return nothing(execution.spark)


def query_schema(session: AttachedSession, identifier: TableIdentifier, schema: StructType) -> Schema:
    """The columns of a table that is made from a query. That a query has no null says nothing of the rows to come, so none of
    them is required, as in Spark's own tables, unless the catalog is set to keep what Spark knows."""
    found = iceberg_schema_of(schema)
    return optional_columns(found) if session.catalog(identifier.catalog).nullable_query_schema else found


def create_table_like(execution: Execution, statement: CreateTableLike) -> DataFrame:
    """A new, empty table with the columns, partitioning and properties of another."""
    session = execution.session
    source_name = session.names().table(statement.source.parts)
    if source_name is None:
        raise UnsupportedFeature(
            "CREATE TABLE … LIKE takes one of our tables; for another use CREATE TABLE … AS SELECT"
        )
    metadata = execution.resolve(source_name).table
    if metadata is None:
        raise InvalidInput(f"{source_name} is a view; CREATE TABLE … LIKE takes a table")
    base = metadata.state.metadata
    terms = tuple(
        PartitionTerm(field.transform, base.current_schema.names[field.source_ids[0]], field.name)
        for field in base.default_spec.fields
    )
    properties = {**base.properties, "format-version": str(base.format_version), **dict(statement.properties)}
    new = NewTable(
        schema=base.current_schema,
        partitioning=terms,
        properties=properties,
        location=statement.location,
        if_not_exists=statement.if_not_exists,
        provider=statement.provider,
    )
    make_table(session, session.table_identifier(statement.table.parts), new)
    return nothing(execution.spark)


@in_own_session
def make_table(
    session: AttachedSession,
    identifier: TableIdentifier,
    new: NewTable,
    frame: DataFrame | None = None,
    *,
    options: Mapping[str, str] | None = None,
) -> None:
    """Creates or replaces a table, with the rows of a DataFrame in the same commit where one is given; `options` are those of
    its write."""
    attached = session.catalog(identifier.catalog)
    key = session.key(identifier)
    case_sensitive = session.setting(CASE_SENSITIVE, "false") == "true"
    if not case_sensitive:
        check_names_without_case(new.schema, what=f"table {identifier}")
    definition = _definition(attached, key, new, case_sensitive=case_sensitive)
    if session.view_exists(identifier):
        raise ViewAlreadyExists(f"{identifier} is a view; a table cannot have its name")
    base, first = _base(attached, identifier.catalog, key, definition, new)
    if base is None:
        return
    operations: list[Operation] = [*first]
    if frame is not None:
        operations += _append(base, first, frame, options=options or {}, case_sensitive=case_sensitive)
    if base.state.metadata_location is None:
        ensure_namespace(attached.backend, identifier.catalog, key.namespace)
    _publish(base, operations, if_not_exists=new.if_not_exists, summary=engine_summary(session.spark))


def _base(
    attached: AttachedCatalog, catalog: str, key: Identifier, definition: TableDefinition, new: NewTable
) -> tuple[LoadedTable | None, tuple[Operation, ...]]:
    """The base of the commit, and the change of definition that it begins with; None when there is nothing to do."""
    backend = attached.backend
    if new.replace:
        try:
            loaded = backend.load_table(key)
            planned = _planned(loaded, definition.replacement())
            return loaded, (definition.replacement(staged=planned.state.metadata),)
        except TableNotFound:
            if not new.create:
                raise
    elif backend.table_exists(key):
        if new.if_not_exists:
            return None, ()
        raise TableAlreadyExists(f"table {shown_name(backend.name, key)} is there already", table=str(key))
    check_namespace(backend, catalog, key)
    where = definition.location or backend.default_location(key)
    metadata = definition.new_metadata(location=where, effects=backend.effects)
    return backend.stage_table(key, metadata), ()


def _planned(loaded: LoadedTable, replacement: ReplaceTable) -> LoadedTable:
    state = loaded.state
    updates = replacement.updates(state.metadata, state)
    metadata = apply_updates(state.metadata, updates, now_ms=state.metadata.last_updated_ms)
    return LoadedTable(loaded.pointer, TableState(state.identifier, metadata, state.metadata_location))


def _append(
    base: LoadedTable,
    first: tuple[Operation, ...],
    frame: DataFrame,
    *,
    options: Mapping[str, str],
    case_sensitive: bool,
) -> list[Operation]:
    """Writes the rows for the new definition of the table."""
    table = base
    for operation in first:
        assert isinstance(operation, ReplaceTable)
        table = _planned(table, operation)
    metadata = table.state.metadata
    given = write_options(metadata, session_write_options(frame.sparkSession.conf.getAll, options))
    if names_txn(options):
        raise InvalidInput(
            "txnAppId and txnVersion are for writes to a table that is there; create it first, then append"
        )
    if given.branch != MAIN_BRANCH:
        raise InvalidInput(f"a table is created with its main branch; create it, then write branch {given.branch!r}")
    schema, table_name = metadata.current_schema, base.state.identifier
    frame = with_wkb(frame, schema, names=[field.name for field in schema.fields], table=table_name)
    new_ids = {field.field_id for field in schema.fields}
    alignment = Alignment(
        table=table_name, schema=schema, by_name=False, new_ids=new_ids, case_sensitive=case_sensitive
    )
    rows = aligned(frame, alignment)
    files = write_data_files(rows, table, options=given)
    return [Append(files=files, target=SnapshotTarget(summary=given.summary))] if files else []


def _publish(
    base: LoadedTable, operations: list[Operation], *, if_not_exists: bool, summary: Mapping[str, str]
) -> None:
    written = [file.file_path for one in operations if isinstance(one, Append) for file in one.files]
    try:
        committed = commit_operations(base.pointer, base.state, operations, engine_summary=summary)
        if committed.state.metadata_location is None:
            base.pointer.swap(base.state, committed.state.metadata)
    except FloebergError as error:
        refused = error.__cause__ if isinstance(error, ValidationConflict) else error
        if error.cleanup_safe or isinstance(refused, AlreadyExists | InvalidInput):
            for location in written:
                base.pointer.store_for(location).delete(location)
        if isinstance(refused, AlreadyExists):
            if if_not_exists:
                return
            raise refused from None
        raise


def _definition(attached: AttachedCatalog, key: Identifier, new: NewTable, *, case_sensitive: bool) -> TableDefinition:
    merged = {
        **attached.table_defaults,
        **_provider_properties(new.provider),
        **new.properties,
        **attached.table_overrides,
    }
    return TableDefinition(
        schema=new.schema,
        partition_by=new.partitioning,  # type: ignore[arg-type]
        format_version=stated_version(key, merged, None),
        properties=merged,
        location=None if new.location is None else parse_from_user(new.location).text,
        case_sensitive=case_sensitive,
    )


def _provider_properties(provider: str | None) -> dict[str, str]:
    if provider is None or provider.lower() in PROVIDERS:
        return {}
    if provider.lower() in _FORMATS:
        return {"write.format.default": provider.lower()}
    raise InvalidInput(f"USING {provider}: tables of this catalog are USING iceberg")


def _exists(session: AttachedSession, identifier: TableIdentifier) -> bool:
    return session.backend(identifier.catalog).table_exists(session.key(identifier))


def drop_table(execution: Execution, statement: DropTable) -> DataFrame:
    session = execution.session
    identifier = session.table_identifier(statement.table.parts)
    backend, key = session.backend(identifier.catalog), session.key(identifier)
    try:
        if statement.purge:
            purge_table(backend, key)
        else:
            backend.drop_table(key)
    except TableNotFound:
        if not statement.if_exists:
            raise
    forget(session, identifier)
    return nothing(execution.spark)


def rename_table(execution: Execution, statement: RenameTable) -> DataFrame:
    """The new name is taken as Spark takes it: one part alone stays in the old one's namespace."""
    session = execution.session
    identifier = session.table_identifier(statement.table.parts)
    parts = statement.new_name.parts
    path = parts[1:] if len(parts) > 1 and parts[0] == identifier.catalog else parts
    target = TableIdentifier(identifier.catalog, path if len(path) > 1 else (*identifier.namespace, *path))
    if (
        len(path) > 1
        and path[0] in session.state.catalogs
        and not _is_namespace(session, identifier.catalog, path[:-1])
    ):
        raise InvalidInput(f"{identifier} cannot be moved to another catalog")
    backend = session.backend(identifier.catalog)
    if statement.view:
        backend.rename_view(session.key(identifier), session.key(target))
    else:
        backend.rename_table(session.key(identifier), session.key(target))
    forget(session, identifier)
    return nothing(execution.spark)


def _is_namespace(session: AttachedSession, catalog: str, namespace: tuple[str, ...]) -> bool:
    return session.backend(catalog).namespace_exists(namespace)
