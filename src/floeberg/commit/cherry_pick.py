"""Publishing a snapshot that is not in a branch's history: staged (WAP) snapshots, and commits of other branches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from msgspec import structs

from floeberg.commit.filtering import Removal
from floeberg.commit.history import APPEND, OVERWRITE, concurrent_changes
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.partitions import PartitionSet
from floeberg.commit.producer import SnapshotChange, branch_head, produce_snapshot, snapshot_updates
from floeberg.commit.replace_partitions import REPLACE_PARTITIONS, is_of_replaced_partitions
from floeberg.commit.validations import data_files_exist, no_added_data_files, no_added_delete_files
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput, SnapshotNotFound, ValidationConflict
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, EntryStatus, ManifestContent
from floeberg.spec.snapshots.snapshot import Snapshot

WAP_ID = "wap.id"
PUBLISHED_WAP_ID = "published-wap-id"
SOURCE_SNAPSHOT_ID = "source-snapshot-id"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CherryPick:
    """Applies the change of one snapshot to a branch: appends and dynamic overwrites always, other changes only if the head
    of the branch is the snapshot's parent (a fast-forward)."""

    snapshot_id: int
    target: SnapshotTarget = SnapshotTarget()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        source = base.snapshot(self.snapshot_id)
        head = branch_head(base, self.target.branch, workspace)
        head_id = None if head is None else head.snapshot_id
        _refuse_published(base, source, head_id, workspace)
        if source.parent_snapshot_id == head_id:
            return snapshot_updates(base, source, self.target)[1:]
        added = _files_of(source, base, workspace, EntryStatus.ADDED)
        _refuse_live(base, source, head, added, workspace)
        summary = {SOURCE_SNAPSHOT_ID: str(source.snapshot_id), **self.target.summary}
        if wap_id := source.summary.get(WAP_ID):
            summary[PUBLISHED_WAP_ID] = wap_id
        target = replace(self.target, summary=summary)
        if source.operation == APPEND:
            change = SnapshotChange(added=added, operation=APPEND)
        elif source.operation == OVERWRITE and source.summary.get(REPLACE_PARTITIONS) == "true":
            change = self._replayed_overwrite(base, source, added, workspace)
            target = replace(target, summary={REPLACE_PARTITIONS: "true", **summary})
        else:
            raise ValidationConflict(
                f"table {workspace.identifier}: cannot cherry-pick snapshot {source.snapshot_id}: a snapshot of operation "
                f"{source.operation!r} can only be published while {self.target.branch} still stands at its parent; "
                "run the operation again on the branch",
                table=workspace.identifier,
                snapshot_id=source.snapshot_id,
                retry_can_help=False,
            )
        return produce_snapshot(base, workspace, key=self, target=target, change=change)

    def _replayed_overwrite(
        self, base: TableMetadata, source: Snapshot, added: list[DataFile], workspace: Workspace
    ) -> SnapshotChange:
        """The overwrite of the source snapshot, if no other commit changed its partitions since."""
        removed = _files_of(source, base, workspace, EntryStatus.DELETED)
        paths = {file.file_path for file in removed}
        is_replaced = is_of_replaced_partitions(base, added, removed)
        changes = concurrent_changes(
            base, workspace, branch=self.target.branch, starting_snapshot_id=source.parent_snapshot_id
        )
        what = "the cherry-picked overwrite"
        data_files_exist(changes, lambda file: file.file_path in paths, what=f"{what} replaces")
        no_added_data_files(changes, is_replaced, what=what)
        no_added_delete_files(changes, is_replaced, what=what)
        return SnapshotChange(added=added, removed_data=Removal.of(removed), operation=OVERWRITE)


