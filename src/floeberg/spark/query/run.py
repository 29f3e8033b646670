"""Queries over our tables: each reference becomes a DataFrame, planned under the conditions that the query puts on it,
and Spark runs the user's own text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import AnalysisException

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spark.host.calls.originals import original, spark_sql
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.session_state import Selection
from floeberg.spark.host.settings.ambiguous_names import refuse_functions
from floeberg.spark.host.settings.session_settings import QUOTED_PATTERNS, quoted_patterns, settings_read_once
from floeberg.spark.host.view_settings import ANY_TEXT, other_settings, settings_now, under
from floeberg.spark.host.views import FrameView
from floeberg.spark.query.condition_expression import condition_expression
from floeberg.spark.query.explain import remember_sources
from floeberg.spark.query.frame_views import FrameViewReader, catalogs_of_origin, is_of_its_time
from floeberg.spark.query.functions import function_calls
from floeberg.spark.query.metadata_answers import metadata_answers
from floeberg.spark.query.row_queries import RowQueries
from floeberg.spark.query.statement_keys import SelectedTable, StatementKeys, join_keys_of, keys_of, prunes_joins
from floeberg.spark.query.view_columns import conditions_inside, has_other_types, view_frame
from floeberg.spark.query.view_scope import place_rewrites, shown_name, view_columns, view_text
from floeberg.spark.read.derived_frames import TableOrigin, origin_of
from floeberg.spark.read.frame_registry import is_connect
from floeberg.spark.read.joins.key_values import KeyReader
from floeberg.spark.read.named_tables import (
    cached_or_read,
    frame_of,
    on_wap_branch,
    refuse_view_options,
    selected_schema,
    selection_of,
    with_timestamp,
    with_version,
)
from floeberg.spark.read.renamed_columns import HIDDEN_COLUMNS, renamed, with_own_names
from floeberg.spark.read.reused_frames import apart_from_cached
from floeberg.spark.read.table_cache import is_cached
from floeberg.spark.read.unions import computed_above, may_be_union
from floeberg.sql.conditions.predicates import Condition, IsNull, Matches
from floeberg.sql.queries.conjuncts import table_conditions
from floeberg.sql.queries.hidden_columns import NOTHING, hidden_columns, names_any
from floeberg.sql.queries.hidden_uses import HiddenColumns, TableColumns
from floeberg.sql.queries.query_nodes import TimeTravel
from floeberg.sql.queries.references import References, TableReference, find_references, replace_references
from floeberg.sql.queries.whole_results import may_be_whole
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import Names, display_name
from floeberg.sql.text.variables import may_have_variables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CTE_PRECEDENCE: Final = "spark.sql.legacy.ctePrecedencePolicy"
_RELATION_PRECEDENCE: Final = "spark.sql.ansi.relationPrecedence"


@dataclass(frozen=True, slots=True)
class _Source:
    """What a reference reads: a table, or the rows of a view or metadata table."""

    table: SelectedTable | None = None
    frame: DataFrame | None = None

    def columns(self) -> TableColumns:
        """The columns by name, and the metadata columns that can be asked for."""
        if self.table is not None:
            own = frozenset(field.name.lower() for field in self.table.schema.fields)
            return TableColumns(own, HIDDEN_COLUMNS - own)
        assert self.frame is not None
        return TableColumns(frozenset(name.lower() for name in self.frame.columns), frozenset())


def run_query(execution: Execution, references: References, given: Sequence[Condition] = ()) -> DataFrame:
    """The result of a query, or of a statement that holds queries, over our tables. `given` are conditions that the needed
    rows of the result fulfil."""
    with settings_read_once(execution.spark):
        return _run_query(execution, references, given)


def _run_query(execution: Execution, references: References, given: Sequence[Condition]) -> DataFrame:
    chosen = [_chosen(execution, table) for table in references.tables]
    reads_views = any(one.resolved.table is None for one in chosen)
    execution = replace(execution, has_row_query=RowQueries(execution, references, reads_views=reads_views))
    conditions = _statement_keys(execution, references, chosen, given).bound()
    sources = [
        _source(execution, table, one, found)
        for table, one, found in zip(references.tables, chosen, conditions, strict=True)
    ]
    hidden = _hidden(execution, references, sources)
    answers = metadata_answers(
        execution,
        references,
        [one.table for one in chosen],
        lambda number, schema: condition_expression(execution.session, conditions[number], schema),
    )
    frames: dict[str, Any] = {}
    keys: dict[int, str] = {}
    read: list[DataFrame] = []
    for number, (table, source) in enumerate(zip(references.tables, sources, strict=True)):
        keys[id(table)] = key = _free_name(f"floeberg_{number}", execution.kwargs)
        if number in answers:
            frames[key] = answers[number].frame
            read.append(frames[key])
            continue
        frame = _frame(execution, source, conditions[number], hidden.of(number))
        read.append(frame)
        if source.frame is not None:
            frame = apart_from_cached(frame)
        if references.walk.computes_by_queries and may_be_union(frame):
            frame = computed_above(frame)
        frames[key] = renamed(frame, hidden.renamed[number], number) if number in hidden.renamed else frame
    functions = function_calls(execution, references)
    text = replace_references(
        execution.sql,
        references,
        lambda table: "{" + keys[id(table)] + "}",
        function_text=lambda use: functions[use.start],
        escape_braces=bool(frames) and not execution.kwargs,
        more=[
            *hidden.rewrites,
            *place_rewrites(execution, references),
            *(rewrite for answer in answers.values() for rewrite in answer.rewrites),
        ],
    )
    with under(execution.session, other_settings(execution.session, execution.scope)):
        result = spark_sql(execution.spark, text, execution.args, **{**execution.kwargs, **frames})
    if hidden.renamed:
        result = with_own_names(result)
    elif may_be_whole(references):
        result = apart_from_cached(result)
    remember_sources(result, read)
    return result


def _free_name(name: str, taken: Collection[str]) -> str:
    """The name, with underscores after it where a frame that the user gave has it."""
    while name in taken:
        name += "_"
    return name


def query_frame(execution: Execution, text: str, *, names: Names | None = None) -> DataFrame:
    """A query as a DataFrame, whether or not it reads tables of ours."""
    part = execution.of(text)
    references = find_references(text, names or execution.names(), args=execution.args)
    if not references and execution.scope is None:
        return part.pass_on()
    return run_query(part, references)


def span_frame(execution: Execution, span: Span) -> DataFrame:
    """The query that stands in a part of the statement."""
    return query_frame(execution, span.of(execution.sql))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What a reference means, and for a table or metadata table what is read of it."""

    resolved: Resolved
    table: SelectedTable | None = None
    metadata_table: Selection | None = None


