"""A table that a user holds, as a DataFrame; the session need not be attached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import LoadedTable
from floeberg.expr.nodes import TRUE, Expression
from floeberg.spark.host.originals import original
from floeberg.spark.host.session import AttachedSession, Selection, SessionState
from floeberg.spark.query.run import condition_expression
from floeberg.spark.read.frame import table_frame
from floeberg.spark.read.named_tables import selected_schema
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
        schema = selected_schema(table, Selection(snapshot_id, ref, as_of_ms))
        target = TableIdentifier("", (table.state.identifier,))
        conditions = condition_of_target(Cursor(where), Span(0, len(where)), target=target, alias=None)
        expression = condition_expression(AttachedSession(spark, SessionState("")), conditions, schema)
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
