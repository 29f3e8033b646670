"""The tasks of a planned scan: a file, the deletes that apply to it, and the residual filter."""

from __future__ import annotations

from msgspec import Struct

from floeberg.expr.nodes import Expression
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent


class DeleteFile(Struct, frozen=True, gc=False):
    """A delete file or deletion vector that applies to a data file, with its data sequence number."""

    file: DataFile
    data_sequence_number: int


class FileScanTask(Struct, frozen=True, kw_only=True, gc=False):
    """One data file, or a part of it, to be read.

    `residual` is bound to the scan's schema: the part of the filter that the file's partition does not already prove.
    `start` and `length` are bytes of the file; a part holds the row groups or blocks that begin in it.
    """

    data_file: DataFile
    data_sequence_number: int
    file_sequence_number: int | None
    deletes: tuple[DeleteFile, ...] = ()
    residual: Expression
    start: int = 0
    length: int | None = None

    @property
    def first_row_id(self) -> int | None:
        return self.data_file.first_row_id

    @property
    def deletion_vector(self) -> DeleteFile | None:
        return next((d for d in self.deletes if d.file.is_deletion_vector), None)

    @property
    def position_deletes(self) -> tuple[DeleteFile, ...]:
        return tuple(
            d for d in self.deletes if d.file.content is FileContent.POSITION_DELETES and not d.file.is_deletion_vector
        )

    @property
    def equality_deletes(self) -> tuple[DeleteFile, ...]:
        return tuple(d for d in self.deletes if d.file.content is FileContent.EQUALITY_DELETES)