def _chosen(execution: Execution, table: TableReference) -> _Chosen:
    resolved = execution.resolve(table.identifier)
    if resolved.table is None:
        refuse_view_options(str(table.identifier), dict(table.options))
        return _Chosen(resolved)
    execution.read.add(resolved.identifier)
    loaded = resolved.table
    selection = selection_of(execution.session, resolved.selector, dict(table.options))
    if table.time_travel is not None:
        selection = _travelled(execution, selection, table.time_travel)
    selection = on_wap_branch(execution.session, loaded, selection)
    if selection.metadata_table is not None:
        return _Chosen(resolved, metadata_table=selection)
    schema = selected_schema(loaded, selection)
    refuse_functions(execution.spark, schema, str(resolved.identifier), sql=execution.sql)
    return _Chosen(resolved, SelectedTable(resolved.identifier, loaded, selection, schema))


def _source(execution: Execution, table: TableReference, chosen: _Chosen, conditions: Sequence[Condition]) -> _Source:
    if chosen.table is not None:
        return _Source(table=chosen.table)
    loaded = chosen.resolved.table
    if loaded is None:
        if table.time_travel is not None:
            raise UnsupportedFeature(f"{shown_name(chosen.resolved.identifier)} is a view: time travel is for tables")
        return _Source(frame=view_rows(execution, chosen.resolved, conditions))
    assert chosen.metadata_table is not None
    return _Source(frame=cached_or_read(execution.session, chosen.resolved.identifier, loaded, chosen.metadata_table))