def find_staged(base: TableMetadata, wap_id: str, *, identifier: str) -> Snapshot:
    """The staged snapshot of a WAP id. Raises SnapshotNotFound, and InvalidInput when several have it: to publish one of them
    would leave the rows of the others behind."""
    found = [snapshot for snapshot in base.snapshots if snapshot.summary.get(WAP_ID) == wap_id]
    if not found:
        raise SnapshotNotFound(f"table {identifier}: no staged snapshot has wap.id {wap_id!r}", table=identifier)
    if len(found) > 1:
        ids = ", ".join(str(snapshot.snapshot_id) for snapshot in found)
        raise InvalidInput(
            f"table {identifier}: several snapshots have wap.id {wap_id!r}: {ids}; publish one by its id with "
            "cherrypick_snapshot, and stage the rows of the others again under ids of their own",
            table=identifier,
        )
    return found[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Publish:
    """Publishes the staged snapshot of a WAP id."""

    wap_id: str
    target: SnapshotTarget = SnapshotTarget()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        source = find_staged(base, self.wap_id, identifier=workspace.identifier)
        pick = workspace.remember(self, lambda: CherryPick(snapshot_id=source.snapshot_id, target=self.target))
        return pick.updates(base, workspace)


def _files_of(source: Snapshot, base: TableMetadata, workspace: Workspace, status: EntryStatus) -> list[DataFile]:
    """The data files that a snapshot itself added or removed, without row ids: the new commit assigns them."""
    return [
        structs.replace(entry.data_file, first_row_id=None)
        for manifest in workspace.manifests(source, base)
        if manifest.content is ManifestContent.DATA and manifest.added_snapshot_id == source.snapshot_id
        for entry in workspace.entries(manifest, base)
        if entry.status is status and entry.snapshot_id == source.snapshot_id
    ]


def _refuse_published(base: TableMetadata, source: Snapshot, head_id: int | None, workspace: Workspace) -> None:
    wap_id = source.summary.get(WAP_ID)
    oldest: Snapshot | None = None
    for ancestor in base.ancestors(head_id):
        oldest = ancestor
        summary = ancestor.summary
        if ancestor.snapshot_id == source.snapshot_id:
            raise _refused(workspace, source, "it is in the branch's history already")
        if summary.get(SOURCE_SNAPSHOT_ID) == str(source.snapshot_id):
            raise _refused(workspace, source, f"snapshot {ancestor.snapshot_id} was picked from it already")
        if wap_id and wap_id in (summary.get(WAP_ID), summary.get(PUBLISHED_WAP_ID)):
            raise _refused(
                workspace, source, f"wap.id {wap_id!r} was published already, by snapshot {ancestor.snapshot_id}"
            )
    # Sequence numbers grow along a history: what expired before an ancestor that is no newer than the source is older.
    if oldest is not None and oldest.parent_snapshot_id is not None and oldest.sequence_number > source.sequence_number:
        raise _refused(
            workspace,
            source,
            f"the branch's history before snapshot {oldest.snapshot_id} was expired, and it may have been in it",
        )


def _refuse_live(
    base: TableMetadata, source: Snapshot, head: Snapshot | None, added: list[DataFile], workspace: Workspace
) -> None:
    """A last safeguard: refuses to add a file that the branch already has."""
    places = PartitionSet.of(added)
    manifests = [
        manifest
        for manifest in ([] if head is None else workspace.manifests(head, base))
        if manifest.content is ManifestContent.DATA and places.may_be_in(manifest, base)
    ]
    paths = [file.file_path for file in added]
    if found := [
        entry.data_file.file_path for entry in workspace.find(manifests, base, column="file_path", values=paths)
    ]:
        raise _refused(workspace, source, f"its files are in the branch already: {', '.join(sorted(found)[:5])}")


def _refused(workspace: Workspace, source: Snapshot, reason: str) -> ValidationConflict:
    return ValidationConflict(
        f"table {workspace.identifier}: cannot cherry-pick snapshot {source.snapshot_id}: {reason}",
        table=workspace.identifier,
        snapshot_id=source.snapshot_id,
        retry_can_help=False,
    )
