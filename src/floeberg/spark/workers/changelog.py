"""Reads and compares changes in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from floeberg.arrow.scan.change_rows import settled
from floeberg.arrow.scan.changelog import changelog_schema, read_changes
from floeberg.scan.change_form import ChangeForm
from floeberg.scan.changelog_tasks import ChangelogTask
from floeberg.spark.workers.arrow_values import spark_arrow_schema, to_spark
from floeberg.spark.workers.scan import TableFiles
from floeberg.spec.schemas.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReader:
    """The changes of groups of files; the form is one that compares no rows of different groups."""

    table: TableFiles
    groups: tuple[tuple[ChangelogTask, ...], ...]
    projection: Schema
    form: ChangeForm

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The changes of the groups whose numbers come in."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.changes(number)

    def changes(self, number: int) -> Iterator[pa.RecordBatch]:
        """The changes of one group, as Spark takes them."""
        columns = changelog_schema(self.projection)
        schema = spark_arrow_schema(columns)
        for batch in read_changes(self.groups[number], self.table.reader(), self.projection, form=self.form):
            yield to_spark(batch, columns, schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledChanges:
    """The changes that a task gets, in a form: all rows that are to be compared are in one task."""

    form: ChangeForm

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = list(batches)
        if found:
            yield from settled(pa.Table.from_batches(found), self.form).combine_chunks().to_batches()
