"""INSERT and TRUNCATE: as a write of a DataFrame or a commit without rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from floeberg.commit.commit import commit_operations
from floeberg.commit.overwrite import Overwrite
from floeberg.errors import ColumnNotFound, InvalidInput, UnsupportedFeature
from floeberg.expr.nodes import TRUE, Expression
from floeberg.spark.dml.static_partitions import column_key, partition_columns, static_condition, static_values
from floeberg.spark.host.destination import destination
from floeberg.spark.host.engine_summary import engine_summary
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.name_resolution import Resolved, refuse_static
from floeberg.spark.host.results import nothing
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.settings.ambiguous_names import refuse_functions
from floeberg.spark.host.settings.coercion_rules import coercion_rules
from floeberg.spark.query.run import query_frame
from floeberg.spark.read.column_conditions import sql_of, whole_condition_of
from floeberg.spark.write.commands import WAP_ENABLED, Write, append, overwrite, overwrite_partitions
from floeberg.spark.write.exact_values import refuse_cut_default
from floeberg.spark.write.once import once_of
from floeberg.spark.write.options import is_dynamic, session_write_options, write_options
from floeberg.spark.write.whole_conditions import is_whole
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema, walk_fields
from floeberg.spec.types import UNSET
from floeberg.sql.conditions.to_expression import to_exact_expression
from floeberg.sql.ddl.default_values import literal_text
from floeberg.sql.queries.conjuncts import condition_of_target
from floeberg.sql.queries.references import Rewrite, apply_rewrites
from floeberg.sql.statements.dml_statements import Insert
from floeberg.sql.statements.insert_defaults import find_defaults, query_text
from floeberg.sql.statements.statements import TruncateTable
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import TableIdentifier
from floeberg.sql.text.parameters import with_literals
from floeberg.sql.text.variables import may_have_variables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def insert(execution: Execution, statement: Insert) -> DataFrame:
    if statement.if_not_exists:
        raise UnsupportedFeature("INSERT … IF NOT EXISTS is for Hive partitions; leave the words out")
    resolved = target_table(execution.session, execution.session.table_identifier(statement.table.parts))
    assert resolved.table is not None
    metadata = resolved.table.state.metadata
    schema = metadata.current_schema
    static = static_values(execution, metadata, statement.partition, table=str(resolved.identifier))
    case_sensitive = coercion_rules(execution.session.setting)["case_sensitive"]
    names = _target_names(schema, statement, static, case_sensitive=case_sensitive)
    frame = _frame(execution, statement, schema, names)
    by_name = statement.by_name
    columns: list[str] | None = None if by_name or not statement.columns else names
    if static:
        columns = None if by_name else [*names, *static]
        frame = _with_static(frame, columns, static)
    options = dict(statement.options)
    if statement.schema_evolution:
        options.setdefault("mergeSchema", "true")
    write = prepared_write(execution.session, resolved, options, by_name=by_name, columns=columns)
    if not statement.overwrite and statement.replace_where is None:
        append(frame, write)
    elif statement.replace_where is not None:
        overwrite(frame, write, where=_condition(execution, resolved, statement.replace_where))
    elif overwrites_partitions(execution.session, options, metadata, static=static):
        overwrite_partitions(frame, write)
    else:
        overwrite(frame, write, where=_static_condition(execution, resolved, static))
    return nothing(execution.spark)


def target_table(session: AttachedSession, identifier: TableIdentifier) -> Resolved:
    """The table that a write names, a branch of it allowed. Raises InvalidInput for a view."""
    resolved = session.resolve(identifier)
    if resolved.table is None:
        raise InvalidInput(f"{identifier} is a view and cannot be written to")
    refuse_static(resolved.identifier, resolved.selector)
    return resolved


def prepared_write(
    session: AttachedSession,
    resolved: Resolved,
    options: Mapping[str, str],
    *,
    by_name: bool = True,
    columns: list[str] | None = None,
) -> Write:
    """What `write.commands` needs to know, with the session's settings for write-audit-publish."""
    assert resolved.table is not None
    branch = resolved.selector.value if resolved.selector is not None else None
    wap_id = session.setting("spark.wap.id", "") or None
    wap_branch = session.setting("spark.wap.branch", "") or None
    enabled = resolved.table.state.metadata.properties.get(WAP_ENABLED, "false").lower() == "true"
    if wap_id is not None and wap_branch is not None and enabled:
        raise InvalidInput("spark.wap.id and spark.wap.branch are both set; unset one of them")
    if enabled and wap_branch is not None and branch is None and "branch" not in {key.lower() for key in options}:
        branch = wap_branch
    return Write(
        table=resolved.table,
        options=options,
        branch=branch,
        wap_id=wap_id if enabled else None,
        by_name=by_name,
        columns=columns,
        case_sensitive=session.setting("spark.sql.caseSensitive", "false") == "true",
        engine_summary=engine_summary(session.spark),
    )


