"""Deletes of rows by position: deletion vectors from v3 on, position delete files on v2.
https://iceberg.apache.org/spec/#row-level-deletes"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import structs
from pyroaring import BitMap64

from floeberg.arrow.changes.row_level import DeletedRows
from floeberg.arrow.scan.execute import TableReader
from floeberg.arrow.write.delete_files import DeletedFile
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.delete_scope import single_referenced_path
from floeberg.row_changes.policy import DeleteGranularity, delete_granularity
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent


@dataclass(slots=True)
class WrittenDeletes:
    """New delete files, and the older ones that they replace."""

    added: list[DataFile] = field(default_factory=list)
    removed: list[DataFile] = field(default_factory=list)


def write_deletes(deleted: Sequence[DeletedRows], *, reader: TableReader, writer: TableWriter) -> WrittenDeletes:
    """Writes deletes under each data file's own spec and partition, whatever the table's spec is now.

    New deletes replace older ones that are for the same data file alone, so that a data file has one deletion vector at
    most (v3), and position delete files do not pile up (v2).
    """
    if not deleted:
        return WrittenDeletes()
    if writer.metadata.format_version > 2:
        return _write_vectors(deleted, reader, writer)
    if delete_granularity(writer.metadata) is DeleteGranularity.FILE:
        return _write_by_file(deleted, reader, writer)
    return _write_by_partition(deleted, writer)


def _write_vectors(deleted: Sequence[DeletedRows], reader: TableReader, writer: TableWriter) -> WrittenDeletes:
    """The new vector holds all positions that were deleted before, whichever delete file holds them."""
    written = WrittenDeletes()
    merged: dict[DeletedFile, BitMap64] = {}
    for rows in deleted:
        merged[_deleted_file(rows.task)] = _merge(rows.positions, reader.deletes(rows.task).positions)
        written.removed += replaced_deletes(rows.task)
    written.added += writer.write_vectors(merged)
    return written


def _write_by_file(deleted: Sequence[DeletedRows], reader: TableReader, writer: TableWriter) -> WrittenDeletes:
    """One delete file for each data file. Deletes of a whole partition stay: they are for other data files too."""
    written = WrittenDeletes()
    for rows in deleted:
        replaced = replaced_deletes(rows.task)
        older = [delete for delete in rows.task.deletes if delete.file in replaced]
        positions = _merge(rows.positions, reader.deletes(structs.replace(rows.task, deletes=tuple(older))).positions)
        written.added.append(writer.write_position_deletes({_deleted_file(rows.task): positions}))
        written.removed += replaced
    return written


def _write_by_partition(deleted: Sequence[DeletedRows], writer: TableWriter) -> WrittenDeletes:
    """One delete file for each partition; older deletes stay beside it."""
    groups: dict[object, dict[DeletedFile, BitMap64]] = {}
    for rows in deleted:
        file = _deleted_file(rows.task)
        groups.setdefault((file.spec_id, repr(file.partition)), {})[file] = rows.positions
    return WrittenDeletes(added=[writer.write_position_deletes(group) for group in groups.values()])


def replaced_deletes(task: FileScanTask) -> list[DataFile]:
    """The task's position deletes that are for its data file alone, which a new one for that file replaces."""
    path = task.data_file.file_path
    return [
        delete.file
        for delete in task.deletes
        if delete.file.content is FileContent.POSITION_DELETES and single_referenced_path(delete.file) == path
    ]


def _merge(newer: BitMap64, older: BitMap64 | None) -> BitMap64:
    return newer if older is None else newer | older


def _deleted_file(task: FileScanTask) -> DeletedFile:
    file = task.data_file
    return DeletedFile(file_path=file.file_path, spec_id=file.spec_id, partition=file.partition)
