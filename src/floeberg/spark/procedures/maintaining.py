"""Maintenance by policy on Spark, which the reference does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import LoadedTable
from floeberg.maintenance.maintain import Maintained, maintain_table
from floeberg.spark.procedures.rewrite_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Values = dict[str, Any]
Rows = list[tuple[Any, ...]]


def maintain(spark: SparkSession, table: LoadedTable, values: Values) -> Rows:
    """A row for each thing that was done, or with `dry_run` would be; none when there is nothing to do."""
    done = maintain_on_spark(spark, table, dry_run=bool(values["dry_run"]), measure_reads=True)
    last = len(done.actions) - 1
    return [
        (
            action.name,
            action.reason,
            action.before.data_files,
            action.after.data_files,
            action.before.delete_files,
            action.after.delete_files,
            action.before.bytes,
            action.after.bytes,
            done.read_ms_before if number == 0 else None,
            done.read_ms_after if number == last else None,
        )
        for number, action in enumerate(done.actions)
    ]


def maintain_on_spark(
    spark: SparkSession, table: LoadedTable, *, dry_run: bool = False, measure_reads: bool = False
) -> Maintained:
    """Does what a table needs now; no Spark job when that is nothing."""
    engine = SparkEngine(spark, table)
    return maintain_table(table.pointer, table.state, engine, dry_run=dry_run, measure_reads=measure_reads)
