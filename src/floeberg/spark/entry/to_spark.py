"""A table that a user holds, as a DataFrame; the session need not be attached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import LoadedTable
from floeberg.expr.nodes import TRUE, Expression
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.session_state import Selection, SessionState
from floeberg.spark.host.settings.ambiguous_names import refuse_functions
from floeberg.spark.query.condition_expression import condition_expression
from floeberg.spark.read.frame import table_frame
from floeberg.spark.read.named_tables import selected_schema, selection_of
from floeberg.sql.queries.conjuncts import condition_of_target
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def to_spark(
    spark: SparkSession,
    table: LoadedTable,
    *,
    select: Sequence[str] | None = None,
    where: str | None = None,
    snapshot_id: int | None = None,
    ref: str | None = None,
    as_of_ms: int | None = None,
    metadata_columns: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The rows for which `where`, a condition in Spark's SQL, is true; files that hold none are left out."""
    expression: Expression = TRUE
    if where is not None:
        chosen = selection_of(AttachedSession(spark, SessionState("")), None, options)
        if (snapshot_id, ref, as_of_ms) != (None, None, None):
            chosen = Selection(snapshot_id, ref, as_of_ms)
        schema = selected_schema(table, chosen)
        target = TableIdentifier("", (table.state.identifier,))
        session = AttachedSession(spark, SessionState(""))
        refuse_functions(spark, schema, table.state.identifier, sql=where)
        cursor = Cursor(where, double_quoted_identifiers=session.double_quoted_identifiers)
        case_sensitive = session.setting("spark.sql.caseSensitive", "false") == "true"
        conditions = condition_of_target(
            cursor, Span(0, len(where)), target=target, alias=None, case_sensitive=case_sensitive
        )
        expression = condition_expression(session, conditions, schema)
    frame: DataFrame = table_frame(
        spark,
        table,
        snapshot_id=snapshot_id,
        ref=ref,
        as_of_ms=as_of_ms,
        where=expression,
        metadata_columns=metadata_columns,
        options=options,
    )
    if where is not None:
        frame = original(frame, "filter")(where)
    return frame if select is None else frame.select(*select)
