"""Procedures that rewrite files: https://iceberg.apache.org/docs/latest/spark-procedures/#metadata-management"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import LoadedTable
from floeberg.expr.nodes import TRUE
from floeberg.maintenance.rewrite.compact import RewriteRequest, Rewritten
from floeberg.maintenance.rewrite.compact import rewrite_data_files as rewrite
from floeberg.spark.host.engine_summary import engine_summary
from floeberg.spark.procedures.rewrite_engine import SparkEngine
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.sql.conditions.filters import parse_where

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Values = dict[str, Any]
Rows = list[tuple[Any, ...]]


def rewrite_data_files(spark: SparkSession, table: LoadedTable, values: Values) -> Rows:
    request = RewriteRequest(
        where=TRUE if values["where"] is None else parse_where(values["where"]),
        strategy=values["strategy"],
        sort_order=values["sort_order"],
        options=values["options"] or {},
        branch=values["branch"] or MAIN_BRANCH,
        case_sensitive=False,
    )
    done = rewrite_on_spark(spark, table, request)
    return [
        (
            done.rewritten_data_files,
            done.added_data_files,
            done.rewritten_bytes,
            done.failed_data_files,
            done.removed_delete_files,
        )
    ]


def rewrite_on_spark(spark: SparkSession, table: LoadedTable, request: RewriteRequest, **told: Any) -> Rewritten:
    """Rewrites data files by Spark jobs."""
    asked = RewriteRequest(
        where=request.where,
        strategy=request.strategy,
        sort_order=request.sort_order,
        options=request.options,
        branch=request.branch,
        case_sensitive=request.case_sensitive,
        engine_summary=engine_summary(spark),
    )
    return rewrite(table.pointer, table.state, SparkEngine(spark, table), asked, **told)
