"""Finds and writes the rows of a change: copy-on-write writes the rows that stay to new files, merge-on-read finds the
positions of rows to delete. Only rows for which the condition is TRUE are touched; deleted rows stay deleted; on tables
with lineage a row keeps its id, and an updated row takes the sequence number of the commit.
https://iceberg.apache.org/spec/#row-level-deletes, https://iceberg.apache.org/spec/#row-lineage"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from floeberg.arrow.columns.filter import filter_mask
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.scan.execute import NO_COLUMNS, TableReader
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.expr.metrics_eval import must_all_match
from floeberg.expr.nodes import TRUE, AlwaysTrue
from floeberg.files.deletion_vector import bitmap_of
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.schemas.metadata_columns import LAST_UPDATED_SEQUENCE_NUMBER, ROW_POSITION
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile

Mask = npt.NDArray[np.bool_]


@dataclass(slots=True)
class RowCounts:
    """What was done to rows; `deleted` is None when files went whole whose live rows nobody counted."""

    deleted: int | None = 0
    updated: int = 0
    copied: int = 0
    inserted: int = 0

    def summary(self) -> dict[str, str]:
        """As keys of a snapshot's summary; what was not done is left out."""
        counts = {
            "rows-deleted": self.deleted,
            "rows-updated": self.updated,
            "rows-copied": self.copied,
            "rows-inserted": self.inserted,
        }
        return {key: str(number) for key, number in counts.items() if number}

    def delete(self, rows: int | None) -> None:
        self.deleted = None if rows is None or self.deleted is None else self.deleted + rows


@dataclass(frozen=True, slots=True, eq=False)
class DeletedRows:
    """Rows of one data file that are deleted or replaced, by position."""

    task: FileScanTask
    positions: BitMap64


@dataclass(slots=True)
class FoundRows:
    """What an engine found for a change of rows, and wrote. Its deletes are not written yet."""

    written: list[DataFile] = field(default_factory=list)
    """New data files."""
    replaced: list[DataFile] = field(default_factory=list)
    """Removed data files: all their live rows are deleted, or rewritten."""
    deleted: list[DeletedRows] = field(default_factory=list)
    """Rows of files that stay."""
    counts: RowCounts = field(default_factory=RowCounts)


