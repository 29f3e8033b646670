"""Carries out a change of rows that a statement found: Spark's workers write data files and large deletes, the driver writes
small deletes, and one commit adds all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from msgspec import structs
from pyroaring import BitMap64

from floeberg.arrow.changes.row_level import DeletedRows, FoundRows, RowCounts
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.commit import Committed, commit_operations, proves_nothing_landed
from floeberg.expr.nodes import TRUE, Expression
from floeberg.files.deletion_vector import encode_deletion_vector
from floeberg.row_changes.row_change import RowChange, with_deletes, with_written_deletes
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.dml.copying import copy_kept_rows, may_be_copied
from floeberg.spark.dml.delete_job import deletes_are_large, write_deletes_in_workers
from floeberg.spark.dml.target import ChangedTable, with_inherited_sequence_number
from floeberg.spark.dml.target_scan import kept_rows
from floeberg.spark.host.engine_summary import engine_summary
from floeberg.spark.read.arrow_scan import table_files
from floeberg.spark.write.job import write_data_files
from floeberg.spark.write.options import DistributionMode
from floeberg.spec.schemas.metadata_columns import ROW_ID
from floeberg.spec.snapshots.manifest_entry import DataFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROWS_PER_TASK: Final = 250_000
"""Without a shuffle, fewer rows than this for each task would only make small files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChange:
    """What a statement found to change, and the files that it has written so far.

    `new_rows` has the table's columns, and `_row_id` if it has row lineage: the new versions of replaced rows, unless they are
    written already, and inserted rows, whose id is null."""

    tasks: Sequence[FileScanTask] = ()
    condition: Expression = TRUE
    whole: Sequence[FileScanTask] = ()
    """Files all of whose rows are deleted, known from metadata."""
    positions: Mapping[str, BitMap64] = field(default_factory=dict)
    deleted: int = 0
    updated: int = 0
    written: Sequence[DataFile] = ()
    """The files of new versions of rows that are written already; the caller removes them when the change fails."""
    new_rows: DataFrame | None = None
    expected_rows: int | None = None
    """How many rows `new_rows` has at most, where that is known."""


def carry_out(target: ChangedTable, change: FoundChange) -> Committed | None:
    """Writes and commits. None when there is nothing to do. Written files are removed when the commit provably failed. Raises
    ValidationConflict, CommitConflict, CommitUnknown."""
    metadata = target.metadata
    pointer = target.table.pointer
    writer = TableWriter(metadata, pointer.store_for, pointer.effects.ids.uuid())
    written: list[DataFile] = []
    with removed_on_failure(target, written, writer):
        row_change = _write(target, change, writer, written)
        operation = row_change.operation(
            target.view(change.condition), target.destination.snapshot_target(dict(target.write_options.summary))
        )
        operations = [*target.operations_before, *([] if operation is None else [operation])]
        once = target.once
        if not operations and once is None:
            return None
        committed = commit_operations(
            pointer,
            target.base,
            operations,
            engine_summary=engine_summary(target.spark),
            once=None if once is None else once.transaction,
        )
        if committed.skipped is not None:
            _remove(target, [*change.written, *written], writer)
        return committed


@contextmanager
def removed_on_failure(
    target: ChangedTable, written: Sequence[DataFile], writer: TableWriter | None = None
) -> Iterator[None]:
    """Removes written files when the change fails, unless its commit may have succeeded."""
    try:
        yield
    except BaseException as error:
        if proves_nothing_landed(error):
            _remove(target, written, writer)
        raise


def _remove(target: ChangedTable, written: Sequence[DataFile], writer: TableWriter | None) -> None:
    if writer is not None:
        writer.discard()
    for location in {file.file_path for file in written}:  # deletion vectors share a file
        target.table.pointer.store_for(location).delete(location)


def _write(target: ChangedTable, change: FoundChange, writer: TableWriter, written: list[DataFile]) -> RowChange:
    found = FoundRows()
    for task in change.whole:
        found.replaced.append(task.data_file)
        found.counts.delete(_live_rows(task))
    touched = [task for task in change.tasks if task.data_file.file_path in change.positions]
    frame = change.new_rows
    found.counts.delete(change.deleted)
    found.counts.updated = change.updated
    if target.merge_on_read:
        found.deleted += [DeletedRows(task, change.positions[task.data_file.file_path]) for task in touched]
    elif touched:
        found.replaced += [task.data_file for task in touched]
        if may_be_copied(target, touched):
            written += copy_kept_rows(target, touched, change.positions)
            found.counts.copied = sum(file.record_count for file in written)
            touched = []
        else:
            kept = _kept(target, touched, change.positions)
            frame = kept if frame is None else kept.unionByName(with_inherited_sequence_number(target, frame))
    if frame is not None:
        made = _write_rows(target, frame, change, touched)
        written += made
        _count(target, found.counts, change, made, copied_from=() if target.merge_on_read else touched)
    found.written += [*change.written, *written]
    files = table_files(target.table, target.schema)
    if deletes_are_large(found.deleted, target.metadata, files):
        deletes = write_deletes_in_workers(target, found.deleted, files)
        written += deletes.added
        return with_deletes(found, deletes)
    return with_written_deletes(found, reader=files.reader(), writer=writer)


def _live_rows(task: FileScanTask) -> int | None:
    """The number of live rows of a file, if metadata tells it: a deletion vector has its cardinality."""
    if any(not delete.file.is_deletion_vector for delete in task.deletes):
        return None
    return task.data_file.record_count - sum(delete.file.record_count for delete in task.deletes)


def _kept(target: ChangedTable, tasks: Sequence[FileScanTask], positions: Mapping[str, BitMap64]) -> DataFrame:
    encoded = {path: encode_deletion_vector(found) for path, found in positions.items()}
    return kept_rows(
        target.spark, target.table, tasks, target.schema, projection=target.written_schema, touched=encoded
    )


def _write_rows(
    target: ChangedTable, frame: DataFrame, change: FoundChange, touched: Sequence[FileScanTask]
) -> list[DataFile]:
    options = target.write_options
    rows = with_inherited_sequence_number(target, frame)
    expected = change.expected_rows
    if expected is not None and options.distribution is DistributionMode.NONE:
        if not target.merge_on_read:
            expected += sum(task.data_file.record_count for task in touched)
        rows = rows.coalesce(1 + expected // _ROWS_PER_TASK)
    return write_data_files(rows, target.table, options=options, schema=target.written_schema)


def _count(
    target: ChangedTable,
    counts: RowCounts,
    change: FoundChange,
    written: Sequence[DataFile],
    *,
    copied_from: Sequence[FileScanTask],
) -> None:
    """Counts inserted and copied rows from the written files, because the rows are evaluated only once. Unknown if equality
    deletes leave open how many rows a file had."""
    rest = sum(file.record_count for file in [*change.written, *written]) - change.updated
    if change.new_rows is None:
        counts.copied = rest
    elif not any(task.equality_deletes for task in copied_from):
        reader = table_files(target.table, target.schema).reader()
        live = sum(reader.live_rows(structs.replace(task, residual=TRUE)) for task in copied_from)
        gone = sum(len(change.positions[task.data_file.file_path]) for task in copied_from)
        copied = live - gone
        counts.copied += copied
        counts.inserted = rest - copied


def new_row_columns(target: ChangedTable) -> list[str]:
    """The columns that `new_rows` has, in their order."""
    return [*(column.name for column in target.schema.fields), *((ROW_ID.name,) if target.has_lineage else ())]
