"""The engine of one process: reads and writes the rows of a group with Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from msgspec import structs
from pyroaring import BitMap64

from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.columns.z_order import z_order_indices
from floeberg.arrow.formats.io import remove
from floeberg.arrow.scan.execute import TableReader, table_reader
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.pointer import TablePointer
from floeberg.expr.nodes import TRUE
from floeberg.files.deletion_vector import bitmap_of
from floeberg.maintenance.rewrite.engine import RewritePlan, RewrittenGroup, SourceRows
from floeberg.maintenance.rewrite.file_groups import FileGroup
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.metadata_columns import IS_DELETED, ROW_POSITION
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile

_POSITION_AND_DELETED: Final = Schema(ROW_POSITION, IS_DELETED)


@dataclass(frozen=True, slots=True)
class ArrowEngine:
    """Binpacking streams; sorting holds the rows of a group in memory."""

    pointer: TablePointer

    @property
    def runs_groups_at_once(self) -> bool:
        return False

    def rewrite(self, group: FileGroup, plan: RewritePlan) -> RewrittenGroup:
        metadata, pointer = plan.metadata, self.pointer
        writer = TableWriter(metadata, pointer.store_for, pointer.effects.ids.uuid())
        reader = table_reader(metadata, metadata.current_schema, store_for=pointer.store_for)
        rows = _GroupRows(group, reader, writer.rewritten_schema)
        try:
            files = _write(rows, writer, group, plan)
        except BaseException:
            writer.discard()
            raise
        one_partition = len({file.partition for file in files}) <= 1
        ordered = plan.layout.keeps_order and group.partition is not None and one_partition
        return RewrittenGroup(group=group, files=tuple(files), sources=tuple(rows.sources) if ordered else None)

    def deleted_positions(self, tasks: Sequence[FileScanTask], metadata: TableMetadata) -> dict[str, BitMap64]:
        reader = table_reader(metadata, metadata.current_schema, store_for=self.pointer.store_for)
        return {task.data_file.file_path: found for task in tasks if (found := positions_of_deleted_rows(task, reader))}

    def discard(self, files: Sequence[DataFile]) -> None:
        for file in files:
            remove(self.pointer.store_for(file.file_path), file.file_path)


def positions_of_deleted_rows(task: FileScanTask, reader: TableReader) -> BitMap64:
    """The positions of the rows of a data file that its deletes delete."""
    found = BitMap64()
    for batch in reader.rows(task, _POSITION_AND_DELETED, residual=TRUE):
        found |= bitmap_of(batch.column(0).filter(batch.column(1)).to_numpy(zero_copy_only=False))
    return found


class _GroupRows:
    """The live rows of a group, file by file; `sources` knows what was read so far."""

    def __init__(self, group: FileGroup, reader: TableReader, schema: Schema) -> None:
        self._group = group
        self._reader = reader
        self.schema = schema
        self.sources: list[SourceRows] = []

    def batches(self) -> Iterator[pa.RecordBatch]:
        columns = range(len(self.schema.fields))
        with_position = Schema(*self.schema.fields, ROW_POSITION)
        for task in self._group.tasks:
            live = BitMap64()
            for batch in self._reader.rows(task, with_position, residual=TRUE):
                live |= bitmap_of(batch.column(len(columns)).to_numpy(zero_copy_only=False))
                yield batch.select(columns)
            self.sources.append(SourceRows(task.data_file.file_path, live))

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(arrow_schema(self.schema), self.batches())


def _write(rows: _GroupRows, writer: TableWriter, group: FileGroup, plan: RewritePlan) -> list[DataFile]:
    layout, metadata = plan.layout, plan.metadata
    out = writer.rewriter(
        spec=metadata.spec(plan.options.output_spec_id),
        sort_order=layout.sort_order,
        target_file_bytes=plan.options.sizes.roll_bytes(group.size_bytes),
    )
    if layout.z_order_ids:
        table = rows.reader().read_all()
        most = plan.options.variable_length_bytes
        out.write(table.take(z_order_indices(table, rows.schema, layout.z_order_ids, variable_length_bytes=most)))
    else:
        out.write(rows.reader())
    return [structs.replace(file, sort_order_id=layout.sort_order_id) for file in writer.finish(out)]
