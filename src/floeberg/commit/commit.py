"""Committing: operations replayed on the newest state until the swap succeeds, then tidied up after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from floeberg.commit.operation import Operation
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.retry import Attempt, commit_with_retries
from floeberg.commit.workspace import Workspace
from floeberg.errors import FloebergError
from floeberg.spec.builder import apply_updates
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.snapshots import Snapshot
from floeberg.spec.updates import AddSnapshot, MetadataUpdate


@dataclass(frozen=True, slots=True)
class Committed:
    """The table after a commit, and the snapshots that the commit made, in order."""

    state: TableState
    snapshots: tuple[Snapshot, ...]


def commit_operations(
    pointer: TablePointer,
    base: TableState,
    operations: Sequence[Operation],
    *,
    engine_summary: Mapping[str, str] | None = None,
) -> Committed:
    """Puts any number of operations into one commit: all of them or none.

    Raises CommitConflict when others always came first, ValidationConflict when what came first contradicts an operation,
    CommitUnknown when it is not known whether the commit took effect. Metadata files written for attempts that were proved
    rejected are removed; after CommitUnknown nothing is.
    """
    workspace = Workspace(pointer, engine_summary=engine_summary)
    made: list[Snapshot] = []
    swapping = False

    def replay(state: TableState, attempt_number: int) -> Attempt:
        nonlocal swapping
        swapping = False
        workspace.attempt_number = attempt_number
        updates = _replay(state, operations, workspace)
        made[:] = [update.snapshot for update in updates.all if isinstance(update, AddSnapshot)]
        lists = {snapshot.manifest_list for snapshot in made}
        swapping = True
        return Attempt(updates.metadata, lambda metadata: _landed(metadata, made, lists))

    try:
        state = commit_with_retries(pointer, base, replay)
    except FloebergError as error:
        # An error before the swap leaves nothing visible: earlier attempts were proved rejected.
        if error.cleanup_safe or not swapping:
            workspace.clean_up(keep=None)
        raise
    workspace.clean_up(keep=state.metadata)
    return Committed(state, tuple(made))


@dataclass(frozen=True, slots=True)
class _Replayed:
    metadata: TableMetadata
    all: tuple[MetadataUpdate, ...]


def _replay(state: TableState, operations: Sequence[Operation], workspace: Workspace) -> _Replayed:
    metadata = state.metadata
    everything: list[MetadataUpdate] = []
    for operation in operations:
        updates = operation.updates(metadata, workspace)
        if updates:
            # Only the first step leaves the base's file behind: the steps after it have none of their own.
            left = state.metadata_location if metadata is state.metadata else None
            metadata = apply_updates(metadata, updates, now_ms=workspace.now_ms(), base_metadata_location=left)
            everything += updates
    return _Replayed(metadata, tuple(everything))


def _landed(metadata: TableMetadata, made: Sequence[Snapshot], lists: set[str | None]) -> bool:
    """Whether the table holds the snapshots of an attempt. The manifest list's name, which carries a uuid, tells ours from
    another's that drew the same snapshot id."""
    if not made:
        return False
    found = [metadata.find_snapshot(snapshot.snapshot_id) for snapshot in made]
    return all(snapshot is not None and snapshot.manifest_list in lists for snapshot in found)
