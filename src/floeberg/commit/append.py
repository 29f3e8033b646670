"""Appends: new data files, nothing looked at and nothing to conflict with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floeberg.commit.operation import Target
from floeberg.commit.producer import SnapshotChange, produce_snapshot
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.spec.data_file import DataFile, FileContent
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.updates import MetadataUpdate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Append:
    """Adds data files. `merge` joins small manifests as the table's properties ask; without it the commit is quickest
    and the manifest list grows (a fast append)."""

    files: Sequence[DataFile]
    target: Target = Target()
    merge: bool = True

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        for file in self.files:
            if file.content is not FileContent.DATA:
                raise InvalidInput(
                    f"table {workspace.identifier}: an append takes data files, {file.file_path} holds deletes"
                )
        return produce_snapshot(
            base,
            workspace,
            key=self,
            target=self.target,
            change=SnapshotChange(added=self.files, operation="append", merge=self.merge),
        )
