"""The job that writes the deletes of a large change: workers merge them with what was deleted before, and write deletion
vectors or position delete files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import pyarrow as pa
from msgspec import structs
from pyroaring import BitMap64
from pyspark import TaskContext

from floeberg.arrow.changes.row_level import DeletedRows
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.files.data_file_wire import decode_data_file, encode_data_file
from floeberg.row_changes.deletes import WrittenDeletes, replaced_deletes, write_deletes
from floeberg.row_changes.policy import DeleteGranularity, delete_granularity
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.dml.target import ChangedTable
from floeberg.spark.dml.target_scan import lean_task
from floeberg.spark.workers.scan import TableFiles
from floeberg.spark.workers.stores import WorkerStores
from floeberg.spark.write.job import RESULT_SCHEMA, run_work
from floeberg.spec.json.documents import Documents
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.spec.snapshots.snapshot import METADATA_LOG, SNAPSHOT_LOG
from floeberg.spec.snapshots.snapshot_list import SnapshotList
from floeberg.spec.types import StructType

MAX_DRIVER_BYTES: Final = 8 << 20
"""Deleted positions with more bytes than this in total are written by workers."""
MAX_DRIVER_READS: Final = 512
"""Where more data files than this have older deletes to merge, workers read them."""
_NO_PARTITION: Final = StructType(())
_RESULT: Final = pa.schema([pa.field("file", pa.binary())])


def deletes_are_large(deleted: Sequence[DeletedRows], metadata: TableMetadata, files: TableFiles) -> bool:
    """Whether workers are to write the deletes. A delete file for a whole partition is written in one piece, by the driver,
    and so are those of stores that live in this process alone."""
    if metadata.format_version <= 2 and delete_granularity(metadata) is DeleteGranularity.PARTITION:
        return False
    if not isinstance(files.stores.stores, WorkerStores):
        return False
    older = sum(bool(rows.task.deletes) for rows in deleted)
    return older > MAX_DRIVER_READS or sum(_stored_bytes(rows.positions) for rows in deleted) > MAX_DRIVER_BYTES


def _stored_bytes(positions: BitMap64) -> int:
    """About as many as a serialized bitmap has, at most: two for each position, or a bit for each row."""
    return min(2 * len(positions), int(positions.max()) // 8 if positions else 0)


def write_deletes_in_workers(target: ChangedTable, deleted: Sequence[DeletedRows], files: TableFiles) -> WrittenDeletes:
    """Writes deletes as `write_deletes` does. What was written is removed when the job fails."""
    by_path = {rows.task.data_file.file_path: rows for rows in deleted}  # a table may have a file twice
    tasks = {path: rows.task for path, rows in by_path.items()}
    work = DeleteTask(
        files=files,
        metadata=_without_history(target.metadata),
        tasks={path: lean_task(task) for path, task in tasks.items()},
        write_id=target.table.pointer.effects.ids.uuid(),
    )
    content = pa.array((rows.positions.serialize() for rows in by_path.values()), pa.binary(), size=len(by_path))
    frame = target.spark.createDataFrame(pa.table({"file": list(tasks), "content": content}))
    found = run_work(frame, target.table, work, work, RESULT_SCHEMA)
    return WrittenDeletes(
        added=[_described(bytes(row.file), tasks) for row in found],
        removed=[file for task in tasks.values() for file in replaced_deletes(task)],
    )


def _described(content: bytes, tasks: Mapping[str, FileScanTask]) -> DataFile:
    """A delete file that a worker wrote, under the partition of its data file."""
    file = decode_data_file(content, _NO_PARTITION)
    return structs.replace(file, partition=tasks[file.referenced_data_file or ""].data_file.partition)


def _without_history(metadata: TableMetadata) -> TableMetadata:
    """What a writer needs of a table's metadata."""
    return replace(
        metadata,
        snapshots=SnapshotList(),
        current_snapshot_id=None,
        refs={},
        snapshot_log=Documents(SNAPSHOT_LOG),
        metadata_log=Documents(METADATA_LOG),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTask:
    """Writes the deletes of the data files that come in, with their positions. It is serialized to the workers."""

    files: TableFiles
    metadata: TableMetadata
    tasks: Mapping[str, FileScanTask]
    write_id: UUID

    @property
    def location(self) -> str:
        return self.metadata.location

    @property
    def properties(self) -> Mapping[str, str]:
        return self.metadata.properties

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        number = 0 if context is None else context.taskAttemptId()
        writer = TableWriter(self.metadata, self.files.stores.store_for, self.write_id, task=number)
        reader = self.files.reader()
        try:
            for batch in batches:
                deleted = [
                    DeletedRows(self.tasks[path.as_py()], BitMap64.deserialize(content.as_py()))
                    for path, content in zip(*batch.columns, strict=True)
                ]
                added = write_deletes(deleted, reader=reader, writer=writer).added
                described = [encode_data_file(structs.replace(file, partition=()), _NO_PARTITION) for file in added]
                yield pa.RecordBatch.from_arrays([pa.array(described, pa.binary())], schema=_RESULT)
        except BaseException:
            writer.discard()
            raise
