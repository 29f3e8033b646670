"""Deletes of whole data files, by name or by a filter (metadata-only deletes)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floeberg.commit.append import only_data
from floeberg.commit.filtering import Removal
from floeberg.commit.history import DELETE
from floeberg.commit.isolation import ReadView
from floeberg.commit.matching import FileMatcher
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.producer import SnapshotChange, produce_snapshot
from floeberg.commit.validations import data_files_exist, no_added_data_files
from floeberg.commit.workspace import Workspace
from floeberg.expr.nodes import Expression
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeleteFiles:
    """Removes whole data files, by name or by a filter that matches all of their rows (a metadata-only delete).

    With `missing_is_error`, a named file that is not in the table is a conflict. A filter applies to the files that the table
    has when the change commits; with a serializable `view` it conflicts with matching data added since.
    """

    removed: Sequence[DataFile] = ()
    row_filter: Expression | None = None
    missing_is_error: bool = True
    view: ReadView | None = None
    target: SnapshotTarget = SnapshotTarget()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        only_data(self.removed, workspace.identifier, what="a delete of files")
        if self.view is not None:
            self._validate(base, workspace, self.view)
        return produce_snapshot(
            base,
            workspace,
            key=self,
            target=self.target,
            change=SnapshotChange(
                operation=DELETE,
                removed_data=Removal.of(
                    self.removed, row_filter=self.row_filter, missing_is_error=self.missing_is_error
                ),
                removed_deletes=Removal(row_filter=self.row_filter),
            ),
        )

    def _validate(self, base: TableMetadata, workspace: Workspace, view: ReadView) -> None:
        changes = view.changes_since(base, workspace, branch=self.target.branch)
        if not changes.snapshots:
            return
        if self.missing_is_error:
            removed = {file.file_path for file in self.removed}
            data_files_exist(changes, lambda file: file.file_path in removed, what="this delete removes")
        if view.is_serializable and (self.row_filter is not None or view.conflict_filter is not None):
            matcher = FileMatcher(base, view.reads(self.row_filter))
            no_added_data_files(changes, matcher.may_match, what="this delete")
