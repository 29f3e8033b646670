"""Views: in catalogs of ours, and the temporary ones over our tables that a session remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floeberg.catalogs.view_changes import ViewDefinition, change_view_properties, replace_view
from floeberg.errors import InvalidInput, TableAlreadyExists, UnsupportedFeature, ViewAlreadyExists
from floeberg.spark.ddl.alter import set_properties, unset_properties
from floeberg.spark.ddl.columns import check_names_without_case
from floeberg.spark.ddl.namespaces import check_namespace, ensure_namespace
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.name_resolution import view_not_found
from floeberg.spark.host.results import nothing
from floeberg.spark.host.settings.session_settings import CASE_SENSITIVE
from floeberg.spark.host.types.spark_types import iceberg_schema_of
from floeberg.spark.host.view_settings import settings_now
from floeberg.spark.host.views import TextView, ViewColumns, ViewScope, is_temporary_view, mark_of, marked
from floeberg.spark.query.run import query_frame
from floeberg.spark.query.view_scope import QUERY_COLUMNS, SCHEMA_MODE, catalogs_of, shown_name, temporary_views_of
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import NestedField
from floeberg.sql.queries.references import find_references
from floeberg.sql.statements.session_statements import AlterViewAs, CreateView, DropView
from floeberg.sql.statements.statements import RenameTable, SetTableProperties, Statement, UnsetTableProperties
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import GLOBAL_VIEWS, TableIdentifier, view_key
from floeberg.sql.text.parameters import with_literals

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
    properties[QUERY_COLUMNS] = query_columns
    if statement.schema_mode is not None:
        properties[SCHEMA_MODE] = statement.schema_mode
    if backend.table_exists(key):
        raise TableAlreadyExists(f"{identifier} is a table; a view cannot have its name")
    if statement.replace and backend.view_exists(key):
        before = backend.load_view(key)
        if SCHEMA_MODE in before.metadata.properties:
            properties.setdefault(SCHEMA_MODE, "COMPENSATION")
        replace_view(backend, before, definition, properties=properties)
        return nothing(execution.spark)
    metadata = definition.new_metadata(
        location=backend.default_location(key), properties=properties, effects=backend.effects
    )
    if backend.capabilities.views:
        check_namespace(backend, identifier.catalog, key)
        ensure_namespace(backend, identifier.catalog, key.namespace)
    try:
        backend.create_view(key, metadata)
    except ViewAlreadyExists:
        if not statement.if_not_exists:
            raise
    return nothing(execution.spark)


def _definition(
    execution: Execution, query: Span, identifier: TableIdentifier, columns: tuple[Any, ...]
) -> tuple[ViewDefinition, str]:
    """The view's definition, and its query's own column names. Raises InvalidInput for a view over temporary ones, or
    over itself."""
    text = _lasting_text(execution, query)
    references = find_references(text, execution.names())
    if temporary := temporary_views_of(execution.session, references):
        raise InvalidInput(
            f"view {identifier} reads the temporary view {min(temporary)}, which ends with its session; make the view "
            "temporary, or read the table itself"
        )
    frame = query_frame(execution, execution.session.with_current_place(text))
    _refuse_cycle(execution, identifier)
    schema = iceberg_schema_of(frame.schema)
    query_columns = ",".join(field.name for field in schema.fields)
    if columns:
        if len(columns) != len(schema.fields):
            raise InvalidInput(f"view {identifier} names {len(columns)} columns, its query has {len(schema.fields)}")
        schema = Schema(
            *(
                NestedField(field.field_id, column.name, field.type, field.required, column.comment or field.doc)
                for field, column in zip(schema.fields, columns, strict=True)
            )
        )
    if execution.session.setting(CASE_SENSITIVE, "false") != "true":
        check_names_without_case(schema, what=f"view {identifier}")
    place = execution.session.place()
    definition = ViewDefinition(
        sql=text,
        schema=schema,
        default_catalog=place.catalog,
        default_namespace=place.namespace,
    )
    return definition, query_columns


def _lasting_text(execution: Execution, query: Span) -> str:
    """The query of a view, with parameters as literals. Raises UnsupportedFeature for references that end with the
    statement."""
    text = query.of(execution.sql)
    if execution.kwargs:
        try:
            text = text.format()  # doubled braces of a template
        except (LookupError, ValueError) as placeholder:
            raise UnsupportedFeature(
                "a view cannot keep what spark.sql is given for {name}; make a temporary view of the DataFrame and name that"
            ) from placeholder
    return with_literals(text, execution.args, what="CREATE VIEW")


def _refuse_cycle(execution: Execution, identifier: TableIdentifier) -> None:
    if identifier in execution.read:
        raise InvalidInput(f"view {shown_name(identifier)} would read itself")


def _create_temporary(execution: Execution, statement: CreateView) -> DataFrame:
    """Spark gets a view of the current rows, so that it knows the name; ours is evaluated at each use."""
    session, name = execution.session, statement.view.parts[-1]
    shared = statement.global_temporary
    key = view_key((GLOBAL_VIEWS, name) if shared else (name,))
    assert key is not None
    if statement.schema_mode is not None or statement.properties:
        raise InvalidInput(f"view {name} is temporary: TBLPROPERTIES and WITH SCHEMA are for views in a catalog")
    if statement.if_not_exists and mark_of(session.spark, key) is not None:
        return nothing(execution.spark)
    text = _lasting_text(execution, statement.query)
    references = find_references(text, execution.names())
    frame = query_frame(execution, session.with_current_place(text))
    _refuse_cycle(execution, TableIdentifier("", tuple(key.split(".", 1)) if shared else (key,)))
    query_names = tuple(frame.columns)
    if statement.columns:
        if len(statement.columns) != len(query_names):
            raise InvalidInput(f"view {name} names {len(statement.columns)} columns, its query has {len(query_names)}")
        frame = original(frame, "toDF")(*(column.name for column in statement.columns))
    mark = session.new_mark()
    kind = "GlobalTempView" if shared else "TempView"
    method = f"createOrReplace{kind}" if statement.replace else f"create{kind}"
    place = session.place()
    view = TextView(
        text,
        ViewScope(place, temporary_views_of(session, references), settings_now(session, text)),
        ViewColumns(query_names, frame.schema),
        mark,
        frozenset(catalogs_of(references, place)) & session.state.catalogs.keys(),
    )
    original(marked(frame, mark), method)(name)
    session.remember_view(key, view)
    return nothing(execution.spark)


def alter_view_as(execution: Execution, statement: AlterViewAs) -> DataFrame:
    session = execution.session
    parts = statement.view.parts
    identifier = session.names().table(parts)
    if identifier is None or not identifier.catalog:
        return _alter_temporary(execution, statement)
    backend = session.backend(identifier.catalog)
    definition, query_columns = _definition(execution, statement.query, identifier, ())
    replace_view(
        backend, backend.load_view(session.key(identifier)), definition, properties={QUERY_COLUMNS: query_columns}
    )
    return nothing(execution.spark)


def _alter_temporary(execution: Execution, statement: AlterViewAs) -> DataFrame:
    """ALTER VIEW of a temporary view over what is ours. One that Spark has in a catalog cannot read that."""
    parts = statement.view.parts
    shared = len(parts) == 2 and parts[0].lower() == GLOBAL_VIEWS
    if not statement.references:
        return execution.pass_on()
    if not shared and not (len(parts) == 1 and is_temporary_view(execution.spark, parts[0])):
        raise UnsupportedFeature(
            f"view {statement.view}: a view over our tables must be in one of our catalogs, or temporary; Spark's own "
            "catalog could not read them later"
        )
    create = CreateView(
        statement.view,
        statement.query,
        statement.references,
        replace=True,
        temporary=True,
        global_temporary=shared,
    )
    return _create_temporary(execution, create)


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


def remembered_view_statement(execution: Execution, statement: Statement) -> DataFrame:
    """A statement about a temporary view that we remember: Spark has it too, and answers."""
    if isinstance(statement, AlterViewAs):
        return _alter_temporary(execution, statement)
    result = execution.pass_on()
    session = execution.session
    if isinstance(statement, DropView):
        session.forget_view(view_key(statement.view.parts) or "")
    elif isinstance(statement, RenameTable):
        old, new = view_key(statement.table.parts) or "", statement.new_name.parts[-1].lower()
        view = session.forget_view(old)
        if view is not None:
            session.remember_view(f"{GLOBAL_VIEWS}.{new}" if old.startswith(f"{GLOBAL_VIEWS}.") else new, view)
    return result
