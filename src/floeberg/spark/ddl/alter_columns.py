"""ALTER TABLE … columns and identifier fields: https://iceberg.apache.org/docs/latest/spark-ddl/#alter-table"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from floeberg.catalogs.base import LoadedTable
from floeberg.commit.table_changes import ChangeSchema
from floeberg.errors import ColumnNotFound, InvalidInput
from floeberg.spark.ddl.alter import load
from floeberg.spark.ddl.columns import default_value, field_of, schema_of, type_of
from floeberg.spark.host.execution import Execution, commit
from floeberg.spark.host.results import nothing
from floeberg.spec.evolution.schema_update import SchemaUpdate
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import UNSET, NestedField
from floeberg.sql.ddl.types import type_to_ddl
from floeberg.sql.statements.statements import (
    AddColumns,
    AlterColumns,
    ChangeIdentifierFields,
    ColumnChange,
    ColumnPosition,
    DropColumns,
    RenameColumn,
    ReplaceColumns,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Path = tuple[str, ...]


def add_columns(execution: Execution, statement: AddColumns) -> DataFrame:
    table = load(execution, statement.table)
    schema = table.state.metadata.current_schema
    case_sensitive = _case_sensitive(execution)
    fields = [(column, field_of(execution, column)) for column in statement.columns]
    if statement.if_not_exists:
        fields = [pair for pair in fields if schema.find(".".join(pair[0].path), case_sensitive=case_sensitive) is None]

    def edit(update: SchemaUpdate) -> None:
        for column, field in fields:
            update.add_column(
                column.path, field.type, required=field.required, doc=field.doc, default=field.write_default
            )
            _move(update, column.path, column.position)

    return _commit(execution, table, edit)


def replace_columns(execution: Execution, statement: ReplaceColumns) -> DataFrame:
    """Columns that keep name and type are the same columns, with their data; the others are dropped and new ones added."""
    table = load(execution, statement.table)
    schema = table.state.metadata.current_schema
    wanted = schema_of(execution, statement.columns)

    def edit(update: SchemaUpdate) -> None:
        kept = {field.name for field in wanted.fields if _same(schema, field)}
        for field in schema.fields:
            if field.name not in kept:
                update.drop_column((field.name,))
        for field in wanted.fields:
            if field.name not in kept:
                update.add_column(
                    (field.name,), field.type, required=field.required, doc=field.doc, default=field.write_default
                )
        for field in reversed(wanted.fields):
            update.move_first((field.name,))

    return _commit(execution, table, edit)


def _same(schema: Schema, field: NestedField) -> bool:
    known = next((one for one in schema.fields if one.name == field.name), None)
    return known is not None and type_to_ddl(known.type) == type_to_ddl(field.type)


def rename_column(execution: Execution, statement: RenameColumn) -> DataFrame:
    return _edit(execution, statement.table.parts, lambda u: u.rename_column(statement.path, statement.new_name))


def drop_columns(execution: Execution, statement: DropColumns) -> DataFrame:
    table = load(execution, statement.table)
    schema = table.state.metadata.current_schema
    case_sensitive = _case_sensitive(execution)
    paths = [
        path
        for path in statement.paths
        if not statement.if_exists or schema.find(".".join(path), case_sensitive=case_sensitive) is not None
    ]

    def edit(update: SchemaUpdate) -> None:
        for path in paths:
            update.drop_column(path)

    return _commit(execution, table, edit)


def alter_columns(execution: Execution, statement: AlterColumns) -> DataFrame:
    table = load(execution, statement.table)
    schema = table.state.metadata.current_schema
    edits = [_change(execution, schema, change) for change in statement.changes]

    def edit(update: SchemaUpdate) -> None:
        for one in edits:
            one(update)

    return _commit(execution, table, edit)


def _change(execution: Execution, schema: Schema, change: ColumnChange) -> Callable[[SchemaUpdate], None]:
    path = change.path
    data_type = None if change.type_text is None else type_of(execution, change.type_text)
    default: object = UNSET
    if change.default is not None:
        field = schema.find(".".join(path), case_sensitive=_case_sensitive(execution))
        if field is None:
            raise column_not_found(schema, path)
        kind = change.type_text or type_to_ddl(field.type, exact=True)
        default = default_value(execution, kind, change.default)

    def edit(update: SchemaUpdate) -> None:
        if data_type is not None:
            try:
                update.update_type(path, data_type)
            except InvalidInput as error:
                if not isinstance(error, ColumnNotFound):
                    error.context.setdefault("condition", "NOT_SUPPORTED_CHANGE_COLUMN")
                raise
        if change.comment is not None:
            update.update_doc(path, change.comment)
        if change.required is True:
            update.make_required(path)
        elif change.required is False:
            update.make_optional(path)
        if default is not UNSET:
            update.update_default(path, default)
        if change.drop_default:
            update.drop_default(path)
        _move(update, path, change.position)

    return edit


def change_identifier_fields(execution: Execution, statement: ChangeIdentifierFields) -> DataFrame:
    table = load(execution, statement.table)
    schema = table.state.metadata.current_schema
    current = [schema.names[field_id] for field_id in schema.identifier_field_ids]
    given = [_known_name(schema, path, _case_sensitive(execution)) for path in statement.paths]
    if statement.drop:
        for name in given:
            if name not in current:
                raise InvalidInput(f"{name!r} is no identifier field; they are: {', '.join(current) or 'none'}")
        wanted = [name for name in current if name not in given]
    else:
        wanted = given
    return _commit(execution, table, lambda update: update.set_identifier_fields(wanted))


def column_not_found(schema: Schema, path: Path) -> ColumnNotFound:
    known = ", ".join(field.name for field in schema.fields[:30])
    return ColumnNotFound(f"no column {'.'.join(path)!r}; the columns are: {known}", column=".".join(path))


def _known_name(schema: Schema, path: Path, case_sensitive: bool) -> str:
    field = schema.find(".".join(path), case_sensitive=case_sensitive)
    if field is None:
        raise column_not_found(schema, path)
    return schema.names[field.field_id]


def _move(update: SchemaUpdate, path: Path, position: ColumnPosition | None) -> None:
    if position is None:
        return
    if position.after is None:
        update.move_first(path)
    else:
        update.move_after(path, (*path[:-1], position.after))


def _edit(execution: Execution, parts: Path, edit: Callable[[SchemaUpdate], object]) -> DataFrame:
    return _commit(execution, execution.session.load_named(parts), edit)


def _commit(execution: Execution, table: LoadedTable, edit: Callable[[SchemaUpdate], object]) -> DataFrame:
    commit(table, ChangeSchema(edit=edit, case_sensitive=_case_sensitive(execution)))
    return nothing(execution.spark)


def _case_sensitive(execution: Execution) -> bool:
    return execution.session.setting("spark.sql.caseSensitive", "false") == "true"
