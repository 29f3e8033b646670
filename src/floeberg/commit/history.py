"""Concurrent changes: the snapshots between the one an operation was planned on and the one it commits onto."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from floeberg.commit.workspace import Workspace
from floeberg.errors import ValidationConflict
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import EntryStatus, ManifestContent, ManifestEntry
from floeberg.spec.snapshots.snapshot import Snapshot

APPEND = "append"
OVERWRITE = "overwrite"
DELETE = "delete"
REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class ConcurrentChanges:
    """The snapshots committed by others since an operation was planned, newest first."""

    metadata: TableMetadata
    snapshots: tuple[Snapshot, ...]
    workspace: Workspace

    def added(self, content: ManifestContent, operations: Collection[str]) -> Iterator[tuple[Snapshot, ManifestEntry]]:
        """The files that snapshots of these operations added."""
        return self._entries(content, operations, EntryStatus.ADDED)

    def removed(
        self, content: ManifestContent, operations: Collection[str]
    ) -> Iterator[tuple[Snapshot, ManifestEntry]]:
        """The files that snapshots of these operations removed."""
        return self._entries(content, operations, EntryStatus.DELETED)

    def _entries(
        self, content: ManifestContent, operations: Collection[str], status: EntryStatus
    ) -> Iterator[tuple[Snapshot, ManifestEntry]]:
        for snapshot in self.snapshots:
            # A snapshot without an operation (v1) may have done anything.
            if snapshot.operation is not None and snapshot.operation not in operations:
                continue
            for manifest in self.workspace.manifests(snapshot, self.metadata):
                if manifest.content is not content or manifest.added_snapshot_id != snapshot.snapshot_id:
                    continue
                for entry in self.workspace.entries(manifest, self.metadata):
                    if entry.status is status and entry.snapshot_id == snapshot.snapshot_id:
                        yield snapshot, entry


def concurrent_changes(
    metadata: TableMetadata, workspace: Workspace, *, branch: str, starting_snapshot_id: int | None
) -> ConcurrentChanges:
    """The snapshots that others committed to a branch since `starting_snapshot_id` (None: since the branch was empty).

    Snapshots of this commit itself (earlier operations of one transaction) are left out.

    Raises ValidationConflict when the history is incomplete, because a snapshot in it was expired or rolled back.
    """
    begins_now = starting_snapshot_id is None and metadata.find_ref(branch) is None
    head = None if begins_now else metadata.snapshot_for_ref(branch)
    current_id = None if head is None else head.snapshot_id
    found: list[Snapshot] = []
    for ancestor_id in metadata.ancestor_ids(current_id):
        if ancestor_id == starting_snapshot_id:
            return ConcurrentChanges(metadata, tuple(found), workspace)
        snapshot = metadata.snapshot(ancestor_id)
        if not workspace.is_own(snapshot):
            found.append(snapshot)
        current_id = snapshot.parent_snapshot_id
    # The walk ended before the starting snapshot: at the branch's beginning, or at a snapshot that is not there any more.
    if current_id is not None or starting_snapshot_id is not None:
        raise _history_lost(workspace, branch, starting_snapshot_id, current_id)
    return ConcurrentChanges(metadata, tuple(found), workspace)


def _history_lost(
    workspace: Workspace, branch: str, starting_snapshot_id: int | None, missing_id: int | None
) -> ValidationConflict:
    what = f"snapshot {missing_id} was expired" if missing_id is not None else "the branch was rolled back or replaced"
    since = "its beginning" if starting_snapshot_id is None else f"snapshot {starting_snapshot_id}"
    return ValidationConflict(
        f"table {workspace.identifier}: cannot determine what happened on branch {branch} since {since}: {what}. "
        "Run the operation again on the current state.",
        table=workspace.identifier,
        starting_snapshot_id=starting_snapshot_id,
        missing_snapshot_id=missing_id,
        retry_can_help=True,
    )
