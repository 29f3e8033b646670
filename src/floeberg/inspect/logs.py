"""The tables that table metadata alone can fill: history, metadata_log_entries, snapshots and refs."""

from __future__ import annotations

import pyarrow as pa

from floeberg.arrow.columns.physical import array_of
from floeberg.arrow.columns.types import arrow_schema
from floeberg.errors import SnapshotNotFound
from floeberg.inspect.arrays import long
from floeberg.inspect.columns import HISTORY, METADATA_LOG_ENTRIES, REFS, SNAPSHOTS
from floeberg.inspect.source import Source
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.snapshot import OPERATION_KEY, Snapshot

_MICROS_PER_MILLI = 1000


def history_table(source: Source) -> pa.Table:
    """When which snapshot became the current one, and whether it still is in the current one's history."""
    metadata = source.metadata
    ancestors = set(metadata.ancestor_ids(metadata.current_snapshot_id))
    return _table(
        HISTORY,
        [
            (
                entry.timestamp_ms * _MICROS_PER_MILLI,
                long(entry.snapshot_id),
                long(_parent_id(metadata, entry.snapshot_id)),
                entry.snapshot_id in ancestors,
            )
            for entry in metadata.snapshot_log
        ],
    )


def metadata_log_entries_table(source: Source) -> pa.Table:
    """The metadata files, the current one last, each with the snapshot that was current when it was written."""
    metadata = source.metadata
    logged = [(entry.timestamp_ms, entry.metadata_file) for entry in metadata.metadata_log]
    if source.metadata_location is not None:
        logged.append((metadata.last_updated_ms, source.metadata_location))
    rows: list[tuple[object, ...]] = []
    for timestamp_ms, file in logged:
        snapshot_id = _current_at(metadata, timestamp_ms)
        latest = None if snapshot_id is None else metadata.find_snapshot(snapshot_id)
        rows.append(
            (
                timestamp_ms * _MICROS_PER_MILLI,
                file,
                long(snapshot_id),
                None if latest is None else latest.schema_id,
                None if latest is None else latest.sequence_number,
            )
        )
    return _table(METADATA_LOG_ENTRIES, rows)


def snapshots_table(source: Source) -> pa.Table:
    """The snapshots that the table has, in the order of its metadata."""
    return _table(
        SNAPSHOTS,
        [
            (
                snapshot.timestamp_ms * _MICROS_PER_MILLI,
                long(snapshot.snapshot_id),
                long(snapshot.parent_snapshot_id),
                snapshot.operation,
                snapshot.manifest_list,
                _summary(snapshot),
            )
            for snapshot in source.metadata.snapshots
        ],
    )


def refs_table(source: Source) -> pa.Table:
    """Branches and tags, by name."""
    return _table(
        REFS,
        [
            (
                name,
                ref.type.value.upper(),
                long(ref.snapshot_id),
                ref.max_ref_age_ms,
                ref.min_snapshots_to_keep,
                ref.max_snapshot_age_ms,
            )
            for name, ref in sorted(source.metadata.refs.items())
        ],
    )


def _table(schema: Schema, rows: list[tuple[object, ...]]) -> pa.Table:
    arrays = [array_of([row[at] for row in rows], field.type) for at, field in enumerate(schema.fields)]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(schema))


def _parent_id(metadata: TableMetadata, snapshot_id: int) -> int | None:
    return metadata.snapshots.parent_id(snapshot_id) if metadata.snapshots.has_id(snapshot_id) else None


def _current_at(metadata: TableMetadata, timestamp_ms: int) -> int | None:
    try:
        return metadata.snapshot_id_as_of(timestamp_ms)
    except SnapshotNotFound:
        return None  # the file is older than the first snapshot


def _summary(snapshot: Snapshot) -> dict[str, str] | None:
    """The summary without the operation, which has a column of its own; null for a snapshot that has neither."""
    if snapshot.operation is None:
        return None
    return {key: value for key, value in snapshot.summary.items() if key != OPERATION_KEY}
