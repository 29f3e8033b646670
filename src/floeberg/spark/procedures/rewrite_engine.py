"""The rewrite engine on Spark: rows go from file to file within a worker, or through a shuffle where they are sorted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec import structs
from pyroaring import BitMap64

from floeberg.arrow.formats.io import remove
from floeberg.arrow.formats.write_properties import TARGET_FILE_SIZE
from floeberg.arrow.scan.execute import read_tasks
from floeberg.catalogs.base import LoadedTable
from floeberg.expr.nodes import TRUE
from floeberg.files.deletion_vector import decode_deletion_vector, encode_deletion_vector
from floeberg.maintenance.rewrite.arrow_engine import ArrowEngine, positions_of_deleted_rows
from floeberg.maintenance.rewrite.engine import RewritePlan, RewrittenGroup
from floeberg.maintenance.rewrite.file_groups import FileGroup
from floeberg.scan.splits import SplitOptions, group_tasks, split_task
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.host.calls.active_session import in_own_session
from floeberg.spark.read.arrow_scan import arrow_frame, table_files
from floeberg.spark.workers.check import check_workers
from floeberg.spark.workers.in_workers import collect_from_workers
from floeberg.spark.workers.scan import TableFiles
from floeberg.spark.workers.stores import WorkerStores
from floeberg.spark.write.distribution import ZOrder, distributed
from floeberg.spark.write.job import WriterTask, run_writers, writer_task
from floeberg.spark.write.options import DistributionMode, WriteOptions
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.sort_orders import UNSORTED
from floeberg.spec.schemas.metadata_columns import with_row_lineage
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.spec.snapshots.row_lineage import ROW_LINEAGE_VERSION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Each group is a Spark job. A store that only this process reaches is rewritten here."""

    spark: SparkSession
    table: LoadedTable

    @property
    def runs_groups_at_once(self) -> bool:
        return True

    @in_own_session
    def rewrite(self, group: FileGroup, plan: RewritePlan) -> RewrittenGroup:
        table = LoadedTable(self.table.pointer, replace(self.table.state, metadata=plan.metadata))
        files = table_files(table, plan.metadata.current_schema)
        if not isinstance(files.stores.stores, WorkerStores):
            return ArrowEngine(self.table.pointer).rewrite(group, plan)
        write = _Write(self.spark, table, files, group, plan)
        written = write.copied() if plan.layout.keeps_order else write.sorted()
        order_id = plan.layout.sort_order_id
        return RewrittenGroup(group=group, files=tuple(structs.replace(one, sort_order_id=order_id) for one in written))

    @in_own_session
    def deleted_positions(self, tasks: Sequence[FileScanTask], metadata: TableMetadata) -> dict[str, BitMap64]:
        table = LoadedTable(self.table.pointer, replace(self.table.state, metadata=metadata))
        files = table_files(table, metadata.current_schema)
        if not tasks or not isinstance(files.stores.stores, WorkerStores):
            return ArrowEngine(self.table.pointer).deleted_positions(tasks, metadata)
        check_workers(self.spark)
        groups = tuple(group_tasks(tasks, SplitOptions.of(metadata.properties)))
        numbers = self.spark.range(0, len(groups), 1, len(groups))
        found: dict[str, BitMap64] = {}
        for row in collect_from_workers(numbers, DeletedRowFinder(files, groups), "path string, positions binary"):
            positions = decode_deletion_vector(bytes(row.positions))
            found[row.path] = found[row.path] | positions if row.path in found else positions
        return found

    def discard(self, files: Sequence[DataFile]) -> None:
        for file in files:
            remove(self.table.pointer.store_for(file.file_path), file.file_path)


