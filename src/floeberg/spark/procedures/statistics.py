"""Procedures and statements that compute statistics:
https://iceberg.apache.org/docs/latest/spark-procedures/#table-statistics"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import LoadedTable
from floeberg.maintenance import partition_statistics, table_statistics
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.results import nothing
from floeberg.spark.procedures.file_work import spark_work
from floeberg.sql.statements.statements import AnalyzeTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Values = dict[str, Any]
Rows = list[tuple[Any, ...]]


def compute_table_stats(spark: SparkSession, table: LoadedTable, values: Values) -> Rows:
    """The location of the statistics file; no row for a table without a snapshot."""
    done = table_statistics.compute_table_stats(
        table.pointer,
        table.state,
        spark_work(spark, table),
        columns=values["columns"],
        snapshot_id=values["snapshot_id"],
        case_sensitive=False,
    )
    return [] if done.file is None else [(done.file.statistics_path,)]


def compute_partition_stats(spark: SparkSession, table: LoadedTable, values: Values) -> Rows:
    """The location of the partition statistics file; no row for a table without a snapshot."""
    done = partition_statistics.compute_partition_stats(table.pointer, table.state, snapshot_id=values["snapshot_id"])
    return [] if done.file is None else [(done.file.statistics_path,)]


def analyze_table(execution: Execution, statement: AnalyzeTable) -> DataFrame:
    """ANALYZE TABLE: of columns their numbers of distinct values. Rows and bytes are in the metadata of every table; without
    columns, what is computed are statistics of partitions."""
    table = execution.session.load(execution.session.table_identifier(statement.table.parts))
    values: Values = {"columns": list(statement.columns) or None, "snapshot_id": None}
    if statement.columns or statement.all_columns:
        compute_table_stats(execution.spark, table, values)
    elif not table.state.metadata.default_spec.is_unpartitioned:
        compute_partition_stats(execution.spark, table, values)
    return nothing(execution.spark)
