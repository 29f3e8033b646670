"""Dynamic overwrite: every partition that new files belong to is replaced by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from floeberg.commit.append import only_data
from floeberg.commit.filtering import Removal
from floeberg.commit.history import OVERWRITE
from floeberg.commit.isolation import ReadView
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.partitions import PartitionSet
from floeberg.commit.producer import SnapshotChange, produce_snapshot
from floeberg.commit.validations import (
    FileTest,
    no_added_data_files,
    no_added_delete_files,
    no_removed_data_files,
)
from floeberg.commit.workspace import Workspace
from floeberg.expr.nodes import TRUE
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent

REPLACE_PARTITIONS: Final = "replace-partitions"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplacePartitions:
    """Replaces the partitions of `files`; an unpartitioned table is replaced whole. Without files nothing happens.

    With `append_only` it is a conflict when one of the partitions is not empty.
    """

    files: Sequence[DataFile]
    view: ReadView | None = None
    append_only: bool = False
    target: SnapshotTarget = SnapshotTarget()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        only_data(self.files, workspace.identifier, what="a partition overwrite")
        if not self.files:
            return []
        if self.view is not None:
            self._validate(base, workspace, is_of_replaced_partitions(base, self.files), view=self.view)
        whole = _replace_all(base, self.files)
        removal = Removal(row_filter=TRUE) if whole else Removal(partitions=PartitionSet.of(self.files))
        target = replace(self.target, summary={REPLACE_PARTITIONS: "true", **self.target.summary})
        return produce_snapshot(
            base,
            workspace,
            key=self,
            target=target,
            change=SnapshotChange(
                operation=OVERWRITE,
                added=self.files,
                removed_data=replace(removal, refuse_all=self.append_only),
                removed_deletes=removal,
            ),
        )

    def _validate(self, base: TableMetadata, workspace: Workspace, test: FileTest, *, view: ReadView) -> None:
        changes = view.changes_since(base, workspace, branch=self.target.branch)
        no_added_delete_files(changes, test, what="this partition overwrite")
        no_removed_data_files(changes, test, what="this partition overwrite")
        if view.is_serializable:
            no_added_data_files(changes, test, what="this partition overwrite")


def is_of_replaced_partitions(
    metadata: TableMetadata, added: Sequence[DataFile], removed: Sequence[DataFile] = ()
) -> FileTest:
    """Which data files are in the partitions that an overwrite replaces, and which delete files may delete rows there: equality
    deletes without a partition do everywhere. https://iceberg.apache.org/spec/#scan-planning"""
    partitions = PartitionSet.of([*added, *removed])
    whole = _replace_all(metadata, added)

    def test(file: DataFile) -> bool:
        is_global = file.content is FileContent.EQUALITY_DELETES and metadata.spec(file.spec_id).is_unpartitioned
        return whole or is_global or partitions.holds(file)

    return test


def _replace_all(metadata: TableMetadata, files: Sequence[DataFile]) -> bool:
    """Whether files without a partition replace the table whole."""
    return any(metadata.spec(file.spec_id).is_unpartitioned for file in files)