def _statement_keys(
    execution: Execution,
    references: References,
    chosen: Sequence[_Chosen],
    given: Sequence[Condition] = (),
    *,
    tables: int = 2,
) -> StatementKeys:
    """The conditions on each reference, those of its joins among them where there are as many tables."""
    columns: dict[int, frozenset[str]] = {}
    for relation, one in zip(references.relations, chosen, strict=True):
        names = _column_names(execution, one)
        if names is not None:
            columns[id(relation)] = names
    prunes = len(references.tables) >= tables and _prunes_joins(execution, references)
    joins = join_keys_of(references, columns, [one.table for one in chosen]) if prunes else None

    def of_view(number: int, column: str) -> KeyReader | None:
        return _keys_of_view(execution, chosen[number].resolved, found[number], column)

    found: Sequence[Sequence[Condition]] = tuple(() for _ in references.tables)
    if _tells_conditions(execution, references):
        found = table_conditions(references, given, joins=joins)
    return StatementKeys(
        execution.session,
        {id(relation): number for number, relation in enumerate(references.relations)},
        [one.table for one in chosen],
        found,
        joins,
        lambda conditions, schema: condition_expression(execution.session, conditions, schema),
        of_view,
    )


def _tells_conditions(execution: Execution, references: References) -> bool:
    """Whether the text tells what the statement asks of its tables and views. A view's text means what it meant under the
    view's settings, names that differ by case alone are not told apart, and Spark puts other text for variables."""
    session = execution.session
    if other_settings(session, execution.scope) or session.setting("spark.sql.caseSensitive", "false") == "true":
        return False
    if may_have_variables(execution.sql) or _has_other_joins(execution, references):
        return False
    return not _has_other_ctes(execution, references)


def _has_other_joins(execution: Execution, references: References) -> bool:
    """Whether a join after a comma may see less than it does by default: not what stands before the comma."""
    return references.walk.joins_after_commas and execution.session.setting(_RELATION_PRECEDENCE, "false") == "true"


def _has_other_ctes(execution: Execution, references: References) -> bool:
    """Whether a name of a WITH clause may mean another one than it does by default: the outer one of two."""
    if len(references.walk.ctes) < 2:
        return False
    return execution.session.setting(_CTE_PRECEDENCE, "CORRECTED").upper() == "LEGACY"


def _prunes_joins(execution: Execution, references: References) -> bool:
    """Whether joins in the statement may leave out files. Rows that are deleted must not be missed where they are asked
    for."""
    session = execution.session
    if references.query is None or other_settings(session, execution.scope):
        return False
    return not names_any(references, frozenset({"_deleted"})) and prunes_joins(session)


def _column_names(execution: Execution, chosen: _Chosen) -> frozenset[str] | None:
    """The columns of a table or view in lower case; None where only a DataFrame can say."""
    if chosen.table is not None:
        return frozenset(field.name.lower() for field in chosen.table.schema.fields)
    resolved = chosen.resolved
    if resolved.table is not None or isinstance(resolved.remembered, FrameView):
        return None
    columns = view_columns(execution.session, resolved)
    return None if columns.mode == "EVOLUTION" else frozenset(name.lower() for name in columns.schema.names)


def _keys_of_view(
    execution: Execution, resolved: Resolved, conditions: Sequence[Condition], column: str
) -> KeyReader | None:
    """The keys of a view's column, where it is a table's own, of the type that the view shows."""
    if resolved.table is not None or isinstance(resolved.remembered, FrameView):
        return None
    text = view_text(execution, resolved)
    inner = conditions_inside(text.columns, [IsNull((column,))])
    if text.columns.mode == "EVOLUTION" or not inner or not isinstance(inner[0], IsNull):
        return None
    references = text.references
    chosen = [_chosen(text.execution, table) for table in references.tables]
    plain = _statement_keys(text.execution, references, chosen, tables=1)
    literal = [condition for condition in conditions if not isinstance(condition, Matches)]
    # The view shows a column in its recorded type: what holds for the cast value says little about the table's own.
    given = conditions_inside(
        text.columns, literal, tells=lambda name: plain.has_recorded_type(references, name, text.columns)
    )
    keys = _statement_keys(text.execution, references, chosen, given, tables=1)
    return keys.of_output(references, inner[0].column[0].lower(), text.columns)


