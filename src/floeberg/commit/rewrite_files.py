"""Rewrites: the same rows in other files (compaction, sorting, deletes applied)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from floeberg.commit.delete_file_checks import (
    delete_files_fit_version,
    deletes_lie_with_their_data,
    one_vector_each,
)
from floeberg.commit.delete_scope import DeleteScope, single_referenced_path
from floeberg.commit.filtering import Removal
from floeberg.commit.history import REPLACE, ConcurrentChanges, concurrent_changes
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.partitions import PartitionSet
from floeberg.commit.producer import SnapshotChange, branch_head, produce_snapshot
from floeberg.commit.validations import (
    data_files_exist,
    equality_deletes_reach_the_same_rows,
    no_concurrent_deletion_vectors,
    no_new_deletes_for,
    rows_keep_their_ids,
)
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestContent


class DeleteCarrier(Protocol):
    """Moves deletes of rows of the replaced files, which came after the rewrite read them, to the new files."""

    def carry(self, base: TableMetadata, deletes: Sequence[DataFile]) -> Sequence[DataFile]:
        """Delete files for the new data files alone. `deletes` are live position deletes that others added and that may
        hold positions of the replaced files. Raises ValidationConflict when the rows cannot be found in the new files."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RewriteFiles:
    """Replaces data and delete files by others that hold the same live rows.

    `starting_snapshot_id` is the snapshot the rewrite read. `data_sequence_number`, when given, is the sequence number of
    that snapshot: the new data files keep it, so equality deletes committed meanwhile still apply to them, as long
    as they reach the same rows under the new files' spec and partition; otherwise they are a conflict.
    `deletes_data_sequence_number` is the one that new delete files keep, the highest of those they replace.
    `carrier`, when given, moves position deletes that others committed meanwhile onto the new files, in this very
    snapshot and anew on each attempt; without one they are a conflict.
    """

    removed: Sequence[DataFile]
    added: Sequence[DataFile]
    starting_snapshot_id: int
    data_sequence_number: int | None = None
    deletes_data_sequence_number: int | None = None
    carrier: DeleteCarrier | None = None
    target: SnapshotTarget = SnapshotTarget()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        removed_data = [file for file in self.removed if file.content is FileContent.DATA]
        removed_deletes = [file for file in self.removed if file.content is not FileContent.DATA]
        added_deletes = [file for file in self.added if file.content is not FileContent.DATA]
        self._check(workspace.identifier, removed_data=removed_data, removed_deletes=removed_deletes)
        delete_files_fit_version(added_deletes, base.format_version, identifier=workspace.identifier)
        one_vector_each(added_deletes, removed_data=removed_data, identifier=workspace.identifier)
        changes = concurrent_changes(
            base, workspace, branch=self.target.branch, starting_snapshot_id=self.starting_snapshot_id
        )
        self._validate(changes, removed_data=removed_data, added_deletes=added_deletes)
        carried = self._carried(changes, removed_data)
        return produce_snapshot(
            base,
            workspace,
            key=self,
            target=self.target,
            change=SnapshotChange(
                operation=REPLACE,
                added=[*self.added, *carried],
                added_data_sequence_number=self.data_sequence_number,
                added_deletes_sequence_number=self.deletes_data_sequence_number,
                removed_data=Removal.of(removed_data),
                removed_deletes=Removal.of(removed_deletes),
            ),
        )

    def _carried(self, changes: ConcurrentChanges, removed_data: Sequence[DataFile]) -> list[DataFile]:
        """New deletes for the new files, in place of those that others added for the replaced files."""
        if self.carrier is None or not changes.snapshots:
            return []
        base, workspace = changes.metadata, changes.workspace
        found = _live_deletes_for(changes, removed_data, branch=self.target.branch)
        carried = list(self.carrier.carry(base, found)) if found else []
        delete_files_fit_version(carried, base.format_version, identifier=workspace.identifier)
        deletes_lie_with_their_data(
            carried,
            added_data=[file for file in self.added if file.content is FileContent.DATA],
            parent=None,
            metadata=base,
            workspace=workspace,
        )
        return carried

    def _validate(
        self, changes: ConcurrentChanges, *, removed_data: Sequence[DataFile], added_deletes: Sequence[DataFile]
    ) -> None:
        self._check_data_sequence_number(changes.metadata, changes.workspace.identifier)
        if not changes.snapshots:
            return
        removed = {file.file_path for file in removed_data}
        data_files_exist(changes, lambda file: file.file_path in removed, what="this rewrite replaces")
        scope = DeleteScope.of(added_deletes)
        data_files_exist(changes, scope.may_touch, what="the deletes of this rewrite refer to")
        added_data = [file for file in self.added if file.content is FileContent.DATA]
        keeps_sequence_number = self.data_sequence_number is not None
        no_new_deletes_for(
            changes,
            removed_data,
            ignore_equality_deletes=keeps_sequence_number,
            ignore_position_deletes=self.carrier is not None,
        )
        if keeps_sequence_number:
            equality_deletes_reach_the_same_rows(changes, removed_data, added_data)
        no_concurrent_deletion_vectors(changes, added_deletes)
        if len(added_deletes) < len(self.added):
            rows_keep_their_ids(changes, self.starting_snapshot_id)

    def _check_data_sequence_number(self, base: TableMetadata, identifier: str) -> None:
        """With a higher sequence number, equality deletes committed meanwhile would not apply; with a lower one, older
        equality deletes would apply to rows written after them."""
        started = base.snapshot(self.starting_snapshot_id).sequence_number
        if self.data_sequence_number is not None and self.data_sequence_number != started:
            raise InvalidInput(
                f"table {identifier}: the rewrite read snapshot {self.starting_snapshot_id} of sequence number {started}; "
                f"its files cannot keep sequence number {self.data_sequence_number}",
                table=identifier,
            )

    def _check(self, identifier: str, *, removed_data: Sequence[DataFile], removed_deletes: Sequence[DataFile]) -> None:
        added_data = [file for file in self.added if file.content is FileContent.DATA]
        if not self.removed:
            raise InvalidInput(f"table {identifier}: a rewrite must replace at least one file")
        if not removed_data and added_data:
            raise InvalidInput(f"table {identifier}: a rewrite adds data files only in place of data files")
        if not removed_deletes and len(added_data) < len(self.added):
            raise InvalidInput(f"table {identifier}: a rewrite adds delete files only in place of delete files")
        if sum(file.record_count for file in added_data) > sum(file.record_count for file in removed_data):
            raise InvalidInput(
                f"table {identifier}: a rewrite must not add records (replace means the same rows); use an overwrite",
                table=identifier,
            )


def _live_deletes_for(changes: ConcurrentChanges, files: Sequence[DataFile], *, branch: str) -> list[DataFile]:
    """The live position deletes that others added since the rewrite read the table and that may be for the files."""
    base, workspace = changes.metadata, changes.workspace
    head = branch_head(base, branch, workspace)
    theirs = {snapshot.snapshot_id for snapshot in changes.snapshots}
    paths = {file.file_path for file in files}
    partitions = PartitionSet.of(files)
    found: list[DataFile] = []
    for manifest in [] if head is None else workspace.manifests(head, base):
        if manifest.content is not ManifestContent.DELETES or not partitions.may_be_in(manifest, base):
            continue
        for entry in workspace.live_entries(manifest, base):
            deletes = entry.data_file
            if deletes.content is not FileContent.POSITION_DELETES or entry.snapshot_id not in theirs:
                continue
            path = single_referenced_path(deletes)
            if path in paths or (path is None and partitions.holds(deletes)):
                found.append(deletes)
    return found
