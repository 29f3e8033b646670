"""Updates of snapshots, refs, statistics and encryption keys."""

from __future__ import annotations

from typing import Final

from floeberg.errors import CommitConflict, InvalidInput, SnapshotAlreadyExists, SnapshotNotFound
from floeberg.spec.changes.metadata_draft import MetadataDraft
from floeberg.spec.changes.updates import (
    AddEncryptionKey,
    AddSnapshot,
    RemoveEncryptionKey,
    RemovePartitionStatistics,
    RemoveSnapshotRef,
    RemoveSnapshots,
    RemoveStatistics,
    SetPartitionStatistics,
    SetSnapshotRef,
    SetStatistics,
)
from floeberg.spec.json.documents import Documents
from floeberg.spec.json.fields import LONG_MAX
from floeberg.spec.metadata.table_properties import check_texts
from floeberg.spec.snapshots.history import appended_snapshot_log, without_unknown_past
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.snapshots.row_lineage import ROW_LINEAGE_VERSION, next_row_id_after
from floeberg.spec.snapshots.snapshot import Snapshot, SnapshotLogEntry

MAX_NUMBERS_AHEAD: Final = 1_000_000
"""How far ahead of the table's last sequence number a new one may be. A commit takes the next, or a few more for the snapshots
of one transaction; one that is far ahead would use up the numbers of all later commits."""


def add_snapshot(draft: MetadataDraft, update: AddSnapshot) -> None:
    """Ids are unique; sequence numbers and row ids go on from where the table stands, or another commit came first."""
    snapshot = update.snapshot
    if draft.snapshots.has_id(snapshot.snapshot_id):
        raise SnapshotAlreadyExists(
            f"the table has a snapshot {snapshot.snapshot_id} already; draw another id",
            snapshot_id=snapshot.snapshot_id,
        )
    draft.current_schema()
    _check_snapshot(draft, snapshot)
    if draft.format_version >= ROW_LINEAGE_VERSION:
        draft.next_row_id = next_row_id_after(snapshot, draft.next_row_id)
    draft.last_sequence_number = max(draft.last_sequence_number, snapshot.sequence_number)
    draft.snapshots = draft.snapshots.appended(snapshot)
    draft.added_snapshot_ids.add(snapshot.snapshot_id)
    draft.changed = True


def _check_snapshot(draft: MetadataDraft, snapshot: Snapshot) -> None:
    """The fields of a new snapshot, by version: https://iceberg.apache.org/spec/#snapshots"""
    name = f"snapshot {snapshot.snapshot_id}"
    check_texts(snapshot.summary, what=f"{name}: summary field")
    if not 0 <= snapshot.snapshot_id <= LONG_MAX:
        raise InvalidInput(f"{name}: an id is a positive 64-bit number")
    if draft.format_version == 1:
        if snapshot.sequence_number != 0:
            raise InvalidInput(f"{name} has a sequence number, which format version 1 does not know")
        if snapshot.manifest_list is None and snapshot.manifests is None:
            raise InvalidInput(f"{name} needs a manifest list")
        return
    if snapshot.manifest_list is None or snapshot.operation is None:
        raise InvalidInput(f"{name} needs a manifest list and an operation in format version {draft.format_version}")
    if snapshot.sequence_number <= draft.last_sequence_number:
        raise CommitConflict(
            f"{name} has sequence number {snapshot.sequence_number}, but the table has given {draft.last_sequence_number}"
            " already; take the next one from the refreshed table",
            snapshot_id=snapshot.snapshot_id,
            last_sequence_number=draft.last_sequence_number,
        )
    if snapshot.sequence_number - draft.last_sequence_number > MAX_NUMBERS_AHEAD:
        raise InvalidInput(
            f"{name} has sequence number {snapshot.sequence_number}, far ahead of the table's last, which is "
            f"{draft.last_sequence_number}; take the next one",
            snapshot_id=snapshot.snapshot_id,
        )
    if draft.format_version < ROW_LINEAGE_VERSION and snapshot.first_row_id is not None:
        raise InvalidInput(f"{name} has row ids, which need format version {ROW_LINEAGE_VERSION}")


def set_snapshot_ref(draft: MetadataDraft, update: SetSnapshotRef) -> None:
    """https://iceberg.apache.org/spec/#snapshot-references"""
    name, ref = update.ref_name, update.ref
    if not name:
        raise InvalidInput("a branch or tag needs a name")
    if draft.refs.get(name) == ref:
        return
    if not draft.snapshots.has_id(ref.snapshot_id):
        raise SnapshotNotFound(
            f"cannot set {name!r} to snapshot {ref.snapshot_id}: the table has no such snapshot",
            snapshot_id=ref.snapshot_id,
            ref=name,
        )
    if name == MAIN_BRANCH:
        if ref.is_tag:
            raise InvalidInput(f"{MAIN_BRANCH} must be a branch")
        if ref.snapshot_id != draft.current_snapshot_id:
            draft.log_additions.append(SnapshotLogEntry(_time_of_change(draft, ref.snapshot_id), ref.snapshot_id))
        draft.current_snapshot_id = ref.snapshot_id
    draft.refs[name] = ref
    draft.changed = True


