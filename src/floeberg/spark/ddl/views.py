"""Views: in catalogs of ours, and the temporary ones over our tables that a session remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floeberg.catalogs.view_changes import ViewDefinition, change_view_properties, replace_view
from floeberg.errors import InvalidInput, TableAlreadyExists, UnsupportedFeature, ViewAlreadyExists
from floeberg.spark.ddl.alter import set_properties, unset_properties
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.originals import original
from floeberg.spark.host.results import nothing
from floeberg.spark.host.session import CachedTable, TextView, view_not_found
from floeberg.spark.host.types import iceberg_schema_of
from floeberg.spark.query.run import span_frame
from floeberg.spark.query.view_text import QUERY_COLUMNS, qualified_text
from floeberg.spec.schema import Schema
from floeberg.spec.types import NestedField
from floeberg.sql.queries.references import find_references
from floeberg.sql.statements.session_statements import AlterViewAs, CreateView, DropView
from floeberg.sql.statements.statements import (
    CacheTable,
    SetTableProperties,
    Statement,
    UncacheTable,
    UnsetTableProperties,
)
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import GLOBAL_VIEWS, TableIdentifier, view_key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def create_view(execution: Execution, statement: CreateView) -> DataFrame:
    if statement.temporary or statement.global_temporary:
        return _create_temporary(execution, statement)
    session = execution.session
    identifier = session.names(creates=True).table(statement.view.parts)
    if identifier is None or not identifier.catalog:
        raise UnsupportedFeature(
            f"view {statement.view}: a view over our tables must be in one of our catalogs, or temporary; Spark's own catalog "
            "could not read them later"
        )
    backend, key = session.backend(identifier.catalog), session.key(identifier)
    if statement.if_not_exists and backend.view_exists(key):
        return nothing(execution.spark)
    properties = dict(statement.properties)
    if statement.comment is not None:
        properties["comment"] = statement.comment
    definition, query_columns = _definition(execution, statement.query, identifier, statement.columns)
    if query_columns is not None:
        properties[QUERY_COLUMNS] = query_columns
    if backend.table_exists(key):
        raise TableAlreadyExists(f"{identifier} is a table; a view cannot have its name")
    if statement.replace and backend.view_exists(key):
        replace_view(backend, backend.load_view(key), definition, properties=properties)
        return nothing(execution.spark)
    metadata = definition.new_metadata(
        location=backend.default_location(key), properties=properties, effects=backend.effects
    )
    try:
        backend.create_view(key, metadata)
    except ViewAlreadyExists:
        if not statement.if_not_exists:
            raise
    return nothing(execution.spark)


def _definition(
    execution: Execution, query: Span, identifier: TableIdentifier, columns: tuple[Any, ...]
) -> tuple[ViewDefinition, str | None]:
    """The view's definition, and its query's own column names where the view renames them."""
    state = execution.session.state
    frame = span_frame(execution, query)
    schema = iceberg_schema_of(frame.schema)
    query_columns = None
    if columns:
        if len(columns) != len(schema.fields):
            raise InvalidInput(f"view {identifier} names {len(columns)} columns, its query has {len(schema.fields)}")
        query_columns = ",".join(field.name for field in schema.fields)
        schema = Schema(
            *(
                NestedField(field.field_id, column.name, field.type, field.required, column.comment or field.doc)
                for field, column in zip(schema.fields, columns, strict=True)
            )
        )
    definition = ViewDefinition(
        sql=query.of(execution.sql),
        schema=schema,
        default_catalog=state.current_catalog,
        default_namespace=state.current_namespace,
    )
    return definition, query_columns


def _create_temporary(execution: Execution, statement: CreateView) -> DataFrame:
    """Spark gets a view of the rows as they are now, so that it knows the name; ours is expanded at each use."""
    session, name = execution.session, statement.view.parts[-1]
    shared = statement.global_temporary
    key = view_key((GLOBAL_VIEWS, name) if shared else (name,))
    assert key is not None
    if statement.if_not_exists and key in session.views:
        return nothing(execution.spark)
    frame = span_frame(execution, statement.query)
    columns = tuple(column.name for column in statement.columns)
    if columns:
        frame = frame.toDF(*columns)
    kind = "GlobalTempView" if shared else "TempView"
    original(frame, f"createOrReplace{kind}" if statement.replace else f"create{kind}")(name)
    span = (statement.query.start, statement.query.end)
    text = qualified_text(execution.sql, session.names(), span=span)
    tables = find_references(text, session.names()).tables
    view = TextView(text, columns, frozenset(one.identifier.catalog for one in tables if one.identifier.catalog))
    if shared:
        session.state.global_views[key] = view
    else:
        session.state.views[key] = view
    return nothing(execution.spark)


def alter_view_as(execution: Execution, statement: AlterViewAs) -> DataFrame:
    session = execution.session
    identifier = session.table_identifier(statement.view.parts)
    if not identifier.catalog:
        raise UnsupportedFeature(f"view {statement.view} is temporary; use CREATE OR REPLACE TEMPORARY VIEW")
    backend = session.backend(identifier.catalog)
    definition, _ = _definition(execution, statement.query, identifier, ())
    replace_view(backend, backend.load_view(session.key(identifier)), definition)
    return nothing(execution.spark)


def drop_view(execution: Execution, statement: DropView) -> DataFrame:
    session = execution.session
    identifier = session.table_identifier(statement.view.parts)
    backend, key = session.backend(identifier.catalog), session.key(identifier)
    if not session.view_exists(identifier):
        if backend.table_exists(key):
            raise InvalidInput(f"{identifier} is a table; use DROP TABLE")
        if not statement.if_exists:
            raise view_not_found(identifier)
        return nothing(execution.spark)
    backend.drop_view(key)
    return nothing(execution.spark)


def set_view_or_table_properties(execution: Execution, statement: SetTableProperties) -> DataFrame:
    if not statement.view:
        return set_properties(execution, statement)
    backend, loaded = _view(execution, statement.table.parts)
    change_view_properties(backend, loaded, set=dict(statement.properties))
    return nothing(execution.spark)


def unset_view_or_table_properties(execution: Execution, statement: UnsetTableProperties) -> DataFrame:
    if not statement.view:
        return unset_properties(execution, statement)
    backend, loaded = _view(execution, statement.table.parts)
    missing = [key for key in statement.keys if key not in loaded.metadata.properties]
    if missing and not statement.if_exists:
        raise InvalidInput(
            f"view {statement.table}: property {missing[0]!r} is not set; UNSET … IF EXISTS lets it pass"
        )
    change_view_properties(backend, loaded, remove=statement.keys)
    return nothing(execution.spark)


def _view(execution: Execution, parts: tuple[str, ...]) -> Any:
    session = execution.session
    identifier = session.table_identifier(parts)
    backend = session.backend(identifier.catalog)
    return backend, backend.load_view(session.key(identifier))


def cache_table(execution: Execution, statement: CacheTable) -> DataFrame:
    """CACHE TABLE t keeps a table's rows until it changes; CACHE TABLE v AS query makes a temporary view of rows that
    stay as they are, as Spark's own does."""
    session = execution.session
    if statement.query is not None:
        frame = span_frame(execution, statement.query).cache()
        name = statement.table.parts[-1]
        original(frame, "createTempView")(name)
        session.forget_view(name.lower())
    else:
        identifier = session.table_identifier(statement.table.parts)
        resolved = execution.resolve(identifier)
        whole = Span(statement.table.start, statement.table.end)
        frame = span_frame(
            execution.of(f"SELECT * FROM {whole.of(execution.sql)}"), Span(0, 14 + whole.end - whole.start)
        )
        frame = frame.cache()
        if resolved.table is not None:
            session.state.cached[identifier] = CachedTable(resolved.table.state.metadata_location, frame)
    if not statement.lazy:
        frame.count()
    return nothing(execution.spark)


def uncache_table(execution: Execution, statement: UncacheTable) -> DataFrame:
    identifier = execution.session.table_identifier(statement.table.parts)
    cached = execution.session.state.cached.pop(identifier, None)
    if cached is not None:
        cached.frame.unpersist()
    elif not statement.if_exists:
        execution.session.resolve(identifier)
    return nothing(execution.spark)


def remembered_view_statement(execution: Execution, statement: Statement) -> DataFrame:
    """A statement about a temporary view that we remember: Spark has it too, and answers."""
    result = execution.pass_on()
    if isinstance(statement, DropView):
        execution.session.forget_view(view_key(statement.view.parts) or "")
    return result
