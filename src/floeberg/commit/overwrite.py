"""Overwrites: data files replaced by others, by name or by a filter (copy-on-write, INSERT OVERWRITE … WHERE)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floeberg.commit.append import only_data
from floeberg.commit.filtering import Removal
from floeberg.commit.history import APPEND, DELETE, OVERWRITE
from floeberg.commit.isolation import ReadView
from floeberg.commit.matching import FileMatcher
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.producer import SnapshotChange, produce_snapshot
from floeberg.commit.validations import (
    data_files_exist,
    no_added_data_files,
    no_added_delete_files,
    no_new_deletes_for,
    no_removed_data_files,
    no_rows_deleted,
    rows_keep_their_ids,
)
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import Expression
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Overwrite:
    """Removes data files (`removed`, or all whose rows match `row_filter`) and adds others, as one change.

    `view` says what was read to decide it. None is for a blind overwrite that read nothing: it replaces what the table has
    when it commits. The snapshot's operation is that of the intent, even if the filter finds nothing.
    """

    added: Sequence[DataFile] = ()
    removed: Sequence[DataFile] = ()
    row_filter: Expression | None = None
    view: ReadView | None = None
    added_must_match_filter: bool = False
    target: SnapshotTarget = SnapshotTarget()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        only_data([*self.added, *self.removed], workspace.identifier, what="an overwrite")
        self._check_added(base, workspace)
        if self.view is not None:
            self._validate(base, workspace, self.view)
        # Deletes in the filter's range are removed with the rows they delete; removals by name leave delete files alone.
        return produce_snapshot(
            base,
            workspace,
            key=self,
            target=self.target,
            change=SnapshotChange(
                operation=self._operation(),
                added=self.added,
                removed_data=Removal.of(self.removed, row_filter=self.row_filter),
                removed_deletes=Removal(row_filter=self.row_filter),
            ),
        )

    def _operation(self) -> str:
        removes = bool(self.removed) or self.row_filter is not None
        return OVERWRITE if removes and self.added else DELETE if removes else APPEND

    def _validate(self, base: TableMetadata, workspace: Workspace, view: ReadView) -> None:
        changes = view.changes_since(base, workspace, branch=self.target.branch)
        if not changes.snapshots:
            return
        removed = {file.file_path for file in self.removed}
        data_files_exist(changes, lambda file: file.file_path in removed, what="this overwrite replaces")
        no_new_deletes_for(changes, self.removed, ignore_equality_deletes=False)
        if self.removed and self.added:
            rows_keep_their_ids(changes, view.starting_snapshot_id)
        matcher = FileMatcher(base, view.reads(self.row_filter))
        if self.row_filter is not None:
            no_added_delete_files(changes, matcher.may_match, what="this overwrite")
            no_removed_data_files(changes, matcher.may_match, what="this overwrite")
        if view.is_serializable:
            no_added_data_files(changes, matcher.may_match, what="this overwrite")
            no_rows_deleted(changes, matcher, what="this overwrite")

    def _check_added(self, base: TableMetadata, workspace: Workspace) -> None:
        if not self.added_must_match_filter or self.row_filter is None:
            return
        matcher = FileMatcher(base, self.row_filter)
        for file in self.added:
            if not matcher.must_match(file):
                raise InvalidInput(
                    f"table {workspace.identifier}: {file.file_path} may hold rows outside the overwritten range "
                    f"({self.row_filter}); write only rows that match, or widen the filter",
                    table=workspace.identifier,
                    file=file.file_path,
                )
