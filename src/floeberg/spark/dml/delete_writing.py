"""Deletes for the touched rows of files: deletion vectors from v3 on, position delete files before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyroaring import BitMap64

from floeberg.arrow.row_level import DELETE_GRANULARITY, RowChange
from floeberg.arrow.table_writer import TableWriter
from floeberg.arrow.write_deletes import DeletedFile
from floeberg.errors import InvalidInput
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.dml.target import ChangedTable
from floeberg.spark.read.arrow_scan import table_files


def write_deletes(
    target: ChangedTable,
    tasks: Sequence[FileScanTask],
    positions: Mapping[str, BitMap64],
    *,
    writer: TableWriter,
    change: RowChange,
) -> None:
    """Writes deletes under each data file's own spec and partition, and notes them in the change."""
    if not positions:
        return
    change.referenced = set(positions)
    by_path = {task.data_file.file_path: task for task in tasks}
    if target.metadata.format_version > 2:
        _write_vectors(target, by_path, positions, writer=writer, change=change)
    else:
        _write_position_deletes(target, by_path, positions, writer=writer, change=change)


def _write_vectors(
    target: ChangedTable,
    by_path: Mapping[str, FileScanTask],
    positions: Mapping[str, BitMap64],
    *,
    writer: TableWriter,
    change: RowChange,
) -> None:
    """A data file has one vector at most: the new one takes in what was deleted of the file by position before."""
    reader = table_files(target.table, target.schema).reader()
    merged: dict[DeletedFile, BitMap64] = {}
    for path, found in positions.items():
        task = by_path[path]
        older = reader.deletes(task).positions
        merged[_deleted(task)] = found if older is None else found | older
        change.removed_deletes += [delete.file for delete in task.deletes if delete.file.referenced_data_file == path]
    change.added += writer.write_vectors(merged)


def _write_position_deletes(
    target: ChangedTable,
    by_path: Mapping[str, FileScanTask],
    positions: Mapping[str, BitMap64],
    *,
    writer: TableWriter,
    change: RowChange,
) -> None:
    granularity = target.metadata.properties.get(DELETE_GRANULARITY, "file")
    if granularity not in ("file", "partition"):
        raise InvalidInput(f"table property {DELETE_GRANULARITY} is file or partition, not {granularity!r:.60}")
    groups: dict[object, dict[DeletedFile, BitMap64]] = {}
    for path, found in positions.items():
        deleted = _deleted(by_path[path])
        key = path if granularity == "file" else (deleted.spec_id, repr(deleted.partition))
        groups.setdefault(key, {})[deleted] = found
    change.added += [writer.write_position_deletes(group) for group in groups.values()]


def _deleted(task: FileScanTask) -> DeletedFile:
    file = task.data_file
    return DeletedFile(file_path=file.file_path, spec_id=file.spec_id, partition=file.partition)
