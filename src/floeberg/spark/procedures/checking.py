"""Procedures that the reference does not have: a check of a table, and its repair by explicit choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import LoadedTable
from floeberg.maintenance.check import check_table
from floeberg.maintenance.repair import RepairRequest, repair_actions, repair_table
from floeberg.spark.host.engine_summary import engine_summary
from floeberg.spark.procedures.file_work import spark_work
from floeberg.spec.snapshots.refs import MAIN_BRANCH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Values = dict[str, Any]
Rows = list[tuple[Any, ...]]


def check(spark: SparkSession, table: LoadedTable, values: Values) -> Rows:
    """A row for each finding; none for a table that is whole."""
    report = check_table(
        table.state.metadata,
        table.pointer.store_for,
        name=table.state.identifier,
        snapshot_ids=values["snapshot_ids"],
        read_footers=values["read_footers"] is not False,
        read_rows=bool(values["read_rows"]),
        work=spark_work(spark, table),
    )
    return [(str(one.severity), str(one.problem), one.location, one.message) for one in report.findings]


def repair(spark: SparkSession, table: LoadedTable, values: Values) -> Rows:
    """A row for each thing that was repaired, or with `dry_run` would be."""
    request = RepairRequest(
        actions=repair_actions(values["actions"]),
        snapshot_id=values["snapshot_id"],
        branch=values["branch"] or MAIN_BRANCH,
        read_rows=bool(values["read_rows"]),
        dry_run=bool(values["dry_run"]),
        engine_summary=engine_summary(spark),
    )
    done = repair_table(table.pointer, table.state, spark_work(spark, table), request)
    return [(str(one.action), one.location, one.reason, done.snapshot_id_before) for one in done.repairs]