@dataclass(frozen=True, slots=True)
class _Write:
    """One group on its way to new files."""

    spark: SparkSession
    table: LoadedTable
    files: TableFiles
    group: FileGroup
    plan: RewritePlan

    def copied(self) -> list[DataFile]:
        """Rows in the order of their files, copied by as many tasks as there are to be files."""
        parts = tuple(_parts(self.group, self.plan))
        writer = self._writer()
        work = CopiedRows(self.files, parts, writer)
        return run_writers(self.spark.range(0, len(parts), 1, len(parts)), self.table, writer, work)

    def sorted(self) -> list[DataFile]:
        metadata, options, layout = self.plan.metadata, self.plan.options, self.plan.layout
        writer = self._writer()
        tasks = [structs.replace(task, residual=TRUE) for task in self.group.tasks]
        splits = SplitOptions.of(metadata.properties)
        frame = arrow_frame(self.spark, tasks, self.files, writer.schema, splits=splits, exact=True)
        z_order = ZOrder(field_ids=layout.z_order_ids, variable_length_bytes=options.variable_length_bytes)
        size = int(self.group.size_bytes * options.compression_factor)
        rows = distributed(
            frame,
            schema=writer.schema,
            spec=writer.spec,
            order=layout.sort_order,
            mode=DistributionMode.RANGE,
            fanout=False,
            tasks=options.sizes.file_count(size) * options.shuffle_partitions_per_file,
            z_order=z_order if layout.z_order_ids else None,
        )
        if options.shuffle_partitions_per_file > 1:
            rows = rows.coalesce(options.sizes.file_count(size))
        return run_writers(rows, self.table, writer)

    def _writer(self) -> WriterTask:
        metadata, options = self.plan.metadata, self.plan.options
        target = options.sizes.roll_bytes(self.group.size_bytes)
        write_options = WriteOptions(
            properties={**metadata.properties, TARGET_FILE_SIZE: str(target)},
            distribution=DistributionMode.NONE,
            fanout=self.plan.layout.keeps_order,
            spec_id=options.output_spec_id,
        )
        task = writer_task(self.table, options=write_options, schema=written_schema(self.plan))
        return replace(task, sort_order=UNSORTED)


def written_schema(plan: RewritePlan) -> Schema:
    """The columns of rewritten files: with row lineage where the table has it."""
    schema = plan.metadata.current_schema
    return with_row_lineage(schema) if plan.metadata.format_version >= ROW_LINEAGE_VERSION else schema


def _parts(group: FileGroup, plan: RewritePlan) -> Iterator[tuple[FileScanTask, ...]]:
    """The group's files, cut where they may be cut, as one run of about the same size for each new file."""
    size = -(-group.size_bytes // plan.options.sizes.file_count(group.size_bytes))
    part: list[FileScanTask] = []
    filled = 0
    for whole in group.tasks:
        for task in split_task(structs.replace(whole, residual=TRUE), max(1, size)):
            length = task.data_file.file_size_in_bytes if task.length is None else task.length
            if part and filled + length // 2 > size:
                yield tuple(part)
                part, filled = [], 0
            part.append(task)
            filled += length
    yield tuple(part)


@dataclass(frozen=True, slots=True)
class DeletedRowFinder:
    """Finds the deleted rows of groups of files; each number that comes in is that of a group. Travels to the workers."""

    table: TableFiles
    groups: tuple[tuple[FileScanTask, ...], ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = self.table.reader()
        schema = pa.schema([("path", pa.string()), ("positions", pa.binary())])
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for task in self.groups[number]:
                    if found := positions_of_deleted_rows(task, reader):
                        row = {"path": task.data_file.file_path, "positions": encode_deletion_vector(found)}
                        yield pa.RecordBatch.from_pylist([row], schema=schema)


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """Reads and writes in one worker; each number that comes in is that of a part. Travels there."""

    table: TableFiles
    parts: tuple[tuple[FileScanTask, ...], ...]
    writer: WriterTask

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.writer(self._rows(batches))

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = self.table.reader()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_tasks(self.parts[number], reader, self.writer.schema, threads=2)
