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
from floeberg.spark.host.calls.kept_frames import KeptFrame, KeptFrames
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.calls.own_functions import replaced
from floeberg.spark.host.calls.shared_plans import as_relation, has_cached_rows, of_shared_plan, shared_plan
from floeberg.spark.host.kept_settings import ensure_field_ids
from floeberg.spark.host.settings.session_settings import setting_of
from floeberg.spark.read.frame_registry import FrameScan, remember
from floeberg.spark.read.joins.pruned_files import PrunedBy
from floeberg.spark.read.joins.row_filter import FUNCTIONS, RowKeys, has_keys
from floeberg.spark.read.options import FrameOptions
from floeberg.spark.read.table_cache import table_state

_SETTINGS: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "false",
}
"""What the expressions of a DataFrame keep from the time when it was made."""
_BYTES_LIKE_A_FILE: Final = 1 << 10


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


def planned_key(key: Hashable, plan: ScanPlan, keys: Sequence[RowKeys]) -> Hashable:
    """The key of a DataFrame of some files, and of rows with some keys alone."""
    return (key, plan.paths, tuple((one.column, one.known_by) for one in keys))


def with_keys(spark: Any, frame: Any, scan: FrameScan) -> tuple[Any, FrameScan]:
    """The rows of a scan's DataFrame that have the keys of its joins; all rows where functions of the session replace those
    that the condition calls."""
    if not scan.keys:
        return frame, scan
    if replaced(spark, FUNCTIONS):
        return frame, replace(scan, keys=())
    return original(frame, "where")(has_keys(spark, scan.keys)), scan


def reused(
    spark: Any,
    kept: KeptFrames,
    key: Hashable,
    pruned_by: tuple[PrunedBy, ...] = (),
    keys: tuple[RowKeys, ...] = (),
) -> Any | None:
    """A kept DataFrame for the text of a query, where it has columns of its own; None when there is none. Whoever makes another
    DataFrame of it asks for `with_own_columns` first. `pruned_by` and `keys` are the joins of this use."""
    found = kept.get(key, spark)
    if found is None:
        return None
    ensure_field_ids(spark)
    if found.held_by_users is not None and has_cached_rows(found.held_by_users.frame):
        found = found.held_by_users
    if found.plan is not None:
        frame = of_shared_plan(found.frame, found.plan)
    else:
        frame = original(found.frame, "toDF")(*found.columns)
    remember(frame, replace(found.known, pruned_by=pruned_by, keys=keys))
    return frame


def keep(kept: KeptFrames, key: Hashable, frame: Any, scan: FrameScan) -> bool:
    """Keeps a DataFrame for statements, unless some of it is read in Python workers, which hold more than names; whether it
    did."""
    if scan.routes.by_arrow:
        return False
    relation = as_relation(frame.sparkSession, frame) if scan.routes.is_plain and scan.routes.as_stored else frame
    found, known = with_keys(frame.sparkSession, relation, scan)
    own = _kept_frame(frame, scan) if relation is not frame and not known.keys else None
    kept.put(key, replace(_kept_frame(found, known), held_by_users=own))
    return True


def _kept_frame(frame: Any, scan: FrameScan) -> KeptFrame:
    names = [field.name for field in scan.projection.fields]
    plan = shared_plan(frame.sparkSession, frame, names)
    # The views of a shared plan are dropped without a look at the cache.
    apart = frame if plan is not None else apart_from_cached(frame)
    held = scan.plan.held_files + sum(one.held_bytes for one in scan.keys) // _BYTES_LIKE_A_FILE
    return KeptFrame(apart, scan, names, plan, held)


def apart_from_cached(frame: Any) -> Any:
    """The rows of a DataFrame under another plan. SQL makes a view for each reference and drops it afterwards, and that
    removes every cached DataFrame of the same plan from Spark's cache; one with the plan beneath it is found there."""
    return original(frame, "filter")("true")
