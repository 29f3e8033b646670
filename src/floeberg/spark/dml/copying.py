"""Copy-on-write: a worker copies the rows that stay from file to file; they never pass through Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyroaring import BitMap64

from floeberg.files.deletion_vector import encode_deletion_vector
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.dml.target import ChangedTable
from floeberg.spark.dml.target_scan import KeptRows, group_numbers, kept_rows_reader
from floeberg.spark.write.job import WriterTask, run_writers, writer_task
from floeberg.spec.snapshots.manifest_entry import DataFile


def may_be_copied(target: ChangedTable, tasks: Sequence[FileScanTask]) -> bool:
    """Whether rows can be copied from file to file as they are: the table has no sort order, and every row stays in its
    partition. Otherwise they are distributed and sorted like new ones."""
    spec_id = target.write_options.spec_id
    same_spec = all(task.data_file.spec_id == spec_id for task in tasks)
    return same_spec and target.metadata.default_sort_order.is_unsorted


def copy_kept_rows(
    target: ChangedTable, tasks: Sequence[FileScanTask], positions: Mapping[str, BitMap64]
) -> list[DataFile]:
    """New files with the live rows of tasks except those at the positions."""
    touched = {path: encode_deletion_vector(found) for path, found in positions.items()}
    # Files of one partition are neighbours, so that their rows end up in one file.
    by_partition = sorted(tasks, key=lambda task: repr(task.data_file.partition))
    reader = kept_rows_reader(
        target.table, by_partition, target.schema, projection=target.written_schema, touched=touched
    )
    writer = writer_task(target.table, options=target.write_options, schema=target.written_schema)
    return run_writers(group_numbers(target.spark, reader), target.table, writer, Copying(reader, writer))


@dataclass(frozen=True, slots=True)
class Copying:
    """Reads and writes in one worker. It is serialized to the workers."""

    reader: KeptRows
    writer: WriterTask

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.writer(self.reader.rows(batches))
