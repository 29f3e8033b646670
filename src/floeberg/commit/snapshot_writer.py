"""Writes a snapshot: its manifest list, which assigns sequence numbers and first row ids.
https://iceberg.apache.org/spec/#manifest-lists"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from floeberg.commit.workspace import Workspace
from floeberg.errors import UnsupportedFeature
from floeberg.files.manifest import UNASSIGNED_SEQUENCE_NUMBER
from floeberg.files.manifest_list import write_manifest_list
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_properties import ENCRYPTION_KEY_ID
from floeberg.spec.snapshots.history import commit_time_ms
from floeberg.spec.snapshots.manifest_entry import ManifestContent, ManifestFile
from floeberg.spec.snapshots.row_lineage import ROW_LINEAGE_VERSION, assign_first_row_ids
from floeberg.spec.snapshots.snapshot import Snapshot


def write_snapshot(
    base: TableMetadata,
    workspace: Workspace,
    *,
    snapshot_id: int,
    parent: Snapshot | None,
    manifests: Sequence[ManifestFile],
    operation: str,
    summary: Mapping[str, str],
) -> Snapshot:
    """Writes the manifest list and returns the snapshot. Raises UnsupportedFeature for an encrypted table, whose new files
    would not be encrypted."""
    if ENCRYPTION_KEY_ID in base.properties:
        raise UnsupportedFeature(
            f"table {workspace.identifier} is encrypted ({ENCRYPTION_KEY_ID}); writing encrypted tables is not supported",
            table=workspace.identifier,
        )
    parent_id = None if parent is None else parent.snapshot_id
    sequence_number = base.next_sequence_number
    listed = [_with_sequence_number(manifest, sequence_number) for manifest in manifests]
    if base.format_version > 1:
        listed = [workspace.counted(manifest, base) for manifest in listed]
    first_row_id: int | None = None
    added_rows: int | None = None
    if base.format_version >= ROW_LINEAGE_VERSION:
        first_row_id = base.next_row_id
        listed, next_row_id = _with_first_row_ids(listed, first_row_id)
        added_rows = next_row_id - first_row_id
    name = f"snap-{snapshot_id}-{workspace.attempt_number}-{workspace.commit_uuid}.avro"
    location = workspace.metadata_location(base, name)
    data = write_manifest_list(
        listed,
        format_version=base.format_version,
        snapshot_id=snapshot_id,
        parent_snapshot_id=parent_id,
        sequence_number=sequence_number,
        first_row_id=first_row_id,
    )
    workspace.put_list(location, data, listed)
    return Snapshot(
        snapshot_id=snapshot_id,
        parent_snapshot_id=parent_id,
        sequence_number=sequence_number,
        timestamp_ms=commit_time_ms(workspace.now_ms(), base.last_updated_ms),
        manifest_list=location,
        operation=operation,
        summary=dict(summary),
        schema_id=base.current_schema_id,
        first_row_id=first_row_id,
        added_rows=added_rows,
    )


def _with_sequence_number(manifest: ManifestFile, sequence_number: int) -> ManifestFile:
    """Assigns the commit's sequence number to a manifest that it wrote. The minimum stays that of entries with an explicit
    data sequence number."""
    if manifest.sequence_number != UNASSIGNED_SEQUENCE_NUMBER:
        return manifest
    least = manifest.min_sequence_number
    return replace(
        manifest,
        sequence_number=sequence_number,
        min_sequence_number=sequence_number if least == UNASSIGNED_SEQUENCE_NUMBER else least,
    )


def _with_first_row_ids(manifests: Sequence[ManifestFile], first_row_id: int) -> tuple[list[ManifestFile], int]:
    """Gives every data manifest that has none a first row id. https://iceberg.apache.org/spec/#first-row-id-assignment"""
    data = [manifest for manifest in manifests if manifest.content is ManifestContent.DATA]
    assigned, next_row_id = assign_first_row_ids(
        first_row_id,
        [(m.first_row_id, (m.added_rows_count or 0) + (m.existing_rows_count or 0)) for m in data],
    )
    ids = {manifest.manifest_path: row_id for manifest, row_id in zip(data, assigned, strict=True)}
    return [
        replace(m, first_row_id=ids[m.manifest_path])
        if m.content is ManifestContent.DATA and m.first_row_id is None
        else m
        for m in manifests
    ], next_row_id
