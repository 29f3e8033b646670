"""The data files all of whose rows match a condition, which Spark evaluates on the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.spark.read.frame import table_frame
from floeberg.spec.schemas.metadata_columns import FILE_PATH
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.spec.snapshots.refs import MAIN_BRANCH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class MatchingFiles:
    """Files all of whose rows match, and the snapshot in which that was found."""

    files: Sequence[DataFile]
    snapshot_id: int | None


def matching_files(spark: SparkSession, table: LoadedTable, condition: Any, *, branch: str) -> MatchingFiles:
    """The files of a branch that match. Raises InvalidInput when some of a file's rows match and others do not, and
    Spark's own errors for the condition."""
    metadata = table.state.metadata
    ref = None if branch == MAIN_BRANCH else branch
    chosen = choose_snapshot(metadata, ref=ref)
    found = condition if not isinstance(condition, str) else F.expr(condition)
    rows = table_frame(spark, table, ref=ref, metadata_columns=(FILE_PATH.name,))
    counted = rows.groupBy(FILE_PATH.name).agg(
        F.count(F.lit(1)).alias("there"), F.count(F.when(found, F.lit(1))).alias("matching")
    )
    matching: set[str] = set()
    for path, there, matched in counted.collect():
        if 0 < matched < there:
            raise InvalidInput(
                f"table {table.state.identifier}: {matched} of {there} rows of {path} match the condition; an overwrite "
                "replaces whole files, so give a condition on partition columns, or use DELETE and INSERT",
                table=table.state.identifier,
                file=path,
            )
        if matched:
            matching.add(path)
    tasks = plan_files(metadata, chosen, store_for=table.pointer.store_for, with_metrics=True) if matching else ()
    files = [task.data_file for task in tasks if task.data_file.file_path in matching]
    return MatchingFiles(files, None if chosen.snapshot is None else chosen.snapshot.snapshot_id)
