"""What a planned changelog is made of: data files as they were before a snapshot and are after it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from floeberg.expr.nodes import Expression
from floeberg.scan.tasks import DeleteFile, FileScanTask
from floeberg.spec.snapshots.manifest_entry import DataFile


class ChangeType(StrEnum):
    """What happened to a row: the values of `_change_type`."""

    INSERT = "INSERT"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogTask:
    """A data file as it was before a snapshot and is after it: the deletes that apply, or None where it is not there."""

    change_ordinal: int
    commit_snapshot_id: int
    data_file: DataFile
    data_sequence_number: int
    file_sequence_number: int | None
    before: tuple[DeleteFile, ...] | None
    after: tuple[DeleteFile, ...] | None
    residual: Expression

    @property
    def change_types(self) -> tuple[ChangeType, ...]:
        """What changes there can be."""
        if self.before is None:
            return (ChangeType.INSERT,)
        return (ChangeType.DELETE,) if self.after is None else (ChangeType.DELETE, ChangeType.INSERT)

    def reading(self, deletes: tuple[DeleteFile, ...]) -> FileScanTask:
        """The scan of the file's rows that these deletes leave."""
        return FileScanTask(
            data_file=self.data_file,
            data_sequence_number=self.data_sequence_number,
            file_sequence_number=self.file_sequence_number,
            deletes=deletes,
            residual=self.residual,
        )