class Update(Protocol):
    """How a change updates the rows that it touches."""

    def touched(self, batch: pa.RecordBatch, schema: Schema, task: FileScanTask) -> Mask:
        """Which live rows of a batch (of the task's file, without its residual applied) the change touches."""
        ...

    def updated(self, rows: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
        """The new versions of touched rows, in the same columns."""
        ...

    @property
    def columns(self) -> Schema:
        """The columns that tell which rows are touched."""
        ...


class RowLevelEngine:
    """One change of rows of one table. Tasks come with metrics, so that files that match whole are known."""

    def __init__(self, reader: TableReader, writer: TableWriter, *, merge_on_read: bool) -> None:
        self._reader = reader
        self._writer = writer
        self._merge_on_read = merge_on_read
        self._schema = writer.rewritten_schema
        self._data: RollingWriter | None = None

    def delete(self, tasks: Iterable[FileScanTask]) -> FoundRows:
        """Deletes the rows for which the tasks' residuals are true."""
        found = FoundRows()
        for task in tasks:
            if must_all_match(task.residual, task.data_file):
                found.replaced.append(task.data_file)
                found.counts.delete(None if task.deletes else task.data_file.record_count)
            elif self._merge_on_read:
                self._delete_merge_on_read(task, found)
            else:
                self._copy_without(task, found)
        return self._finished(found)

    def update(
        self, tasks: Iterable[FileScanTask], update: Update, *, then: Callable[[], pa.Table | None] | None = None
    ) -> FoundRows:
        """Updates the rows that `update` touches; `then` gives the rows to insert, called when all files were read."""
        found = FoundRows()
        for task in tasks:
            if self._merge_on_read:
                self._update_merge_on_read(task, update, found)
            else:
                self._copy_updated(task, update, found)
        rows = None if then is None else then()
        if rows is not None and rows.num_rows:
            self._out.write(rows)
            found.counts.inserted += rows.num_rows
        return self._finished(found)

    @property
    def _out(self) -> RollingWriter:
        if self._data is None:
            self._data = self._writer.data_writer(with_lineage=self._writer.has_lineage)
        return self._data

    # copy-on-write

    def _copy_without(self, task: FileScanTask, found: FoundRows) -> None:
        matched = sum(batch.num_rows for batch in self._reader.rows(task, NO_COLUMNS))
        if not matched:
            return
        kept = 0

        def rest() -> Iterator[pa.RecordBatch]:
            nonlocal kept
            for batch in self._reader.rows(task, self._schema, residual=TRUE):
                left = batch.filter(pa.array(~_true_rows(task, batch, self._schema)))
                kept += left.num_rows
                yield left

        self._write(rest())
        found.replaced.append(task.data_file)
        found.counts.delete(matched)
        found.counts.copied += kept

    def _copy_updated(self, task: FileScanTask, update: Update, found: FoundRows) -> None:
        if not any(
            update.touched(batch, update.columns, task).any() for batch in self._reader.rows(task, update.columns)
        ):
            return

        def rows() -> Iterator[pa.RecordBatch]:
            for batch in self._reader.rows(task, self._schema, residual=TRUE):
                touched = update.touched(batch, self._schema, task)
                found.counts.updated += int(touched.sum())
                found.counts.copied += int((~touched).sum())
                yield _replaced(batch, touched, self._changed(batch.filter(pa.array(touched)), update))

        self._write(rows())
        found.replaced.append(task.data_file)

    def _changed(self, rows: pa.RecordBatch, update: Update) -> pa.RecordBatch:
        """New versions of updated rows: they keep their row ids, and a null `_last_updated_sequence_number` makes them
        inherit the commit's."""
        changed = update.updated(rows, self._schema)
        if not self._writer.has_lineage:
            return changed
        at = changed.schema.get_field_index(LAST_UPDATED_SEQUENCE_NUMBER.name)
        return changed.set_column(at, changed.schema.field(at), pa.nulls(changed.num_rows, pa.int64()))

    def _write(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._out.write(pa.RecordBatchReader.from_batches(arrow_schema(self._schema), batches))

    # merge-on-read

    def _delete_merge_on_read(self, task: FileScanTask, found: FoundRows) -> None:
        positions = BitMap64()
        for batch in self._reader.rows(task, Schema(ROW_POSITION)):
            positions |= bitmap_of(batch.column(0).to_numpy(zero_copy_only=False))
        if positions:
            found.deleted.append(DeletedRows(task, positions))
            found.counts.delete(len(positions))

    def _update_merge_on_read(self, task: FileScanTask, update: Update, found: FoundRows) -> None:
        positions = BitMap64()
        schema = Schema(*self._schema.fields, ROW_POSITION)

        def rows() -> Iterator[pa.RecordBatch]:
            nonlocal positions
            for batch in self._reader.rows(task, schema):
                touched = batch.filter(pa.array(update.touched(batch, schema, task)))
                positions |= bitmap_of(touched.column(len(self._schema.fields)).to_numpy(zero_copy_only=False))
                yield self._changed(touched.select(range(len(self._schema.fields))), update)

        self._write(rows())
        if positions:
            found.deleted.append(DeletedRows(task, positions))
            found.counts.updated += len(positions)

    def _finished(self, found: FoundRows) -> FoundRows:
        if self._data is not None:
            found.written += self._writer.finish(self._data)
        return found


def _true_rows(task: FileScanTask, batch: pa.RecordBatch, schema: Schema) -> Mask:
    """The rows for which the task's residual is true; null is not."""
    if isinstance(task.residual, AlwaysTrue):
        return np.ones(batch.num_rows, dtype=np.bool_)
    mask: Mask = filter_mask(task.residual, batch, schema).fill_null(False).to_numpy(zero_copy_only=False)
    return mask


def _replaced(batch: pa.RecordBatch, touched: Mask, changed: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with its touched rows replaced, in its order."""
    if not touched.any():
        return batch
    if touched.all():
        return changed
    order = np.empty(len(touched), dtype=np.int64)
    order[~touched] = np.arange(len(touched) - changed.num_rows)
    order[touched] = np.arange(len(touched) - changed.num_rows, len(touched))
    kept = batch.filter(pa.array(~touched))
    both = pa.Table.from_batches([kept, changed]).combine_chunks()
    return both.take(pa.array(order)).combine_chunks().to_batches()[0]


class Assignments:
    """An update that sets columns of the rows for which the tasks' residuals are true."""

    def __init__(self, columns: Schema, assign: Callable[[pa.RecordBatch], pa.RecordBatch]) -> None:
        self._columns = columns
        self._assign = assign

    @property
    def columns(self) -> Schema:
        return self._columns

    def touched(self, batch: pa.RecordBatch, schema: Schema, task: FileScanTask) -> Mask:
        return _true_rows(task, batch, schema)

    def updated(self, rows: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
        return with_columns(rows, self._assign(rows))


def with_columns(rows: pa.RecordBatch, columns: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with some columns, found by name, replaced."""
    arrays = list(rows.columns)
    for name, array in zip(columns.schema.names, columns.columns, strict=True):
        arrays[rows.schema.get_field_index(name)] = array
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)
