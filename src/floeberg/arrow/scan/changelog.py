"""Reads changelogs: the rows that came and went with each snapshot, in the form that is asked for.

What a rewrite of a file only carries over is told in one of two ways. Where the rows have lineage (format version 3), a row
that is deleted and inserted with the same id and the same `_last_updated_sequence_number` did not change: only these two
columns of all rows are held in memory. The rows that are left, or all rows without lineage, are compared whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from floeberg.arrow.columns.physical import repeat
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.file_schema import file_fields
from floeberg.arrow.formats.projection import Projection
from floeberg.arrow.scan.change_rows import settled
from floeberg.arrow.scan.execute import TableReader
from floeberg.files.deletion_vector import bitmap_of
from floeberg.scan.change_form import TRUE_CHANGES, ChangeForm
from floeberg.scan.changelog_tasks import ChangelogTask, ChangeType, deletes_and_inserts, independent_groups
from floeberg.scan.tasks import DeleteFile
from floeberg.spec.schemas.metadata_columns import CHANGE_TYPE, CHANGELOG_COLUMNS, LINEAGE_COLUMNS, ROW_POSITION
from floeberg.spec.schemas.schema import Schema

Longs = npt.NDArray[np.int64]
Side = tuple[int, ChangeType]
"""The rows that one task of a group deletes, or inserts."""


def changelog_schema(projection: Schema) -> Schema:
    """The columns of a changelog: those of the rows, then what happened to them."""
    return Schema(*projection.fields, *CHANGELOG_COLUMNS, schema_id=projection.schema_id)


def read_changes(
    tasks: Iterable[ChangelogTask], reader: TableReader, projection: Schema, *, form: ChangeForm = TRUE_CHANGES
) -> pa.RecordBatchReader:
    """The changes in order. Held in memory are, to tell carried-over rows, the changes of one snapshot and partition; for
    update images the changes of a snapshot, for net changes all of them. Raises InvalidInput as `settled` does."""
    changes = _Changes(reader, projection, form)
    batches = changes.joined(tasks) if form.joins_groups else changes.apart(tasks)
    return pa.RecordBatchReader.from_batches(arrow_schema(changelog_schema(projection)), batches)


@dataclass(frozen=True, slots=True)
class _Changes:
    reader: TableReader
    projection: Schema
    form: ChangeForm

    def apart(self, tasks: Iterable[ChangelogTask]) -> Iterator[pa.RecordBatch]:
        for group in independent_groups(tasks):
            if self.form.keep_carried_over or not deletes_and_inserts(group):
                for task in group:
                    for kind, rows in self._changes(task, self.projection):
                        yield _described(rows, self.projection, task, kind)
            else:
                yield from self._projected(self._true_changes(group))

    def joined(self, tasks: Iterable[ChangelogTask]) -> Iterator[pa.RecordBatch]:
        """Rows are compared whole, whatever columns are asked for: a change of another column is a change."""
        if self.form.net_changes:
            groups: Iterable[list[ChangelogTask]] = [list(tasks)]
        else:
            groups = (list(group) for _, group in groupby(tasks, key=lambda task: task.change_ordinal))
        whole = arrow_schema(changelog_schema(self.reader.schema))
        true_changes = _Changes(self.reader, self.reader.schema, TRUE_CHANGES)
        for group in groups:
            found = pa.Table.from_batches(true_changes.apart(group), schema=whole)
            yield from self._projected(settled(found, self.form))

    def _true_changes(self, tasks: Sequence[ChangelogTask]) -> pa.Table:
        whole = self.reader.schema
        unchanged = self._unchanged_by_lineage(tasks)
        found: list[pa.RecordBatch] = []
        for number, task in enumerate(tasks):
            for kind, rows in self._changes(task, Schema(*whole.fields, ROW_POSITION)):
                positions = rows.column(len(whole.fields)).to_numpy()
                if known := unchanged.get((number, kind)):
                    changed = np.isin(positions, _positions(known), assume_unique=True, invert=True)
                    rows = rows.filter(pa.array(changed))
                if rows.num_rows:
                    found.append(_described(rows.select(range(len(whole.fields))), whole, task, kind))
        changes = settled(pa.Table.from_batches(found, schema=arrow_schema(changelog_schema(whole))), TRUE_CHANGES)
        is_insert = np.asarray(pc.equal(changes.column(CHANGE_TYPE.name), ChangeType.INSERT.value))
        return changes.take(pa.array(np.argsort(is_insert, kind="stable")))

    def _projected(self, changes: pa.Table) -> Iterator[pa.RecordBatch]:
        whole, wanted = changelog_schema(self.reader.schema), changelog_schema(self.projection)
        fields = file_fields(arrow_schema(whole), location="changelog")
        projection = Projection(fields, wanted, location="changelog")
        schema = arrow_schema(wanted)
        for batch in changes.combine_chunks().to_batches():
            yield pa.RecordBatch.from_arrays(projection.apply(batch).columns, schema=schema)

    def _changes(self, task: ChangelogTask, columns: Schema) -> Iterator[tuple[ChangeType, pa.RecordBatch]]:
        if task.before is None or task.after is None:
            deletes = task.before if task.after is None else task.after
            kind = ChangeType.DELETE if task.after is None else ChangeType.INSERT
            for rows in self.reader.rows(task.reading(deletes or ()), columns):
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
        for batch in self.reader.rows(task.reading(deletes), Schema(ROW_POSITION)):
            live |= bitmap_of(batch.column(0).to_numpy(zero_copy_only=False))
        return live

    def _rows_at(
        self, task: ChangelogTask, deletes: tuple[DeleteFile, ...], positions: BitMap64, columns: Schema
    ) -> Iterator[pa.RecordBatch]:
        wanted = _positions(positions)
        own_fields = [field for field in columns.fields if field.field_id != ROW_POSITION.field_id]
        for batch in self.reader.rows(task.reading(deletes), Schema(*own_fields, ROW_POSITION)):
            own = batch.column(len(own_fields)).to_numpy(zero_copy_only=False)
            rows = batch.filter(pa.array(np.isin(own, wanted, assume_unique=True)))
            if rows.num_rows:
                yield rows.select([field.name for field in columns.fields])

    def _unchanged_by_lineage(self, tasks: Sequence[ChangelogTask]) -> dict[Side, BitMap64]:
        """The positions of rows that are deleted and inserted with the same lineage; nothing where rows have none."""
        if any(task.data_file.first_row_id is None for task in tasks):
            return {}
        parts: dict[ChangeType, list[tuple[int, pa.RecordBatch]]] = {ChangeType.DELETE: [], ChangeType.INSERT: []}
        for number, task in enumerate(tasks):
            for kind, rows in self._changes(task, Schema(*LINEAGE_COLUMNS, ROW_POSITION)):
                parts[kind].append((number, rows))
        if not all(parts.values()):
            return {}
        deleted, inserted = _Lineage.of(parts[ChangeType.DELETE]), _Lineage.of(parts[ChangeType.INSERT])
        in_deleted, in_inserted = deleted.same_rows(inserted)
        return {
            **{(number, ChangeType.DELETE): found for number, found in deleted.positions_at(in_deleted).items()},
            **{(number, ChangeType.INSERT): found for number, found in inserted.positions_at(in_inserted).items()},
        }


@dataclass(frozen=True, slots=True)
class _Lineage:
    """Rows by their ids, each with when it was last updated, the number of its task and its position there."""

    row_ids: Longs
    sequence_numbers: Longs
    tasks: Longs
    positions: Longs

    @classmethod
    def of(cls, parts: Sequence[tuple[int, pa.RecordBatch]]) -> _Lineage:
        columns = [np.concatenate([rows.column(number).to_numpy() for _, rows in parts]) for number in range(3)]
        tasks = np.repeat([number for number, _ in parts], [rows.num_rows for _, rows in parts])
        order = np.argsort(columns[0], kind="stable")
        return cls(columns[0][order], columns[1][order], tasks[order], columns[2][order])

    def same_rows(self, other: _Lineage) -> tuple[Longs, Longs]:
        """The places of rows that are in both and were not updated; none where an id is not unique, as it must be."""
        nothing = np.array([], dtype=np.int64)
        if any((np.diff(one.row_ids) == 0).any() for one in (self, other)):
            return nothing, nothing
        _, own, others = np.intersect1d(self.row_ids, other.row_ids, assume_unique=True, return_indices=True)
        same = self.sequence_numbers[own] == other.sequence_numbers[others]
        return own[same], others[same]

    def positions_at(self, places: Longs) -> dict[int, BitMap64]:
        tasks, positions = self.tasks[places], self.positions[places]
        return {int(number): bitmap_of(positions[tasks == number]) for number in np.unique(tasks)}


def _positions(bitmap: BitMap64) -> Longs:
    return np.frombuffer(bitmap.to_array(), dtype=np.uint64).astype(np.int64)


def _described(rows: pa.RecordBatch, projection: Schema, task: ChangelogTask, kind: ChangeType) -> pa.RecordBatch:
    facts = (kind.value, task.change_ordinal, task.commit_snapshot_id)
    added = [repeat(value, field.type, rows.num_rows) for value, field in zip(facts, CHANGELOG_COLUMNS, strict=True)]
    return pa.RecordBatch.from_arrays([*rows.columns, *added], schema=arrow_schema(changelog_schema(projection)))
