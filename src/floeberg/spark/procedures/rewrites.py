"""Procedures that rewrite files: https://iceberg.apache.org/docs/latest/spark-procedures/#metadata-management"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import LoadedTable
from floeberg.expr.nodes import TRUE
from floeberg.maintenance.rewrite.compact import RewriteRequest, Rewritten
from floeberg.maintenance.rewrite.compact import rewrite_data_files as rewrite
from floeberg.maintenance.rewrite.delete_files import (
    DeleteRewriteRequest,
    RewrittenDeletes,
    rewrite_position_deletes,
)
from floeberg.maintenance.rewrite.delete_files import convert_equality_deletes as convert
from floeberg.maintenance.table_path.rewrite import PathRequest
from floeberg.maintenance.table_path.rewrite import rewrite_table_path as rewrite_paths
from floeberg.spark.host.engine_summary import engine_summary
from floeberg.spark.procedures.file_work import large_work
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
    asked = replace(request, engine_summary=engine_summary(spark))
    return rewrite(table.pointer, table.state, SparkEngine(spark, table), asked, **told)


def rewrite_position_delete_files(spark: SparkSession, table: LoadedTable, values: Values) -> Rows:
    request = replace(_delete_request(spark, values), options=values["options"] or {})
    return _rewritten(rewrite_position_deletes(table.pointer, table.state, request))


def convert_equality_deletes(spark: SparkSession, table: LoadedTable, values: Values) -> Rows:
    request = replace(_delete_request(spark, values), branch=values["branch"] or MAIN_BRANCH)
    return _rewritten(convert_on_spark(spark, table, request))


def convert_on_spark(
    spark: SparkSession, table: LoadedTable, request: DeleteRewriteRequest, **told: Any
) -> RewrittenDeletes:
    """Converts equality deletes; a Spark job finds the rows that they delete."""
    asked = replace(request, engine_summary=engine_summary(spark))
    return convert(table.pointer, table.state, SparkEngine(spark, table), asked, **told)


def rewrite_table_path(spark: SparkSession, table: LoadedTable, values: Values) -> Rows:
    request = PathRequest(
        source_prefix=values["source_prefix"],
        target_prefix=values["target_prefix"],
        start_version=values["start_version"],
        end_version=values["end_version"],
        staging_location=values["staging_location"],
        create_file_list=values["create_file_list"] is not False,
    )
    done = rewrite_paths(table.pointer, table.state, large_work(spark, table), request)
    return [(done.latest_version, done.file_list_location, done.rewritten_manifests, done.rewritten_delete_files)]


def _delete_request(spark: SparkSession, values: Values) -> DeleteRewriteRequest:
    where = TRUE if values["where"] is None else parse_where(values["where"])
    return DeleteRewriteRequest(where=where, case_sensitive=False, engine_summary=engine_summary(spark))


def _rewritten(done: RewrittenDeletes) -> Rows:
    return [(done.rewritten_delete_files, done.added_delete_files, done.rewritten_bytes, done.added_bytes)]
