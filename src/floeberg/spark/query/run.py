"""Queries over our tables: each reference becomes a DataFrame, planned under the conditions that the query puts on it,
and Spark runs the user's own text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException

from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE, Expression
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.originals import original, spark_sql
from floeberg.spark.host.session import AttachedSession, FrameView, Resolved, Selection
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
from floeberg.spark.read.renamed_columns import HIDDEN_COLUMNS, renamed, with_own_names
from floeberg.spark.sql.conjuncts import table_conditions
from floeberg.spark.sql.hidden_columns import NOTHING, HiddenColumns, TableColumns, hidden_columns, names_any
from floeberg.spark.sql.names import Names, display_name
from floeberg.spark.sql.predicates import Condition
from floeberg.spark.sql.query_nodes import TimeTravel
from floeberg.spark.sql.references import References, TableReference, find_references, replace_references
from floeberg.spark.sql.statements import Span
from floeberg.spark.sql.to_expression import to_expression
from floeberg.spec.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class _Source:
    """What a reference reads."""

    resolved: Resolved
    table: LoadedTable
    selection: Selection
    schema: Schema | None
    """None for a metadata table."""


def run_query(execution: Execution, references: References) -> DataFrame:
    """Spark's answer to a query, or to a statement that holds queries, over our tables."""
    expanded, references = expand_views(execution, references)
    execution = execution.of(expanded)
    conditions = table_conditions(references)
    sources = [_source(execution, table) for table in references.tables]
    hidden = _hidden(execution, references, sources)
    frames: dict[str, Any] = {}
    keys: dict[int, str] = {}
    for number, (table, source) in enumerate(zip(references.tables, sources, strict=True)):
        keys[id(table)] = key = f"floeberg_{number}"
        frame = _frame(execution, source, conditions[number], hidden.of(number))
        frames[key] = renamed(frame, hidden.renamed[number], number) if number in hidden.renamed else frame
    functions = function_calls(execution, references)
    text = replace_references(
        execution.sql,
        references,
        lambda table: "{" + keys[id(table)] + "}",
        function_text=lambda use: functions[use.start],
        escape_braces=bool(frames) and not execution.kwargs,
        more=hidden.rewrites,
    )
    result = spark_sql(execution.spark, text, execution.args, **{**execution.kwargs, **frames})
    if hidden.renamed:
        result = with_own_names(result)
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


def _source(execution: Execution, table: TableReference) -> _Source:
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
        return _Source(resolved, loaded, selection, None)
    if resolved.remembered is None:
        selection = audited(execution.session, loaded, selection)
    return _Source(resolved, loaded, selection, selected_schema(loaded, selection))


def _hidden(execution: Execution, references: References, sources: Sequence[_Source]) -> HiddenColumns:
    """The metadata columns that the statement names, by reference."""
    if not names_any(references, HIDDEN_COLUMNS):
        return NOTHING
    columns = [
        TableColumns(frozenset(), frozenset())
        if source.schema is None
        else TableColumns(own := frozenset(field.name.lower() for field in source.schema.fields), HIDDEN_COLUMNS - own)
        for source in sources
    ]

    def of_spark(parts: tuple[str, ...]) -> frozenset[str] | None:
        try:
            found = original(execution.spark, "table")(display_name(parts)).columns
        except AnalysisException:
            return None
        return frozenset(name.lower() for name in found)

    return hidden_columns(references, columns, of_spark)


def _frame(execution: Execution, source: _Source, conditions: Sequence[Condition], columns: Sequence[str]) -> DataFrame:
    """The DataFrame of a reference, with these metadata columns after the table's own."""
    session = execution.session
    if source.schema is None:
        return frame_of(session, source.table, source.selection)
    if source.selection == Selection() and not columns:
        cached = cached_frame(session, source.resolved)
        if cached is not None:
            return cached
    where = condition_expression(session, conditions, source.schema)
    return frame_of(session, source.table, source.selection, where=where, metadata_columns=columns)


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
