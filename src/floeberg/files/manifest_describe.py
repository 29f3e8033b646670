"""What a manifest list says of a manifest, found out from the manifest: for v1 snapshots that name their manifests without
a list, and for lists of old writers that leave counts out, which v2 and v3 require.
"""

from __future__ import annotations

import polars as pl

from floeberg.files.frame import decode_manifest
from floeberg.files.limits import DEFAULT_LIMITS, DecodeLimits
from floeberg.files.manifest import WrittenManifest, partition_tuples
from floeberg.files.partition_summary import PartitionSummaries
from floeberg.spec.snapshots.manifest_entry import EntryStatus, FieldSummary, FileContent, ManifestContent, ManifestFile
from floeberg.spec.types import StructType


def describe_manifest(
    data: bytes,
    *,
    manifest_path: str,
    partition_spec_id: int,
    partition_type: StructType,
    added_snapshot_id: int,
    limits: DecodeLimits = DEFAULT_LIMITS,
) -> ManifestFile:
    """The manifest as a v1 list would describe it: sequence number 0, all counts there. Raises ManifestCorrupt."""
    frame = decode_manifest(data, partition_type=partition_type, limits=limits)
    is_data = frame.height == 0 or frame.get_column("content").max() == FileContent.DATA
    summaries = PartitionSummaries(partition_type)
    for values in partition_tuples(frame.get_column("partition"), partition_type):
        summaries.add(values)
    written = described(
        frame,
        data,
        partition_spec_id=partition_spec_id,
        content=ManifestContent.DATA if is_data else ManifestContent.DELETES,
        snapshot_id=added_snapshot_id,
        partitions=summaries.result(),
    )
    return written.to_manifest_file(manifest_path, sequence_number=0)


def described(
    frame: pl.DataFrame,
    data: bytes,
    *,
    partition_spec_id: int,
    content: ManifestContent,
    snapshot_id: int | None,
    partitions: tuple[FieldSummary, ...],
) -> WrittenManifest:
    """A manifest's bytes with the counts of its entries."""
    counted = {
        status: frame.filter(pl.col("status") == status).select(pl.len(), pl.col("record_count").sum()).row(0)
        for status in EntryStatus
    }
    live = frame.filter(pl.col("status") != EntryStatus.DELETED).get_column("sequence_number").drop_nulls().to_list()
    return WrittenManifest(
        data=data,
        partition_spec_id=partition_spec_id,
        content=content,
        snapshot_id=snapshot_id,
        added_files_count=counted[EntryStatus.ADDED][0],
        existing_files_count=counted[EntryStatus.EXISTING][0],
        deleted_files_count=counted[EntryStatus.DELETED][0],
        added_rows_count=counted[EntryStatus.ADDED][1],
        existing_rows_count=counted[EntryStatus.EXISTING][1],
        deleted_rows_count=counted[EntryStatus.DELETED][1],
        min_sequence_number=min(live, default=None),
        partitions=partitions,
    )
