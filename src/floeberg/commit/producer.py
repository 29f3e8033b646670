"""Makes a snapshot: the parent's manifests without what is removed, and new manifests for what is added.
https://iceberg.apache.org/spec/#snapshots"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from floeberg.commit.delete_file_checks import no_second_vector
from floeberg.commit.filtering import FilteredManifests, Removal, filter_manifests
from floeberg.commit.manifests import distinct_files, manifests_of_added, merged_manifest
from floeberg.commit.merging import MergePolicy, merge_manifests
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.snapshot_writer import write_snapshot
from floeberg.commit.summary import SummaryBuilder
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput, RefNotFound
from floeberg.spec.changes.updates import AddSnapshot, MetadataUpdate, SetSnapshotRef
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestContent, ManifestFile
from floeberg.spec.snapshots.refs import MAIN_BRANCH, SnapshotRef
from floeberg.spec.snapshots.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotChange:
    """What a new snapshot adds to its parent and removes from it."""

    operation: str
    added: Sequence[DataFile] = ()
    added_data_sequence_number: int | None = None
    """The data sequence number of added data files that replace others, so that later deletes still apply to them."""
    added_deletes_sequence_number: int | None = None
    """The same for added delete files, so that they do not apply to newer data."""
    removed_data: Removal = Removal()
    removed_deletes: Removal = Removal()
    merge: bool = True
    """Whether existing manifests are filtered by what is removed and small ones merged, as the table's properties ask; a fast
    append keeps them as they are."""


@dataclass(frozen=True, slots=True)
class _Parts:
    manifests: list[ManifestFile]
    data: FilteredManifests
    deletes: FilteredManifests


def produce_snapshot(
    base: TableMetadata, workspace: Workspace, *, key: object, target: SnapshotTarget, change: SnapshotChange
) -> list[MetadataUpdate]:
    """The updates that add the snapshot and, unless it is only staged, point the branch at it."""
    parent = branch_head(base, target.branch, workspace, begins=target.begins_branch)
    change = replace(change, added=distinct_files(change.added, workspace.identifier))
    snapshot_id = workspace.snapshot_id(key, base)
    parts = _assemble(base, workspace, change=change, parent=parent, snapshot_id=snapshot_id)
    summary = SummaryBuilder(base, duplicates=parts.data.duplicates + parts.deletes.duplicates)
    for file in change.added:
        summary.added(file)
    for file in (*parts.data.removed, *parts.deletes.removed):
        summary.removed(file)
    counts = _manifest_counts(parts, parent, base, workspace)
    extra = {**counts, **workspace.engine_summary, **target.summary, **workspace.transaction_summary}
    snapshot = write_snapshot(
        base,
        workspace,
        snapshot_id=snapshot_id,
        parent=parent,
        manifests=parts.manifests,
        operation=change.operation,
        summary=summary.build(None if parent is None else parent.summary, extra),
    )
    return snapshot_updates(base, snapshot, target)


def snapshot_updates(base: TableMetadata, snapshot: Snapshot, target: SnapshotTarget) -> list[MetadataUpdate]:
    """Adds a snapshot, and points the branch at it unless it is only staged."""
    updates: list[MetadataUpdate] = [AddSnapshot(snapshot)]
    if not target.stage_only:
        existing = base.refs.get(target.branch)
        ref = SnapshotRef(snapshot_id=snapshot.snapshot_id) if existing is None else existing.at(snapshot.snapshot_id)
        updates.append(SetSnapshotRef(target.branch, ref))
    return updates


def branch_head(base: TableMetadata, branch: str, workspace: Workspace, *, begins: bool = False) -> Snapshot | None:
    """The head of the branch that a commit builds on; with `begins`, a branch may be new where `main` has no snapshot either.
    Raises RefNotFound, and InvalidInput for a tag."""
    ref = base.refs.get(branch)
    if ref is None:
        if branch == MAIN_BRANCH or (begins and base.current_snapshot_id is None):
            return None
        raise RefNotFound(
            f"table {workspace.identifier}: no branch {branch!r}; create it first, by manage_refs().create_branch or "
            "ALTER TABLE … CREATE BRANCH",
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
    data = FilteredManifests(manifests=[m for m in existing if m.content is ManifestContent.DATA])
    deletes = FilteredManifests(manifests=[m for m in existing if m.content is ManifestContent.DELETES])
    if change.merge:
        data = filter_manifests(
            data.manifests, change.removed_data, metadata=base, workspace=workspace, snapshot_id=snapshot_id
        )
        removal = _with_dangling(change, data, base)
        deletes = filter_manifests(
            deletes.manifests, removal, metadata=base, workspace=workspace, snapshot_id=snapshot_id
        )
    no_second_vector(change.added, deletes.manifests, metadata=base, workspace=workspace)
    manifests: list[ManifestFile] = []
    for content, filtered in ((ManifestContent.DATA, data), (ManifestContent.DELETES, deletes)):
        is_data = content is ManifestContent.DATA
        number = change.added_data_sequence_number if is_data else change.added_deletes_sequence_number
        new = manifests_of_added(
            [file for file in change.added if (file.content is FileContent.DATA) is is_data],
            content=content,
            metadata=base,
            workspace=workspace,
            snapshot_id=snapshot_id,
            data_sequence_number=number,
        )
        together = [*new, *filtered.manifests]
        manifests += _merged(together, base, workspace, snapshot_id) if change.merge else together
    return _Parts(manifests, data, deletes)


def _merged(
    manifests: Sequence[ManifestFile], base: TableMetadata, workspace: Workspace, snapshot_id: int
) -> list[ManifestFile]:
    return merge_manifests(
        manifests,
        MergePolicy.from_properties(base.properties),
        lambda group: merged_manifest(group, metadata=base, workspace=workspace, snapshot_id=snapshot_id),
    )


def _with_dangling(change: SnapshotChange, data: FilteredManifests, base: TableMetadata) -> Removal:
    """The removal with dangling deletes added: deletion vectors of removed files, and delete files whose sequence number
    is below that of all data, including data that this change adds with an older sequence number."""
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
    """Manifests written, kept, and replaced by written ones; those without live files are only left out."""
    before = [] if parent is None else workspace.manifests(parent, base)
    after = {manifest.manifest_path for manifest in parts.manifests}
    kept = sum(1 for manifest in before if manifest.manifest_path in after)
    left_out = sum(1 for manifest in before if not manifest.may_have_live_files and manifest.manifest_path not in after)
    return {
        "manifests-created": str(len(after) - kept),
        "manifests-kept": str(kept),
        "manifests-replaced": str(len(before) - kept - left_out),
        "entries-processed": str(parts.data.entries_processed + parts.deletes.entries_processed),
    }
