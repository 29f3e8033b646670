"""Equality deletes converted: the rows that they delete are found once and deleted by position from then on."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from floeberg.arrow.changes.row_level import DeletedRows
from floeberg.arrow.scan.execute import TableReader
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.maintenance.rewrite.engine import RewriteEngine
from floeberg.row_changes.deletes import WrittenDeletes, write_deletes
from floeberg.scan.tasks import DeleteFile, FileScanTask
from floeberg.spec.snapshots.manifest_entry import DataFile


def converted_deletes(
    tasks: Sequence[FileScanTask],
    equality: Sequence[DataFile],
    *,
    reader: TableReader,
    writer: TableWriter,
    engine: RewriteEngine,
) -> WrittenDeletes:
    """Deletes by position of all rows that the equality deletes delete, and what they replace. `tasks` are all data files
    with deletes, so that no row of another file comes back when the equality deletes go."""
    if not equality:
        return WrittenDeletes()
    wanted = {file.identity for file in equality}
    touched = []
    for task in tasks:
        own = tuple(one for one in task.deletes if one.file.identity in wanted)
        if own:
            touched.append((task, structs.replace(task, deletes=(*own, *task.position_deletes, *_vector(task)))))
    positions = engine.deleted_positions([reduced for _, reduced in touched], writer.metadata)
    deleted = [DeletedRows(task, found) for task, _ in touched if (found := positions.get(task.data_file.file_path))]
    written = write_deletes(deleted, reader=reader, writer=writer)
    return WrittenDeletes(added=written.added, removed=[*equality, *written.removed])


def _vector(task: FileScanTask) -> tuple[DeleteFile, ...]:
    return () if task.deletion_vector is None else (task.deletion_vector,)
