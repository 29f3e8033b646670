"""Row deltas: the commit of a merge-on-read change, which adds delete files and data files with new rows, and what is validated
before a row delta commits: https://iceberg.apache.org/spec/#optimistic-concurrency"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from floeberg.commit.delete_file_checks import delete_files_fit_version, deletes_lie_with_their_data, one_vector_each
from floeberg.commit.delete_scope import DeleteScope
from floeberg.commit.filtering import Removal
from floeberg.commit.history import APPEND, DELETE, OVERWRITE
from floeberg.commit.isolation import ReadView
from floeberg.commit.matching import FileMatcher
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.producer import SnapshotChange, branch_head, produce_snapshot
from floeberg.commit.validations import (
    data_files_exist,
    no_added_data_files,
    no_concurrent_deletes_on,
    no_concurrent_deletion_vectors,
    no_new_deletes_for,
    no_rows_deleted,
    rows_keep_their_ids,
)
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowDelta:
    """Adds data and delete files, and removes delete files that the new ones replace (or data files without live rows).

    `referenced` names all data files whose positions the new deletes hold; deletion vectors and delete files of one data
    file name theirs themselves. `view` None is for changes that read nothing, such as upserts by equality deletes, whose
    position deletes are for data files that the same change adds.
    """

    added: Sequence[DataFile] = ()
    removed_deletes: Sequence[DataFile] = ()
    removed_data: Sequence[DataFile] = ()
    referenced: Collection[str] = ()
    view: ReadView | None = None
    target: SnapshotTarget = SnapshotTarget()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        deletes = [file for file in self.added if file.content is not FileContent.DATA]
        delete_files_fit_version(deletes, base.format_version, identifier=workspace.identifier)
        one_vector_each(deletes, removed_data=self.removed_data, identifier=workspace.identifier)
        if self.view is not None:
            self._validate(base, workspace, deletes=deletes, view=self.view)
        elif self.removed_data or self._touches_other_files(deletes):
            raise InvalidInput(
                f"table {workspace.identifier}: position deletes and removed files need the snapshot they were planned on "
                "(view=ReadView(…)), so that a concurrent change of their data files is seen",
                table=workspace.identifier,
            )
        workspace.remember(self, lambda: self._check_places(base, workspace, deletes))
        return produce_snapshot(
            base,
            workspace,
            key=self,
            target=self.target,
            change=SnapshotChange(
                operation=self._operation(deletes),
                added=self.added,
                removed_data=Removal.of(self.removed_data),
                removed_deletes=Removal.of(self.removed_deletes),
            ),
        )

    def _touches_other_files(self, deletes: Sequence[DataFile]) -> bool:
        """Whether position deletes may be for data files that the change does not add itself."""
        scope = DeleteScope.of(deletes, self.referenced)
        own = {file.file_path for file in self.added if file.content is FileContent.DATA}
        return bool(scope.unnamed) or not scope.paths <= own

    def _operation(self, deletes: Sequence[DataFile]) -> str:
        adds_data = len(deletes) < len(self.added)
        if adds_data and not deletes and not self.removed_data:
            return APPEND
        return DELETE if deletes and not adds_data else OVERWRITE

    def _check_places(self, base: TableMetadata, workspace: Workspace, deletes: Sequence[DataFile]) -> None:
        """Checked once per commit: what other commits do to the data files later is up to the validations."""
        deletes_lie_with_their_data(
            deletes,
            added_data=[file for file in self.added if file.content is FileContent.DATA],
            parent=branch_head(base, self.target.branch, workspace, begins=self.target.begins_branch),
            metadata=base,
            workspace=workspace,
        )

    def _validate(
        self, base: TableMetadata, workspace: Workspace, *, deletes: Sequence[DataFile], view: ReadView
    ) -> None:
        changes = view.changes_since(base, workspace, branch=self.target.branch)
        if not changes.snapshots:
            return
        scope = DeleteScope.of(deletes, self.referenced)
        removed = {file.file_path for file in self.removed_data}
        matcher = FileMatcher(base, view.reads())
        data_files_exist(changes, scope.may_touch, what="this operation deletes rows of")
        data_files_exist(changes, lambda file: file.file_path in removed, what="this operation removes")
        no_concurrent_deletion_vectors(changes, deletes)
        no_new_deletes_for(changes, self.removed_data, ignore_equality_deletes=False)
        no_concurrent_deletes_on(changes, scope, matcher, what="this operation")
        if (scope or removed) and len(deletes) < len(self.added):
            rows_keep_their_ids(changes, view.starting_snapshot_id)
        if view.is_serializable:
            no_added_data_files(changes, matcher.may_match, what="this operation")
            no_rows_deleted(changes, matcher, what="this operation")
