"""Reads changelogs: the rows that came and went with each snapshot, without those that were only carried over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from floeberg.arrow.columns.key_set import as_comparable
from floeberg.arrow.columns.physical import repeat
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.file_schema import file_fields
from floeberg.arrow.formats.projection import Projection
from floeberg.arrow.scan.execute import TableReader
from floeberg.files.deletion_vector import bitmap_of
from floeberg.scan.changelog_tasks import ChangelogTask, ChangeType
from floeberg.scan.tasks import DeleteFile
from floeberg.spec.schemas.metadata_columns import CHANGELOG_COLUMNS, ROW_POSITION
from floeberg.spec.schemas.schema import Schema

Codes = npt.NDArray[np.int64]


def changelog_schema(projection: Schema) -> Schema:
    """The columns of a changelog: those of the rows, then what happened to them."""
    return Schema(*projection.fields, *CHANGELOG_COLUMNS, schema_id=projection.schema_id)


def read_changes(
    tasks: Iterable[ChangelogTask], reader: TableReader, projection: Schema, *, keep_carried_over: bool = False
) -> pa.RecordBatchReader:
    """The changes in order. A rewrite of a file deletes and inserts rows that did not change: such pairs of equal whole
    rows of one snapshot are left out, unless they are asked for; to tell them, the changes of one snapshot that both
    deletes and inserts rows are held in memory."""
    batches = _Changes(reader, projection, keep_carried_over=keep_carried_over).batches(tasks)
    return pa.RecordBatchReader.from_batches(arrow_schema(changelog_schema(projection)), batches)


class _Changes:
    def __init__(self, reader: TableReader, projection: Schema, *, keep_carried_over: bool) -> None:
        self._reader = reader
        self._projection = projection
        self._schema = arrow_schema(changelog_schema(projection))
        self._keep_carried_over = keep_carried_over

    def batches(self, tasks: Iterable[ChangelogTask]) -> Iterator[pa.RecordBatch]:
        for _, group in groupby(tasks, key=lambda task: task.change_ordinal):
            of_snapshot = list(group)
            kinds = {kind for task in of_snapshot for kind in task.change_types}
            if self._keep_carried_over or len(kinds) < 2:
                for task in of_snapshot:
                    for kind, rows in self._changes(task, self._projection):
                        yield self._described(rows, task, kind)
            else:
                yield from self._true_changes(of_snapshot)

    def _true_changes(self, tasks: list[ChangelogTask]) -> Iterator[pa.RecordBatch]:
        """Rows are compared whole, whatever columns are asked for: a change of another column is a change."""
        whole = self._reader.schema
        found = [(kind, rows) for task in tasks for kind, rows in self._changes(task, whole)]
        if not found:
            return
        table = pa.Table.from_batches([rows for _, rows in found], schema=arrow_schema(whole))
        deleted = np.concatenate([np.full(rows.num_rows, kind is ChangeType.DELETE) for kind, rows in found])
        kept = ~_carried_over(table, deleted)
        fields = file_fields(arrow_schema(whole), location="changelog")
        projection = Projection(fields, self._projection, location="changelog")
        for kind in (ChangeType.DELETE, ChangeType.INSERT):
            mask = kept & (deleted == (kind is ChangeType.DELETE))
            for batch in table.filter(pa.array(mask)).combine_chunks().to_batches():
                yield self._described(projection.apply(batch), tasks[0], kind)

    def _changes(self, task: ChangelogTask, columns: Schema) -> Iterator[tuple[ChangeType, pa.RecordBatch]]:
        if task.before is None or task.after is None:
            deletes = task.before if task.after is None else task.after
            kind = ChangeType.DELETE if task.after is None else ChangeType.INSERT
            for rows in self._reader.rows(task.reading(deletes or ()), columns):
                yield kind, rows
            return
        live_before, live_after = self._live(task, task.before), self._live(task, task.after)
        for kind, deletes, positions in (
            (ChangeType.DELETE, task.before, live_before - live_after),
            (ChangeType.INSERT, task.after, live_after - live_before),
        ):
            if positions:
                for rows in self._rows_at(task, deletes, positions, columns):
                    yield kind, rows

    def _live(self, task: ChangelogTask, deletes: tuple[DeleteFile, ...]) -> BitMap64:
        live = BitMap64()
        for batch in self._reader.rows(task.reading(deletes), Schema(ROW_POSITION)):
            live |= bitmap_of(batch.column(0).to_numpy(zero_copy_only=False))
        return live

    def _rows_at(
        self, task: ChangelogTask, deletes: tuple[DeleteFile, ...], positions: BitMap64, columns: Schema
    ) -> Iterator[pa.RecordBatch]:
        wanted = np.frombuffer(positions.to_array(), dtype=np.uint64).astype(np.int64)
        for batch in self._reader.rows(task.reading(deletes), Schema(*columns.fields, ROW_POSITION)):
            own = batch.column(len(columns.fields)).to_numpy(zero_copy_only=False)
            rows = batch.filter(pa.array(np.isin(own, wanted, assume_unique=True)))
            if rows.num_rows:
                yield rows.select(range(len(columns.fields)))

    def _described(self, rows: pa.RecordBatch, task: ChangelogTask, kind: ChangeType) -> pa.RecordBatch:
        facts = (kind.value, task.change_ordinal, task.commit_snapshot_id)
        added = [
            repeat(value, field.type, rows.num_rows) for value, field in zip(facts, CHANGELOG_COLUMNS, strict=True)
        ]
        return pa.RecordBatch.from_arrays([*rows.columns, *added], schema=self._schema)


def _carried_over(table: pa.Table, deleted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which rows are one half of a pair of a deleted and an inserted equal row."""
    codes = _row_codes(table)
    groups = int(codes.max()) + 1
    pairs = np.minimum(np.bincount(codes[deleted], minlength=groups), np.bincount(codes[~deleted], minlength=groups))
    carried = np.zeros(len(codes), dtype=np.bool_)
    for half in (deleted, ~deleted):
        at = np.flatnonzero(half)
        order = at[np.argsort(codes[at], kind="stable")]
        own = codes[order]
        starts = np.flatnonzero(np.r_[True, own[1:] != own[:-1]]) if len(own) else own
        rank = np.arange(len(own)) - np.repeat(starts, np.diff(np.r_[starts, len(own)]))
        carried[order] = rank < pairs[own]
    return carried


def _row_codes(table: pa.Table) -> Codes:
    """A number for each row; equal rows have equal ones. Null equals null, and NaN equals NaN."""
    codes: Codes = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.columns:
        own = _codes(column.combine_chunks())
        combined = codes * (int(own.max()) + 1 if len(own) else 1) + own
        codes = np.unique(combined, return_inverse=True)[1].astype(np.int64)
    return codes


def _codes(column: Any) -> Codes:
    array = column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)
    if pa.types.is_nested(array.type):
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(repr(value), len(numbers)) for value in array.to_pylist()], dtype=np.int64)
    if pa.types.is_null(array.type):
        return np.zeros(len(array), dtype=np.int64)
    encoded = as_comparable(array).dictionary_encode(null_encoding="encode")
    codes: Codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes
