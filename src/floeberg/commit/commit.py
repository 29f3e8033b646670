"""Commits operations: replays them on the newest metadata until the swap succeeds, then cleans up."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from floeberg.commit.cherry_pick import WAP_ID
from floeberg.commit.history import APPEND
from floeberg.commit.idempotence import AppTransaction, TransactionRecord, find_committed, record_updates
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.producer import SnapshotChange, produce_snapshot
from floeberg.commit.retry import Attempt, commit_with_retries
from floeberg.commit.workspace import Workspace
from floeberg.errors import FloebergError, InvalidInput
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates import AddSnapshot, MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.snapshot import Snapshot

logger = logging.getLogger("floeberg.commit")
_INTERRUPTED: Final = (
    "its commit was interrupted and may have taken effect; look at its snapshots before you run it again"
)


@dataclass(frozen=True, slots=True)
class Committed:
    """The table after a commit, and the snapshots that the commit made, in order. `skipped` is the record of the commit
    that did the same transaction before: then this one changed nothing, and its files belong to nobody."""

    state: TableState
    snapshots: tuple[Snapshot, ...]
    skipped: TransactionRecord | None = None


def commit_operations(
    pointer: TablePointer,
    base: TableState,
    operations: Sequence[Operation],
    *,
    engine_summary: Mapping[str, str] | None = None,
    once: AppTransaction | None = None,
) -> Committed:
    """Commits any number of operations at once: all of them or none. With `once`, a commit that its branch already holds is
    skipped as a whole, and one without operations still records its version, by an empty snapshot.

    Raises CommitConflict when every attempt lost to another commit, ValidationConflict when a concurrent commit conflicts
    with an operation, CommitUnknown when it is not known whether the commit took effect. Manifests and manifest lists of
    attempts that were provably rejected are removed; after CommitUnknown nothing is.
    """
    workspace = Workspace(pointer, engine_summary=engine_summary)
    skipped: TransactionRecord | None = None
    swapping = False

    def replay(state: TableState, attempt_number: int) -> Attempt:
        nonlocal swapping, skipped
        swapping = False
        workspace.attempt_number = attempt_number
        skipped = None if once is None else find_committed(state.metadata, once, identifier=pointer.identifier)
        if skipped is not None:
            return _attempt(state, state.metadata, ())
        planned, updates = _replay(state, operations, workspace, once=once)
        swapping = True
        return _attempt(state, planned, updates)

    try:
        state, landed = commit_with_retries(pointer, base, replay)
        planned = landed.metadata
        workspace.clean_up(
            keep=planned
        )  # not what the catalog answers: a server may show fewer snapshots than there are
    except FloebergError as error:
        # An error before the swap leaves nothing visible: earlier attempts were provably rejected.
        if error.cleanup_safe or not swapping:
            workspace.clean_up(keep=None)
        raise
    except BaseException as interrupt:
        if swapping:
            interrupt.add_note(f"table {pointer.identifier}: {_INTERRUPTED}")
        raise
    if once is not None and skipped is not None:
        _warn(pointer, once, skipped)
    return Committed(state, tuple(planned.snapshot(one) for one in landed.snapshot_ids), skipped)


def proves_nothing_landed(error: BaseException) -> bool:
    """Whether an error that ended a change, while its files were written or in `commit_operations`, leaves no doubt that no
    commit refers to the files. Ctrl-C may come after the swap."""
    if isinstance(error, FloebergError):
        return error.cleanup_safe or isinstance(error, InvalidInput)
    return not any(note.endswith(_INTERRUPTED) for note in getattr(error, "__notes__", ()))


def skip_committed(pointer: TablePointer, once: AppTransaction) -> Committed | None:
    """What `commit_operations` would return for a transaction that its branch holds already, asked before its files are
    written; None when it is to be committed. Raises InvalidInput when the branch holds it with other content."""
    state = pointer.refresh()
    found = find_committed(state.metadata, once, identifier=pointer.identifier)
    if found is None:
        return None
    _warn(pointer, once, found)
    return Committed(state, (), found)


def _warn(pointer: TablePointer, once: AppTransaction, found: TransactionRecord) -> None:
    logger.warning(
        "table %s: version %d of %r is in branch %s already (version %d, snapshot %d); it is not committed again",
        *(pointer.identifier, once.version, once.app_id, once.branch, found.version, found.snapshot_id),
    )


@contextmanager
def staged(pointer: TablePointer, base: TableState, operations: Sequence[Operation]) -> Iterator[TableMetadata]:
    """The metadata after operations that are not committed, with their snapshots and manifests, for the duration of the
    block: the next change of a transaction is planned on it. It never becomes visible, and its files are removed."""
    workspace = Workspace(pointer)
    try:
        yield _replay(base, operations, workspace)[0]
    finally:
        workspace.clean_up(keep=None)


def _replay(
    state: TableState, operations: Sequence[Operation], workspace: Workspace, *, once: AppTransaction | None = None
) -> tuple[TableMetadata, tuple[MetadataUpdate, ...]]:
    """Applies the operations one after the other, each to the result of the ones before it. All their updates are then
    applied as one step, so that no intermediate state enters the table's history."""
    steps: list[list[MetadataUpdate]] = []
    metadata = state.metadata
    now_ms = workspace.now_ms()
    workspace.transaction_summary = {} if once is None else once.summary(state.metadata)

    def take(updates: Sequence[MetadataUpdate]) -> None:
        nonlocal metadata
        if updates:
            steps.append([*updates])
            metadata = apply_updates(metadata, updates, now_ms=now_ms, base_metadata_location=state.metadata_location)

    for operation in operations:
        take(operation.updates(metadata, workspace))
    if once is not None and not _snapshots(_joined(steps)):
        take(_empty_snapshot(metadata, workspace, once))
    take(record_updates(state.metadata, metadata, made=_snapshots(_joined(steps)), once=once))
    everything = _joined(steps)
    if len(steps) > 1:
        metadata = apply_updates(
            state.metadata, everything, now_ms=now_ms, base_metadata_location=state.metadata_location
        )
    return metadata, tuple(everything)


