"""Makes a snapshot: the parent's manifests without what is removed, and new manifests for what is added.
https://iceberg.apache.org/spec/#snapshots"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from floeberg.commit.filtering import Filtered, Removal, filter_manifests
from floeberg.commit.merging import merge_manifests
from floeberg.commit.operation import Target
from floeberg.commit.summary import SummaryBuilder, operation_of
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput, RefNotFound
from floeberg.spec.data_file import DataFile, FileContent, ManifestContent, ManifestFile
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.refs import MAIN_BRANCH, SnapshotRef
from floeberg.spec.snapshots import Snapshot
from floeberg.spec.updates import AddSnapshot, MetadataUpdate, SetSnapshotRef


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotChange:
    """What a new snapshot adds to its parent and takes from it."""

    added: Sequence[DataFile] = ()
    added_data_sequence_number: int | None = None
    """Data files that replace older ones keep the age of what they replace, so that later deletes still apply."""
    removed_data: Removal = Removal()
    removed_deletes: Removal = Removal()
    operation: str | None = None
    """The snapshot's operation; None derives it from what was done."""
    merge: bool = True


@dataclass(frozen=True, slots=True)
class _Parts:
    data: list[ManifestFile]
    deletes: list[ManifestFile]
    filtered_data: Filtered
    filtered_deletes: Filtered
    created: int


def produce_snapshot(
    base: TableMetadata, workspace: Workspace, *, key: object, target: Target, change: SnapshotChange
) -> list[MetadataUpdate]:
    """The updates that add the snapshot and, unless it is only staged, point the branch at it."""
    snapshot_id = workspace.snapshot_id(key, base)
    parent = branch_head(base, target.branch, workspace)
    parts = _assemble(base, workspace, change=change, parent=parent, snapshot_id=snapshot_id)
    summary = SummaryBuilder(base)
    for file in change.added:
        summary.added(file)
    removed = [*parts.filtered_data.removed, *parts.filtered_deletes.removed]
    for file in removed:
        summary.removed(file)
    operation = change.operation or operation_of(change.added, bool(removed))
    extra = {**_manifest_counts(parts, parent, base, workspace), **workspace.engine_summary, **target.summary}
    snapshot = workspace.write_snapshot(
        base,
        snapshot_id=snapshot_id,
        parent=parent,
        manifests=[*parts.data, *parts.deletes],
        operation=operation,
        summary=summary.build(None if parent is None else parent.summary, extra),
    )
    return snapshot_updates(base, snapshot, target)


def snapshot_updates(base: TableMetadata, snapshot: Snapshot, target: Target) -> list[MetadataUpdate]:
    """Adds a snapshot, and points the branch at it unless it is only staged."""
    updates: list[MetadataUpdate] = [AddSnapshot(snapshot)]
    if not target.stage_only:
        existing = base.refs.get(target.branch)
        ref = (
            SnapshotRef(snapshot_id=snapshot.snapshot_id)
            if existing is None
            else replace(existing, snapshot_id=snapshot.snapshot_id)
        )
        updates.append(SetSnapshotRef(target.branch, ref))
    return updates


def branch_head(base: TableMetadata, branch: str, workspace: Workspace) -> Snapshot | None:
    """The snapshot that a commit to a branch builds on. Raises RefNotFound, and InvalidInput for a tag."""
    ref = base.refs.get(branch)
    if ref is None:
        if branch == MAIN_BRANCH:
            return None
        raise RefNotFound(
            f"table {workspace.identifier}: no branch {branch!r}; create it first (manage_refs().create_branch)",
            table=workspace.identifier,
            ref=branch,
        )
    if not ref.is_branch:
        raise InvalidInput(f"table {workspace.identifier}: {branch!r} is a tag; only branches can be written to")
    return base.snapshot(ref.snapshot_id)


def _assemble(
    base: TableMetadata, workspace: Workspace, *, change: SnapshotChange, parent: Snapshot | None, snapshot_id: int
) -> _Parts:
    existing = [] if parent is None else workspace.manifests(parent, base)
    old_data = [manifest for manifest in existing if manifest.content is ManifestContent.DATA]
    old_deletes = [manifest for manifest in existing if manifest.content is ManifestContent.DELETES]
    if change.merge:
        data = filter_manifests(
            old_data, change.removed_data, metadata=base, workspace=workspace, snapshot_id=snapshot_id
        )
        removal = _with_dangling(change, data, base)
        deletes = filter_manifests(old_deletes, removal, metadata=base, workspace=workspace, snapshot_id=snapshot_id)
    else:
        data, deletes = Filtered(manifests=old_data), Filtered(manifests=old_deletes)
    new_data = workspace.new_manifests(
        [file for file in change.added if file.content is FileContent.DATA],
        content=ManifestContent.DATA,
        metadata=base,
        snapshot_id=snapshot_id,
        data_sequence_number=change.added_data_sequence_number,
    )
    new_deletes = workspace.new_manifests(
        [file for file in change.added if file.content is not FileContent.DATA],
        content=ManifestContent.DELETES,
        metadata=base,
        snapshot_id=snapshot_id,
        data_sequence_number=None,
    )
    all_data, all_deletes = [*new_data, *data.manifests], [*new_deletes, *deletes.manifests]
    if change.merge:
        all_data = merge_manifests(all_data, metadata=base, workspace=workspace, snapshot_id=snapshot_id)
        all_deletes = merge_manifests(all_deletes, metadata=base, workspace=workspace, snapshot_id=snapshot_id)
    return _Parts(all_data, all_deletes, data, deletes, len(new_data) + len(new_deletes))


def _with_dangling(change: SnapshotChange, data: Filtered, base: TableMetadata) -> Removal:
    """Deletes that apply to nothing any more: deletion vectors of removed files, and delete files older than all data."""
    oldest = base.last_sequence_number
    if change.added_data_sequence_number is not None:
        oldest = min(oldest, change.added_data_sequence_number)
    for manifest in data.manifests:
        if manifest.may_have_live_files:
            oldest = min(oldest, manifest.min_sequence_number)
    return replace(
        change.removed_deletes,
        older_than_sequence_number=oldest,
        dangling_for=frozenset(file.file_path for file in data.removed),
    )


def _manifest_counts(
    parts: _Parts, parent: Snapshot | None, base: TableMetadata, workspace: Workspace
) -> dict[str, str]:
    before = set() if parent is None else {manifest.manifest_path for manifest in workspace.manifests(parent, base)}
    after = [manifest.manifest_path for manifest in (*parts.data, *parts.deletes)]
    kept = sum(1 for path in after if path in before)
    return {
        "manifests-created": str(len(after) - kept),
        "manifests-kept": str(kept),
        "manifests-replaced": str(len(before) - kept),
        "entries-processed": str(parts.filtered_data.entries_processed + parts.filtered_deletes.entries_processed),
    }
