"""A table's DataFrame used again by the next statement: making one costs Spark more than most of its queries' planning.

Each use has columns of its own: with the same ones, `a.id = b.id` in a join of two results would compare a column with itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Final

from floeberg.catalogs.base import LoadedTable
from floeberg.expr.nodes import Expression
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.spark.host.gateway import of_shared_plan, shared_plan
from floeberg.spark.host.kept_frames import KeptFrame, KeptFrames
from floeberg.spark.host.kept_settings import ensure_field_ids
from floeberg.spark.host.originals import original
from floeberg.spark.host.session_settings import setting_of
from floeberg.spark.read.frame_registry import FrameScan, remember
from floeberg.spark.read.join_keys import PrunedBy
from floeberg.spark.read.options import FrameOptions
from floeberg.spark.read.table_cache import table_state

_SETTINGS: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "false",
}
"""What the expressions of a DataFrame keep from the time when it was made."""


def frame_key(
    spark: Any,
    table: LoadedTable,
    chosen: SnapshotChoice,
    where: Expression,
    *,
    metadata_columns: Sequence[str],
    options: FrameOptions,
    skips_row_groups: bool,
) -> Hashable:
    """What a DataFrame of a table depends on, but for the files that joins leave out."""
    snapshot = chosen.snapshot
    return (
        table.state.identifier,
        table_state(table),
        None if snapshot is None else snapshot.snapshot_id,
        chosen.schema,
        where,
        tuple(metadata_columns),
        options,
        skips_row_groups,
        tuple(setting_of(spark, name, default) for name, default in _SETTINGS.items()),
    )


def planned_key(key: Hashable, plan: ScanPlan) -> Hashable:
    """The key of a DataFrame of some files."""
    return (key, plan.paths)


def reused(spark: Any, kept: KeptFrames, key: Hashable, pruned_by: tuple[PrunedBy, ...] = ()) -> Any | None:
    """A kept DataFrame for the text of a query, where it has columns of its own; None when there is none. Whoever makes another
    DataFrame of it asks for `with_own_columns` first. `pruned_by` are the joins of this use."""
    found = kept.get(key, spark)
    if found is None:
        return None
    ensure_field_ids(spark)
    if found.plan is not None:
        frame = of_shared_plan(found.frame, found.plan)
    else:
        frame = original(found.frame, "toDF")(*found.columns)
    remember(frame, replace(found.known, pruned_by=pruned_by))
    return frame


def keep(kept: KeptFrames, key: Hashable, frame: Any, scan: FrameScan) -> bool:
    """Keeps a DataFrame, unless some of it is read in Python workers, which hold more than names; whether it did."""
    if scan.routes.by_arrow:
        return False
    names = [field.name for field in scan.projection.fields]
    plan = shared_plan(frame.sparkSession, frame, names)
    # The views of a shared plan are dropped without a look at the cache.
    apart = frame if plan is not None else apart_from_cached(frame)
    kept.put(key, KeptFrame(apart, scan, names, plan, scan.plan.held_files))
    return True


def apart_from_cached(frame: Any) -> Any:
    """The rows of a DataFrame under another plan. SQL makes a view for each reference and drops it afterwards, and that
    removes every cached DataFrame of the same plan from Spark's cache; one with the plan beneath it is found there."""
    return original(frame, "filter")("true")