def _empty_snapshot(base: TableMetadata, workspace: Workspace, once: AppTransaction) -> list[MetadataUpdate]:
    """A snapshot that changes nothing: a version without changes is committed too, and its replay finds it."""
    staged_as = {} if once.wap_id is None else {WAP_ID: once.wap_id}
    target = SnapshotTarget(
        branch=once.branch, stage_only=once.wap_id is not None, summary=staged_as, begins_branch=True
    )
    return produce_snapshot(base, workspace, key=once, target=target, change=SnapshotChange(operation=APPEND))


def _joined(steps: Sequence[Sequence[MetadataUpdate]]) -> list[MetadataUpdate]:
    return [update for updates in steps for update in updates]


def _snapshots(updates: Sequence[MetadataUpdate]) -> tuple[Snapshot, ...]:
    return tuple(update.snapshot for update in updates if isinstance(update, AddSnapshot))


def _attempt(base: TableState, metadata: TableMetadata, updates: Sequence[MetadataUpdate]) -> Attempt:
    made = _snapshots(updates)
    lists = {snapshot.manifest_list for snapshot in made}

    def landed_in(state: TableState) -> bool:
        """Whether the table holds the snapshots of this attempt. The manifest list's name has a uuid, so another commit with
        an equal snapshot id is not mistaken for ours. A change without a snapshot has landed when its updates no longer
        change anything: a catalog that writes metadata itself writes it in its own way."""
        if not made:
            return state.metadata_location != base.metadata_location and _has(state.metadata, updates)
        found = [state.metadata.find_snapshot(snapshot.snapshot_id) for snapshot in made]
        return all(snapshot is not None and snapshot.manifest_list in lists for snapshot in found)

    return Attempt(metadata, tuple(snapshot.snapshot_id for snapshot in made), landed_in)


def _has(metadata: TableMetadata, updates: Sequence[MetadataUpdate]) -> bool:
    try:
        return apply_updates(metadata, updates, now_ms=metadata.last_updated_ms) is metadata
    except FloebergError:
        return False
