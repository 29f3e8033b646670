"""Queries over our tables: each reference becomes a DataFrame, planned under the conditions that the query puts on it,
and Spark runs the user's own text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE, Expression
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.originals import spark_sql
from floeberg.spark.host.session import AttachedSession, FrameView, Selection
from floeberg.spark.query.explain import remember_sources
from floeberg.spark.query.functions import function_calls
from floeberg.spark.query.view_text import expand_views
from floeberg.spark.read.named_tables import (
    audited,
    cached_frame,
    frame_of,
    selected_schema,
    selection_of,
    with_timestamp,
    with_version,
)
from floeberg.spec.schema import Schema
from floeberg.sql.conditions.predicates import Condition
from floeberg.sql.conditions.to_expression import to_expression
from floeberg.sql.queries.conjuncts import table_conditions
from floeberg.sql.queries.hidden_columns import columns_of, named_columns, star_rewrites
from floeberg.sql.queries.query_nodes import TimeTravel
from floeberg.sql.queries.references import References, TableReference, find_references, replace_references
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import Names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

METADATA_COLUMNS: Final = (
    "_file",
    "_pos",
    "_spec_id",
    "_partition",
    "_deleted",
    "_row_id",
    "_last_updated_sequence_number",
)


def run_query(execution: Execution, references: References) -> DataFrame:
    """Spark's answer to a query, or to a statement that holds queries, over our tables."""
    expanded, references = expand_views(execution, references)
    execution = execution.of(expanded)
    conditions = table_conditions(references)
    named = named_columns(references, METADATA_COLUMNS)
    frames: dict[str, Any] = {}
    keys: dict[int, str] = {}
    hidden: dict[int, tuple[str, ...]] = {}
    for number, (table, found) in enumerate(zip(references.tables, conditions, strict=True)):
        keys[id(table)] = key = f"floeberg_{number}"
        frames[key], hidden[id(table)] = _frame(execution, table, found, columns_of(table, named))
    functions = function_calls(execution, references)
    text = replace_references(
        execution.sql,
        references,
        lambda table: "{" + keys[id(table)] + "}",
        function_text=lambda use: functions[use.start],
        escape_braces=bool(frames) and not execution.kwargs,
        more=star_rewrites(references, hidden),
    )
    result = spark_sql(execution.spark, text, execution.args, **{**execution.kwargs, **frames})
    remember_sources(result, frames.values())
    return result


def query_frame(execution: Execution, text: str, *, names: Names | None = None) -> DataFrame:
    """A query as a DataFrame, whether or not it reads tables of ours."""
    part = execution.of(text)
    references = find_references(text, names or execution.session.names(), args=execution.args)
    if not references:
        return part.pass_on()
    return run_query(part, references)


def span_frame(execution: Execution, span: Span) -> DataFrame:
    """The query that stands in a part of the statement; its parameters keep their numbers."""
    text = span.of(execution.sql)
    part = Execution(
        execution.session, text, execution.args_within(text, span.start), execution.kwargs, execution.loaded
    )
    return query_frame(part, text)


def _frame(
    execution: Execution, table: TableReference, conditions: Sequence[Condition], columns: Sequence[str]
) -> tuple[DataFrame, tuple[str, ...]]:
    """The DataFrame of a reference, and the metadata columns that it has besides the table's own."""
    resolved = execution.resolve(table.identifier)
    execution.read.add(resolved.identifier)
    if isinstance(resolved.remembered, FrameView):
        loaded, selection = resolved.remembered.table, resolved.remembered.selection
    else:
        assert resolved.table is not None
        loaded, selection = resolved.table, selection_of(resolved.selector, dict(table.options))
    if table.time_travel is not None:
        selection = _travelled(execution, selection, table.time_travel)
    if selection.metadata_table is not None:
        return frame_of(execution.session, loaded, selection), ()
    if resolved.remembered is None:
        selection = audited(execution.session, loaded, selection)
    schema = selected_schema(loaded, selection)
    own = {field.name.lower() for field in schema.fields}
    hidden = tuple(name for name in columns if name not in own)
    if selection == Selection() and not hidden and (cached := cached_frame(execution.session, resolved)) is not None:
        return cached, ()
    where = condition_expression(execution.session, conditions, schema)
    return frame_of(execution.session, loaded, selection, where=where, metadata_columns=hidden), hidden


def _travelled(execution: Execution, selection: Selection, travel: TimeTravel) -> Selection:
    start = travel.end - len(travel.text)
    if travel.kind == "version":
        return with_version(selection, execution.value(travel.text, start=start))
    moment = execution.value(travel.text, start=start, within="unix_millis(CAST({} AS TIMESTAMP))")
    if moment is None:
        raise InvalidInput(f"TIMESTAMP AS OF {travel.text} is null")
    return with_timestamp(selection, int(moment))


def condition_expression(session: AttachedSession, conditions: Sequence[Condition], schema: Schema) -> Expression:
    """The conditions for planning, under the session's own rules of coercion."""
    if not conditions:
        return TRUE
    return to_expression(
        conditions,
        schema,
        ansi=session.setting("spark.sql.ansi.enabled", "true") == "true",
        session_time_zone=session.setting("spark.sql.session.timeZone", "UTC"),
        case_sensitive=session.setting("spark.sql.caseSensitive", "false") == "true",
        timestamp_ntz=session.setting("spark.sql.timestampType", "TIMESTAMP_LTZ") == "TIMESTAMP_NTZ",
    )
