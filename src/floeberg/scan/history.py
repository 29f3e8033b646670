"""The snapshots between two, for scans of what happened."""

from __future__ import annotations

from floeberg.errors import InvalidInput
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.snapshot import Snapshot


def snapshots_between(
    metadata: TableMetadata, *, from_snapshot_id: int | None, to_snapshot_id: int | None
) -> list[Snapshot]:
    """The snapshots after `from_snapshot_id` (None: from the oldest that the table still has) up to `to_snapshot_id`
    (None: the current one), oldest first.

    The first may be expired, as long as its child is there. Raises InvalidInput when it is no ancestor of the last,
    SnapshotNotFound when the last is not there.
    """
    last = metadata.current_snapshot if to_snapshot_id is None else metadata.snapshot(to_snapshot_id)
    if last is None:
        if from_snapshot_id is None:
            return []
        raise InvalidInput(f"table {metadata.location} has no snapshot: nothing happened since {from_snapshot_id}")
    found: list[Snapshot] = []
    if last.snapshot_id == from_snapshot_id:
        return found
    for snapshot in metadata.ancestors(last.snapshot_id):
        found.append(snapshot)
        if from_snapshot_id is not None and snapshot.parent_snapshot_id == from_snapshot_id:
            return found[::-1]
    if from_snapshot_id is not None:
        raise InvalidInput(
            f"table {metadata.location}: snapshot {from_snapshot_id} is no ancestor of {last.snapshot_id}; what happened "
            "between them cannot be told",
            from_snapshot_id=from_snapshot_id,
            to_snapshot_id=last.snapshot_id,
        )
    return found[::-1]