def _hidden(execution: Execution, references: References, sources: Sequence[_Source]) -> HiddenColumns:
    """The metadata columns that the statement names, by reference."""
    if not names_any(references, HIDDEN_COLUMNS):
        return NOTHING
    if quoted_patterns(execution.spark):
        raise UnsupportedFeature(
            f"metadata columns cannot be told from columns while {QUOTED_PATTERNS} is true: it would find them by patterns; "
            "set it to false"
        )

    def of_spark(parts: tuple[str, ...]) -> frozenset[str] | None:
        try:
            found = original(execution.spark, "table")(display_name(parts)).columns
        except AnalysisException:
            return None
        return frozenset(name.lower() for name in found)

    return hidden_columns(references, [source.columns() for source in sources], of_spark)


def _frame(execution: Execution, source: _Source, conditions: Sequence[Condition], columns: Sequence[str]) -> DataFrame:
    """The DataFrame of a reference, with these metadata columns after the table's own."""
    session, table = execution.session, source.table
    if table is None:
        assert source.frame is not None
        return source.frame
    if not columns and is_cached(session, table.identifier, table.selection):
        return cached_or_read(session, table.identifier, table.loaded, table.selection)
    where = condition_expression(session, conditions, table.schema)
    keys = keys_of(conditions)
    return frame_of(
        session,
        table.loaded,
        table.selection,
        where=where,
        metadata_columns=columns,
        skips_row_groups=not execution.has_invalid_utf8,
        keys=keys,
        keeps_one=execution.has_row_query,
        reuse=True,
    )


def view_rows(execution: Execution, resolved: Resolved, conditions: Sequence[Condition] = ()) -> DataFrame:
    """The rows of a view: its query is run by itself, so that nothing of the statement around it changes its meaning."""
    name = shown_name(resolved.identifier)
    if isinstance(resolved.remembered, FrameView):
        return FrameViewReader(execution, name, resolved.remembered, view_rows).rows(conditions)
    text = view_text(execution, resolved)
    inside = conditions_inside(text.columns, conditions)
    frame = run_query(text.execution, text.references, inside)
    if inside and has_other_types(text.columns, frame):
        frame = run_query(text.execution, text.references)  # a condition on a cast says little about the uncast value
    found = view_frame(execution.session, name, text.columns, frame)
    if found is not frame:
        remember_sources(found, [frame])
    return found


def frame_view(session: AttachedSession, frame: Any) -> FrameView | None:
    """What to remember of a temporary view of the DataFrame; None if it cannot be rebuilt from a table or view, so that
    Spark's own view stays."""
    catalogs = catalogs_of_origin(frame)
    if catalogs is None or not catalogs <= session.state.catalogs.keys():
        return None
    is_whole_table = isinstance(origin_of(frame), TableOrigin)
    settings = settings_now(session, ANY_TEXT) if is_connect(frame) and not is_whole_table else ()
    view = FrameView(frame, session.new_mark(), catalogs, settings)
    return view if is_whole_table or _can_be_rebuilt(session, view) else None


def _can_be_rebuilt(session: AttachedSession, view: FrameView) -> bool:
    """Not if it has columns of another DataFrame or what only its own time gives, and not if views are nested too deep."""
    if is_of_its_time(Execution(session, ""), view.frame):
        return False
    try:
        _ = FrameViewReader(Execution(session, ""), "", view, view_rows).rows().schema
    except (AnalysisException, InvalidInput):
        return False
    return True


def _travelled(execution: Execution, selection: Selection, travel: TimeTravel) -> Selection:
    if travel.kind == "version":
        return with_version(selection, execution.value(travel.text))
    moment = execution.value(travel.text, within="unix_millis(CAST({} AS TIMESTAMP))")
    if moment is None:
        raise InvalidInput(f"TIMESTAMP AS OF {travel.text} is null")
    return with_timestamp(selection, int(moment))
