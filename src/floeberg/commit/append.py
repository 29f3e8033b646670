"""Appends: new data files. An append reads nothing, so it conflicts with nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floeberg.commit.history import APPEND
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.producer import SnapshotChange, produce_snapshot
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Append:
    """Adds data files. `merge` merges small manifests as the table's properties say; without it the commit is faster and the
    manifest list grows (a fast append)."""

    files: Sequence[DataFile]
    target: SnapshotTarget = SnapshotTarget()
    merge: bool = True

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        only_data(self.files, workspace.identifier, what="an append")
        return produce_snapshot(
            base,
            workspace,
            key=self,
            target=self.target,
            change=SnapshotChange(operation=APPEND, added=self.files, merge=self.merge),
        )


def only_data(files: Sequence[DataFile], identifier: str, *, what: str) -> None:
    """Raises InvalidInput when one of the files holds deletes."""
    for file in files:
        if file.content is not FileContent.DATA:
            raise InvalidInput(f"table {identifier}: {what} takes data files, {file.file_path} holds deletes")
