"""Overwrites: data files replaced by others, by name or by a filter (copy-on-write, INSERT OVERWRITE … WHERE)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floeberg.commit.filtering import Removal
from floeberg.commit.isolation import IsolationLevel, ReadView
from floeberg.commit.matching import FileMatcher
from floeberg.commit.operation import Target
from floeberg.commit.producer import SnapshotChange, produce_snapshot
from floeberg.commit.validations import (
    matching_filter,
    no_added_data_files,
    no_added_delete_files,
    no_new_deletes_for,
    no_removed_data_files,
)
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import Expression
from floeberg.spec.data_file import DataFile
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.updates import MetadataUpdate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Overwrite:
    """Removes data files (`removed`, or all whose rows match `row_filter`) and adds others, as one change.

    `view` says what was read to decide it. None is for a blind overwrite that read nothing: it replaces whatever is
    there when it commits.
    """

    added: Sequence[DataFile] = ()
    removed: Sequence[DataFile] = ()
    row_filter: Expression | None = None
    view: ReadView | None = None
    added_must_match_filter: bool = False
    target: Target = Target()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        self._check_added(base, workspace)
        if self.view is not None:
            self._validate(base, workspace, self.view)
        removed = frozenset(file.identity for file in self.removed)
        # Deletes in the filter's range go with the rows they delete; named removals leave delete files alone.
        return produce_snapshot(
            base,
            workspace,
            key=self,
            target=self.target,
            change=SnapshotChange(
                added=self.added,
                removed_data=Removal(files=removed, row_filter=self.row_filter),
                removed_deletes=Removal(row_filter=self.row_filter),
            ),
        )

    def _validate(self, base: TableMetadata, workspace: Workspace, view: ReadView) -> None:
        changes = view.changes_since(base, workspace, branch=self.target.branch)
        if not changes.snapshots:
            return
        no_new_deletes_for(changes, self.removed, ignore_equality_deletes=False)
        conflict_filter = view.conflict_filter if self.row_filter is None else self.row_filter
        test = matching_filter(base, conflict_filter)
        if self.row_filter is not None:
            no_added_delete_files(changes, test, what="this overwrite")
            no_removed_data_files(changes, test, what="this overwrite")
        if view.isolation is IsolationLevel.SERIALIZABLE:
            no_added_data_files(changes, test, what="this overwrite")

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeleteFiles:
    """Removes whole data files, by name or by a filter that matches all of their rows (a delete by metadata alone).

    With `missing_is_error` a named file that is not there is a conflict. With `view`, a filter's delete also conflicts
    with matching data added meanwhile (serializable).
    """

    removed: Sequence[DataFile] = ()
    row_filter: Expression | None = None
    missing_is_error: bool = True
    view: ReadView | None = None
    target: Target = Target()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        if self.view is not None and self.row_filter is not None:
            changes = self.view.changes_since(base, workspace, branch=self.target.branch)
            if self.view.isolation is IsolationLevel.SERIALIZABLE:
                no_added_data_files(changes, matching_filter(base, self.row_filter), what="this delete")
        return produce_snapshot(
            base,
            workspace,
            key=self,
            target=self.target,
            change=SnapshotChange(
                removed_data=Removal(
                    files=frozenset(file.identity for file in self.removed),
                    row_filter=self.row_filter,
                    missing_is_error=self.missing_is_error,
                ),
                removed_deletes=Removal(row_filter=self.row_filter),
                operation="delete",
            ),
        )
