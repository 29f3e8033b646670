"""The tables of a statement that are not read, because metadata tell all that it asks of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from floeberg.expr.nodes import Expression
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.spark.host.calls.own_functions import is_sparks_own
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.view_settings import other_settings
from floeberg.spark.query.explain import remember_summary
from floeberg.spark.query.statement_keys import SelectedTable
from floeberg.spark.read.aggregates import summary_frame
from floeberg.spark.read.options import FrameOptions
from floeberg.spark.read.table_cache import is_cached
from floeberg.spec.schemas.schema import Schema
from floeberg.sql.queries.metadata_aggregates import metadata_aggregates
from floeberg.sql.queries.references import References, Rewrite

AGGREGATE_PUSH_DOWN: Final = "spark.sql.iceberg.aggregate-push-down.enabled"
"""The Java runtime's setting: false reads the files."""


@dataclass(frozen=True, slots=True)
class MetadataAnswer:
    """The rows in the place of a table's, and what changes in the statement's text."""

    frame: Any
    rewrites: Sequence[Rewrite]


def metadata_answers(
    execution: Execution,
    references: References,
    tables: Sequence[SelectedTable | None],
    where: Callable[[int, Schema], Expression],
) -> dict[int, MetadataAnswer]:
    """The answers by the number of the reference. `where` gives what planning knows of a reference's conditions."""
    session = execution.session
    columns = {
        id(relation): frozenset(field.name.lower() for field in table.schema.fields)
        for relation, table in zip(references.relations, tables, strict=True)
        if table is not None
    }
    queries = metadata_aggregates(references, columns)
    if not queries or not _is_allowed(execution):
        return {}
    functions = sorted({function for query in queries for function in query.functions})
    replaced = {function for function in functions if not is_sparks_own(session.spark, function)}
    numbers = {id(relation): number for number, relation in enumerate(references.relations)}
    answers: dict[int, MetadataAnswer] = {}
    for query in queries:
        number = numbers[id(query.relation)]
        table = tables[number]
        assert table is not None
        options = FrameOptions.of(table.selection.options)
        if (
            query.functions & replaced
            or options.is_incremental
            or is_cached(session, table.identifier, table.selection)
        ):
            continue
        selection = table.selection
        summary = summary_frame(
            session.spark,
            table.loaded,
            choose_snapshot(
                table.loaded.state.metadata,
                snapshot_id=selection.snapshot_id,
                ref=selection.ref,
                as_of_ms=selection.as_of_ms,
            ),
            query,
            where=where(number, table.schema),
            ignore_scheme=options.ignore_scheme,
            cache=session.state.manifests,
        )
        if summary is not None:
            remember_summary(summary)
            answers[number] = MetadataAnswer(summary.frame, query.rewrites)
    return answers


def _is_allowed(execution: Execution) -> bool:
    """Names that differ by case alone are not told apart, and a view's own settings may give them another meaning."""
    session = execution.session
    if other_settings(session, execution.scope) or session.setting(AGGREGATE_PUSH_DOWN, "true") != "true":
        return False
    return session.setting("spark.sql.caseSensitive", "false") != "true"
