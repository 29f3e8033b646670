"""Reads the changes of snapshots in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from floeberg.arrow.scan.changelog import changelog_schema, read_changes
from floeberg.scan.changelog_tasks import ChangelogTask
from floeberg.spark.workers.arrow_values import spark_arrow_schema, to_spark
from floeberg.spark.workers.scan import TableFiles
from floeberg.spec.schemas.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReader:
    """The changes of each snapshot: a group is one, because rows that were only carried over are found within it."""

    table: TableFiles
    groups: tuple[tuple[ChangelogTask, ...], ...]
    projection: Schema
    keep_carried_over: bool

    @property
    def arrow_schema(self) -> pa.Schema:
        return spark_arrow_schema(changelog_schema(self.projection))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The changes of the snapshots whose numbers come in."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.changes(number)

    def changes(self, number: int) -> Iterator[pa.RecordBatch]:
        """The changes of one snapshot, as Spark takes them."""
        schema = self.arrow_schema
        whole = changelog_schema(self.projection)
        found = read_changes(
            self.groups[number], self.table.reader(), self.projection, keep_carried_over=self.keep_carried_over
        )
        for batch in found:
            yield to_spark(batch, whole, schema)
