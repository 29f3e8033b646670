"""Incremental append scans: the files that appends added between two snapshots."""

from __future__ import annotations

import polars as pl

from floeberg.expr.bind import bind
from floeberg.expr.nodes import TRUE, Expression
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.history import snapshots_between
from floeberg.scan.manifest_frames import DEFAULT_THREADS, ManifestReader, StoreFor
from floeberg.scan.plan import Planner
from floeberg.scan.scan_plan import ScanPlan
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import EntryStatus, ManifestContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Operation


def plan_appends(
    metadata: TableMetadata,
    *,
    store_for: StoreFor,
    from_snapshot_id: int | None = None,
    to_snapshot_id: int | None = None,
    where: Expression = TRUE,
    case_sensitive: bool = True,
    cache: FrameCache | None = None,
    threads: int = DEFAULT_THREADS,
) -> ScanPlan:
    """The data files that append snapshots added after `from_snapshot_id` (exclusive; None: from the beginning) up to
    `to_snapshot_id` (None: now), read with the current schema.

    Snapshots of other operations (overwrite, delete, replace) are passed over, as in the reference implementation, and
    so are deletes: a row appended and deleted since is in the result. Raises InvalidInput when the first snapshot is no
    ancestor of the last.
    """
    appends = [
        snapshot
        for snapshot in snapshots_between(metadata, from_snapshot_id=from_snapshot_id, to_snapshot_id=to_snapshot_id)
        if snapshot.operation == Operation.APPEND
    ]
    schema = metadata.current_schema
    reader = ManifestReader(metadata, schema, store_for, cache=cache, threads=threads)
    ids = {snapshot.snapshot_id for snapshot in appends}
    manifests: dict[str, ManifestFile] = {}
    for snapshot in appends:
        for manifest in reader.manifests(snapshot):
            if manifest.content is ManifestContent.DATA and manifest.added_snapshot_id in ids:
                manifests.setdefault(manifest.manifest_path, manifest)
    added = (pl.col("status") == EntryStatus.ADDED) & pl.col("snapshot_id").is_in(sorted(ids))
    planner = Planner(metadata, schema, bind(where, schema, case_sensitive=case_sensitive), reader=reader)
    return planner.plan(list(manifests.values()), entries=added)