def _target_names(schema: Schema, statement: Insert, static: Mapping[str, str], *, case_sensitive: bool) -> list[str]:
    if statement.columns:
        return [".".join(path) for path in statement.columns]
    fixed = {column_key(name, case_sensitive=case_sensitive) for name in static}
    return [field.name for field in schema.fields if column_key(field.name, case_sensitive=case_sensitive) not in fixed]


def _frame(execution: Execution, statement: Insert, schema: Schema, names: list[str]) -> DataFrame:
    table = ".".join(statement.table.parts)
    text = query_text(execution.sql, statement)
    defaults = find_defaults(text)
    if not defaults.uses:
        return query_frame(execution, text)
    if defaults.may_be_column and (frame := _with_column(execution, text)) is not None:
        return frame
    rewrites = [
        Rewrite(use.span.start, use.span.end, _default(schema, names, use.ordinal, table=table))
        for use in defaults.uses
    ]
    return query_frame(execution, apply_rewrites(text, rewrites))


def _with_column(execution: Execution, text: str) -> DataFrame | None:
    """The query where DEFAULT is a column; None when no relation has one of that name, so that it is the keyword."""
    try:
        frame = query_frame(execution, text)
        return frame if frame.columns else None
    except AnalysisException:
        return None


def _default(schema: Schema, names: list[str], ordinal: int, *, table: str) -> str:
    """The value that DEFAULT stands for at a place in the row."""
    if ordinal >= len(names):
        raise InvalidInput(f"DEFAULT stands at place {ordinal + 1} of a row, the table takes {len(names)} columns")
    field = schema.find(names[ordinal]) or schema.find(names[ordinal], case_sensitive=False)
    if field is None:
        raise ColumnNotFound(f"table {table} has no column {names[ordinal]!r}", column=names[ordinal])
    if field.write_default in (UNSET, None):
        return "NULL"
    refuse_cut_default(field, table=table)
    return literal_text(field.type, field.write_default)


def _with_static(frame: DataFrame, columns: list[str] | None, static: Mapping[str, str]) -> DataFrame:
    """The query's columns, then those of PARTITION."""
    if columns is not None and len(frame.columns) + len(static) != len(columns):
        names = columns[: -len(static)]
        raise InvalidInput(
            f"the query gives {len(frame.columns)} columns; without those of PARTITION the table takes {len(names)}: "
            f"{', '.join(names)}"
        )
    values = [F.expr(value).alias(name) for name, value in static.items()]
    return frame.select("*", *values)


def overwrites_partitions(
    session: AttachedSession, options: Mapping[str, str], metadata: TableMetadata, *, static: Collection[str] = ()
) -> bool:
    """Whether an overwrite replaces only the partitions that it has rows for: by its option, else by the session. As in Spark,
    one that says by its `static` values what it replaces does not, nor one of a table without partitions: without rows it
    leaves nothing of them."""
    asked = is_dynamic(options)
    if asked is not None:
        return asked and not static
    if session.setting("spark.sql.sources.partitionOverwriteMode", "STATIC").lower() != "dynamic":
        return False
    all_are_static = bool(static) and len(static) == len(partition_columns(metadata))
    return not metadata.default_spec.is_unpartitioned and not all_are_static


