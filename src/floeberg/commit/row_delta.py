"""Row deltas: rows deleted in place by delete files, with new rows beside them (merge-on-read)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from floeberg.commit.filtering import Removal
from floeberg.commit.isolation import IsolationLevel, ReadView
from floeberg.commit.operation import Target
from floeberg.commit.producer import SnapshotChange, produce_snapshot
from floeberg.commit.validations import (
    data_files_exist,
    delete_files_fit_version,
    matching_filter,
    no_added_data_files,
    no_concurrent_deletes_on,
    no_concurrent_deletion_vectors,
    no_new_deletes_for,
    single_referenced_path,
)
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.spec.data_file import DataFile, FileContent
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.updates import MetadataUpdate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowDelta:
    """Adds data and delete files, and removes delete files that new ones take in (or data files emptied by it).

    `referenced` names the data files whose positions the new deletes hold; deletion vectors and delete files of one data
    file name theirs themselves. `view` None is for changes that read nothing, such as upserts by equality deletes.
    """

    added: Sequence[DataFile] = ()
    removed_deletes: Sequence[DataFile] = ()
    removed_data: Sequence[DataFile] = ()
    referenced: Collection[str] = ()
    view: ReadView | None = None
    target: Target = Target()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        deletes = [file for file in self.added if file.content is not FileContent.DATA]
        delete_files_fit_version(deletes, base.format_version, identifier=workspace.identifier)
        self._check_vectors(deletes, workspace)
        if self.view is not None:
            self._validate(base, workspace, deletes=deletes, view=self.view)
        elif any(file.content is FileContent.POSITION_DELETES for file in deletes):
            raise InvalidInput(
                f"table {workspace.identifier}: position deletes need the snapshot they were planned on (view=ReadView(…)), "
                "so that a concurrent rewrite of their data files is seen",
                table=workspace.identifier,
            )
        return produce_snapshot(
            base,
            workspace,
            key=self,
            target=self.target,
            change=SnapshotChange(
                added=self.added,
                removed_data=Removal(files=frozenset(file.identity for file in self.removed_data)),
                removed_deletes=Removal(files=frozenset(file.identity for file in self.removed_deletes)),
            ),
        )

    def _referenced_paths(self, deletes: Sequence[DataFile]) -> set[str]:
        own = {single_referenced_path(file) for file in deletes if file.content is FileContent.POSITION_DELETES}
        return {*self.referenced, *(path for path in own if path is not None)}

    def _validate(
        self, base: TableMetadata, workspace: Workspace, *, deletes: Sequence[DataFile], view: ReadView
    ) -> None:
        changes = view.changes_since(base, workspace, branch=self.target.branch)
        if not changes.snapshots:
            return
        data_files_exist(changes, self._referenced_paths(deletes))
        no_concurrent_deletion_vectors(
            changes,
            {file.referenced_data_file for file in deletes if file.is_deletion_vector and file.referenced_data_file},
        )
        no_new_deletes_for(changes, self.removed_data, ignore_equality_deletes=False)
        no_concurrent_deletes_on(changes, deletes, what="this operation")
        if view.isolation is IsolationLevel.SERIALIZABLE:
            no_added_data_files(changes, matching_filter(base, view.conflict_filter), what="this operation")

    def _check_vectors(self, deletes: Sequence[DataFile], workspace: Workspace) -> None:
        """One deletion vector a data file, and none for a file that goes in the same change."""
        removed = {file.file_path for file in self.removed_data}
        seen: set[str] = set()
        for file in deletes:
            path = file.referenced_data_file
            if path is None:
                if file.is_deletion_vector:
                    raise InvalidInput(f"table {workspace.identifier}: a deletion vector must name its data file")
                continue
            if path in removed:
                raise InvalidInput(
                    f"table {workspace.identifier}: {path} is removed and has rows deleted in one change"
                )
            if file.is_deletion_vector and path in seen:
                raise InvalidInput(
                    f"table {workspace.identifier}: two deletion vectors for {path}; merge them into one"
                )
            seen.add(path)
