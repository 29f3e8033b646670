"""Which snapshot a scan reads, and with which schema: https://iceberg.apache.org/spec/#point-in-time-reads-time-travel"""

from __future__ import annotations

from dataclasses import dataclass

from floeberg.errors import InvalidInput
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.snapshots.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class SnapshotChoice:
    """The snapshot to read (None: the table, or its branch, has none yet) and the schema to read it with."""

    snapshot: Snapshot | None
    schema: Schema


def choose_snapshot(
    metadata: TableMetadata, *, snapshot_id: int | None = None, ref: str | None = None, as_of_ms: int | None = None
) -> SnapshotChoice:
    """The snapshot of an id, a branch or tag, or a time; the current one when nothing is given.

    A snapshot by id, time or tag is read with its own schema. A branch is read with the table's current schema. Raises
    InvalidInput when more than one is given, SnapshotNotFound and RefNotFound.
    """
    given = [
        name for name, value in (("snapshot_id", snapshot_id), ("ref", ref), ("as_of", as_of_ms)) if value is not None
    ]
    if len(given) > 1:
        raise InvalidInput(f"table {metadata.location}: a scan reads one snapshot; give only one of {', '.join(given)}")
    if snapshot_id is not None:
        return _past(metadata, metadata.snapshot(snapshot_id))
    if as_of_ms is not None:
        return _past(metadata, metadata.snapshot(metadata.snapshot_id_as_of(as_of_ms)))
    if ref is None or ref == MAIN_BRANCH:
        return SnapshotChoice(metadata.current_snapshot, metadata.current_schema)
    snapshot = metadata.snapshot(metadata.ref(ref).snapshot_id)
    return _past(metadata, snapshot) if metadata.ref(ref).is_tag else SnapshotChoice(snapshot, metadata.current_schema)


def _past(metadata: TableMetadata, snapshot: Snapshot) -> SnapshotChoice:
    return SnapshotChoice(snapshot, metadata.schema_of_snapshot(snapshot))