def _time_of_change(draft: MetadataDraft, snapshot_id: int) -> int:
    """A new snapshot became current when it was made; going to an older one happens now."""
    snapshot = draft.snapshots.find(snapshot_id) if snapshot_id in draft.added_snapshot_ids else None
    return draft.now_ms if snapshot is None else snapshot.timestamp_ms


def remove_snapshot_ref(draft: MetadataDraft, update: RemoveSnapshotRef) -> None:
    if draft.refs.pop(update.ref_name, None) is None:
        return
    if update.ref_name == MAIN_BRANCH:
        draft.current_snapshot_id = None
    draft.changed = True


def remove_snapshots(draft: MetadataDraft, update: RemoveSnapshots) -> None:
    """Removes the snapshots and what statistics are registered for them."""
    removed = frozenset(one for one in update.snapshot_ids if draft.snapshots.has_id(one))
    if not removed:
        return
    draft.snapshots = draft.snapshots.without(removed)
    draft.removed_snapshot_ids |= removed
    draft.added_snapshot_ids -= removed
    draft.statistics = draft.statistics.kept(lambda document: document["snapshot-id"] not in removed)
    draft.partition_statistics = draft.partition_statistics.kept(
        lambda document: document["snapshot-id"] not in removed
    )
    draft.changed = True


def check_refs(draft: MetadataDraft) -> None:
    """Raises InvalidInput when a branch or tag is left without its snapshot."""
    for name, ref in draft.refs.items():
        if not draft.snapshots.has_id(ref.snapshot_id):
            kind = "branch" if ref.is_branch else "tag"
            raise InvalidInput(
                f"cannot remove snapshot {ref.snapshot_id}: {kind} {name!r} points to it; move or remove the {kind} first",
                snapshot_id=ref.snapshot_id,
                ref=name,
            )


def finished_snapshot_log(draft: MetadataDraft) -> Documents[SnapshotLogEntry]:
    """The log with the changes of `main`. A snapshot that was added and replaced by the same updates was never
    current: it has no entry."""
    log = draft.snapshot_log
    if draft.removed_snapshot_ids:
        log = without_unknown_past(log, draft.snapshots.has_id)
    additions = [
        entry
        for entry in draft.log_additions
        if draft.snapshots.has_id(entry.snapshot_id)
        and (entry.snapshot_id not in draft.added_snapshot_ids or entry.snapshot_id == draft.current_snapshot_id)
    ]
    return appended_snapshot_log(log, additions)


def set_statistics(draft: MetadataDraft, update: SetStatistics) -> None:
    file = update.statistics
    if file in draft.statistics:
        return
    others = draft.statistics.kept(lambda document: document["snapshot-id"] != file.snapshot_id)
    draft.statistics = others.appended(file)
    draft.changed = True


def remove_statistics(draft: MetadataDraft, update: RemoveStatistics) -> None:
    kept = draft.statistics.kept(lambda document: document["snapshot-id"] != update.snapshot_id)
    draft.changed = draft.changed or kept is not draft.statistics
    draft.statistics = kept


def set_partition_statistics(draft: MetadataDraft, update: SetPartitionStatistics) -> None:
    file = update.partition_statistics
    if file in draft.partition_statistics:
        return
    others = draft.partition_statistics.kept(lambda document: document["snapshot-id"] != file.snapshot_id)
    draft.partition_statistics = others.appended(file)
    draft.changed = True


def remove_partition_statistics(draft: MetadataDraft, update: RemovePartitionStatistics) -> None:
    kept = draft.partition_statistics.kept(lambda document: document["snapshot-id"] != update.snapshot_id)
    draft.changed = draft.changed or kept is not draft.partition_statistics
    draft.partition_statistics = kept


def add_encryption_key(draft: MetadataDraft, update: AddEncryptionKey) -> None:
    """https://iceberg.apache.org/spec/#encryption-keys; a key that is there already stays as it is."""
    draft.require_version(3, "encryption keys")
    key = update.encryption_key
    if any(document["key-id"] == key.key_id for document in draft.encryption_keys.documents):
        return
    draft.encryption_keys = draft.encryption_keys.appended(key)
    draft.changed = True


def remove_encryption_key(draft: MetadataDraft, update: RemoveEncryptionKey) -> None:
    kept = draft.encryption_keys.kept(lambda document: document["key-id"] != update.key_id)
    draft.changed = draft.changed or kept is not draft.encryption_keys
    draft.encryption_keys = kept