def _static_condition(execution: Execution, resolved: Resolved, static: dict[str, str]) -> Expression:
    return exact_condition(execution.session, resolved, static_condition(static)) if static else TRUE


def _condition(execution: Execution, resolved: Resolved, span: Span) -> Expression:
    return exact_condition(execution.session, resolved, _constant(execution, span))


def _constant(execution: Execution, span: Span) -> str:
    """A part of the statement that metadata is compared with: parameters are literals there."""
    return with_literals(span.of(execution.sql), execution.args, what="INSERT")


def exact_condition(session: AttachedSession, resolved: Resolved, text: str) -> Expression:
    """A condition on a table's columns as an equivalent expression. Raises UnsupportedFeature when it cannot be decided for
    whole files."""
    assert resolved.table is not None
    schema = resolved.table.state.metadata.current_schema
    if text.strip().lower() in ("true", "(true)"):
        return TRUE
    refuse_functions(session.spark, schema, str(resolved.identifier), sql=text)
    cursor, span = Cursor(text, double_quoted_identifiers=session.double_quoted_identifiers), Span(0, len(text))
    rules = coercion_rules(session.setting)
    conditions = condition_of_target(
        cursor, span, target=resolved.identifier, alias=None, case_sensitive=rules["case_sensitive"]
    )
    found = to_exact_expression(conditions, schema, **rules)
    # `conditions` lacks the parts that cannot be read: without them, rows outside the condition would be removed.
    if found is None or not conditions or not is_whole(cursor, span, conditions):
        raise UnsupportedFeature(
            f"{resolved.identifier}: rows cannot be overwritten by {text!r}; compare columns with literals of their types"
        )
    return found


def column_condition(session: AttachedSession, resolved: Resolved, condition: object) -> Expression | None:
    """A Column on a table's columns as an equivalent expression; None when it can only be evaluated on rows."""
    assert resolved.table is not None
    schema = resolved.table.state.metadata.current_schema
    names = [field.name for field, _ in walk_fields(schema.fields)]
    parts = whole_condition_of(condition, names)
    if parts is not None:
        return to_exact_expression(parts, schema, **coercion_rules(session.setting))
    text = sql_of(condition)
    if text is None or may_have_variables(text):
        return None
    if text.lower() in ("true", "false") and text.lower() in {name.lower() for name in names}:
        return None
    try:
        return exact_condition(session, resolved, text)
    except (UnsupportedFeature, InvalidInput):
        return None  # no SQL, or SQL that metadata cannot answer


def truncate_table(execution: Execution, statement: TruncateTable) -> DataFrame:
    resolved = target_table(execution.session, execution.session.table_identifier(statement.table.parts))
    assert resolved.table is not None
    metadata = resolved.table.state.metadata
    static = static_values(execution, metadata, statement.partition, table=str(resolved.identifier), all_static=True)
    where = _static_condition(execution, resolved, static)
    place = destination(execution.spark, metadata, selector=resolved.selector)
    given = write_options(metadata, session_write_options(execution.spark.conf.getAll, {}))
    operations = [
        *place.operations_before,
        Overwrite(row_filter=where, target=place.snapshot_target(dict(given.summary))),
    ]
    once = once_of(place, given.txn, session=execution.spark)
    if once is not None and once.skip(resolved.table.pointer) is not None:
        return nothing(execution.spark)
    committed = commit_operations(
        resolved.table.pointer,
        resolved.table.state,
        operations,
        engine_summary=engine_summary(execution.spark),
        once=None if once is None else once.transaction,
    )
    if once is not None:
        once.ended(committed)
    return nothing(execution.spark)
