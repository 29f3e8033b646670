"""Rewrites: the same rows in other files (compaction, sorting, deletes applied)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floeberg.commit.filtering import Removal
from floeberg.commit.history import concurrent_changes
from floeberg.commit.operation import Target
from floeberg.commit.producer import SnapshotChange, produce_snapshot
from floeberg.commit.validations import (
    delete_files_fit_version,
    no_concurrent_deletion_vectors,
    no_new_deletes_for,
)
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.spec.data_file import DataFile, FileContent
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.updates import MetadataUpdate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RewriteFiles:
    """Replaces data and delete files by others that hold the same live rows.

    `starting_snapshot_id` is the snapshot the rewrite read. `data_sequence_number`, when given, is the sequence number of
    that snapshot: the new files keep that age, so equality deletes committed meanwhile still apply to them.
    """

    removed: Sequence[DataFile]
    added: Sequence[DataFile]
    starting_snapshot_id: int
    data_sequence_number: int | None = None
    target: Target = Target()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        removed_data = [file for file in self.removed if file.content is FileContent.DATA]
        removed_deletes = [file for file in self.removed if file.content is not FileContent.DATA]
        added_data = [file for file in self.added if file.content is FileContent.DATA]
        added_deletes = [file for file in self.added if file.content is not FileContent.DATA]
        self._check(workspace, removed_data=removed_data, removed_deletes=removed_deletes)
        delete_files_fit_version(added_deletes, base.format_version, identifier=workspace.identifier)
        changes = concurrent_changes(
            base, workspace, branch=self.target.branch, starting_snapshot_id=self.starting_snapshot_id
        )
        no_new_deletes_for(changes, removed_data, ignore_equality_deletes=self.data_sequence_number is not None)
        no_concurrent_deletion_vectors(
            changes, {file.referenced_data_file for file in added_deletes if file.referenced_data_file is not None}
        )
        if sum(file.record_count for file in added_data) > sum(file.record_count for file in removed_data):
            raise InvalidInput(
                f"table {workspace.identifier}: a rewrite must not add records (replace means the same rows); "
                "use an overwrite",
                table=workspace.identifier,
            )
        return produce_snapshot(
            base,
            workspace,
            key=self,
            target=self.target,
            change=SnapshotChange(
                added=self.added,
                added_data_sequence_number=self.data_sequence_number,
                removed_data=Removal(files=frozenset(file.identity for file in removed_data)),
                removed_deletes=Removal(files=frozenset(file.identity for file in removed_deletes)),
                operation="replace",
            ),
        )

    def _check(
        self, workspace: Workspace, *, removed_data: Sequence[DataFile], removed_deletes: Sequence[DataFile]
    ) -> None:
        if not self.removed:
            raise InvalidInput(f"table {workspace.identifier}: a rewrite must replace at least one file")
        if not removed_data and any(file.content is FileContent.DATA for file in self.added):
            raise InvalidInput(f"table {workspace.identifier}: a rewrite adds data files only in place of data files")
        if not (removed_data or removed_deletes) and any(file.content is not FileContent.DATA for file in self.added):
            raise InvalidInput(f"table {workspace.identifier}: a rewrite adds delete files only in place of files")
