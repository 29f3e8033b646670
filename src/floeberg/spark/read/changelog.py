"""Changelogs as DataFrames: which rows came and went between two snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from floeberg.arrow.scan.changelog import changelog_schema
from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE, Expression
from floeberg.scan.changelog import plan_changelog
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.projection import projected_schema
from floeberg.spark.host.types import frame_schema
from floeberg.spark.read.arrow_scan import table_files
from floeberg.spark.read.local_frame import local_frame
from floeberg.spark.read.options import FrameOptions
from floeberg.spark.read.snapshot_range import snapshot_range
from floeberg.spark.workers.changelog import ChangeReader
from floeberg.spark.workers.check import check_workers
from floeberg.spark.workers.in_workers import map_in_workers
from floeberg.spark.workers.stores import WorkerStores


def changelog_frame(
    spark: Any,
    table: LoadedTable,
    *,
    where: Expression = TRUE,
    select: Sequence[str] | None = None,
    options: Mapping[str, object] | None = None,
    keep_carried_over: bool = False,
    cache: FrameCache | None = None,
) -> Any:
    """The table's columns with `_change_type`, `_change_ordinal` and `_commit_snapshot_id`; the range is that of an
    incremental read (start-snapshot-id, end-snapshot-id, start-timestamp, end-timestamp), all by default.

    Each snapshot is read by one task. Rows that a rewrite only carried over are left out unless they are asked for.
    Raises InvalidInput, SnapshotNotFound.
    """
    parsed = FrameOptions.of(options or {}, time_zone=str(spark.conf.get("spark.sql.session.timeZone", "UTC")))
    metadata = table.state.metadata
    if parsed.snapshot_id is not None or parsed.as_of_ms is not None or parsed.ref is not None:
        raise InvalidInput("changes are of a range of snapshots; give start-snapshot-id and end-snapshot-id as options")
    first, last = snapshot_range(metadata, parsed) if parsed.is_incremental else (None, None)
    plan = plan_changelog(
        metadata,
        store_for=table.pointer.store_for,
        from_snapshot_id=first,
        to_snapshot_id=last,
        where=where,
        cache=cache,
    )
    projection = projected_schema(metadata, plan.schema, select=select)
    groups = tuple(tuple(group) for _, group in groupby(plan.tasks, key=lambda task: task.change_ordinal))
    files = table_files(table, plan.schema, ignore_scheme=parsed.ignore_scheme, by_name=parsed.by_name)
    reader = ChangeReader(table=files, groups=groups, projection=projection, keep_carried_over=keep_carried_over)
    columns = changelog_schema(projection)
    if not isinstance(files.stores.stores, WorkerStores):
        batches = [batch for number in range(len(groups)) for batch in reader.changes(number)]
        return local_frame(spark, batches, columns)
    check_workers(spark)
    return map_in_workers(spark.range(0, len(groups), 1, max(1, len(groups))), reader, frame_schema(columns))
