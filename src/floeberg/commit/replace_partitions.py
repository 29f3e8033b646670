"""Dynamic overwrite: every partition that new files belong to is replaced by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from floeberg.commit.filtering import Removal
from floeberg.commit.isolation import IsolationLevel, ReadView
from floeberg.commit.operation import Target
from floeberg.commit.producer import SnapshotChange, produce_snapshot
from floeberg.commit.validations import (
    FileTest,
    matching_partitions,
    no_added_data_files,
    no_added_delete_files,
    no_removed_data_files,
)
from floeberg.commit.workspace import Workspace
from floeberg.expr.nodes import TRUE
from floeberg.spec.data_file import DataFile
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.updates import MetadataUpdate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplacePartitions:
    """Replaces the partitions of `files`; an unpartitioned table is replaced whole."""

    files: Sequence[DataFile]
    view: ReadView | None = None
    target: Target = Target()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        partitions = frozenset((file.spec_id, file.partition) for file in self.files)
        whole = any(base.spec(file.spec_id).is_unpartitioned for file in self.files)
        if self.view is not None:
            test: FileTest = (lambda file: True) if whole else matching_partitions(partitions)
            self._validate(base, workspace, test, view=self.view)
        removal = Removal(row_filter=TRUE) if whole else Removal(partitions=partitions)
        target = replace(self.target, summary={"replace-partitions": "true", **self.target.summary})
        return produce_snapshot(
            base,
            workspace,
            key=self,
            target=target,
            change=SnapshotChange(
                added=self.files, removed_data=removal, removed_deletes=removal, operation="overwrite"
            ),
        )

    def _validate(self, base: TableMetadata, workspace: Workspace, test: FileTest, *, view: ReadView) -> None:
        changes = view.changes_since(base, workspace, branch=self.target.branch)
        no_added_delete_files(changes, test, what="this partition overwrite")
        no_removed_data_files(changes, test, what="this partition overwrite")
        if view.isolation is IsolationLevel.SERIALIZABLE:
            no_added_data_files(changes, test, what="this partition overwrite")
