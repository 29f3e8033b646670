"""Plans of snapshots, kept for the next statement that asks for the same: a snapshot never changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from floeberg.expr.nodes import TRUE, Expression
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.manifest_frames import StoreFor
from floeberg.scan.plan import plan_files
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """A part of a key that is equal to the very same object only: to compare large values would take longer than to plan."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def plan_again(
    metadata: TableMetadata,
    chosen: SnapshotChoice,
    *,
    store_for: StoreFor,
    where: Expression = TRUE,
    cache: FrameCache | None = None,
    keep_metrics_of: frozenset[int] = frozenset(),
    ignore_scheme: bool = False,
) -> ScanPlan:
    """As `plan_files`, or the plan that it gave before, for what only leaves out files: equal conditions share a plan, and
    `0.0` equals `-0.0`."""

    def plan() -> ScanPlan:
        return plan_files(
            metadata,
            chosen,
            store_for=store_for,
            where=where,
            cache=cache,
            keep_metrics_of=keep_metrics_of,
            ignore_scheme=ignore_scheme,
        )

    snapshot = chosen.snapshot
    key = (
        metadata.table_uuid,
        metadata.location,
        None if snapshot is None else (snapshot.snapshot_id, snapshot.manifest_list),
        chosen.schema,
        # Older schemas say how equality deletes are read; any commit that changes them changes one of these.
        (metadata.last_updated_ms, metadata.last_column_id, len(metadata.schemas), len(metadata.partition_specs)),
        where,
        keep_metrics_of,
        ignore_scheme,
    )
    return kept_plan(cache, key, plan)


def kept_plan(cache: FrameCache | None, key: Hashable, make: Callable[[], ScanPlan], *, key_files: int = 0) -> ScanPlan:
    """The plan of a key, made at first use. `key_files` are the files that the key itself keeps in memory, without the deletes
    of the plan that comes of it."""
    if cache is None:
        return make()
    found = cache.plans.get(key)
    if isinstance(found, ScanPlan):
        return found
    made = make()
    cache.plans.put(key, made, size=made.held_files + key_files)
    return made
