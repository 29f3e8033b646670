"""The native scan: groups of Parquet files, read by Spark's own reader, as DataFrames with deletes applied and metadata
columns added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floeberg.expr.nodes import TRUE, Expression
from floeberg.spark.host.calls.gateway import select_texts
from floeberg.spark.host.types.exact_types import cut_name
from floeberg.spark.host.types.spark_types import frame_field
from floeberg.spark.read.deletes.equality import EqualityPlan, plan_equality, without_deleted
from floeberg.spark.read.deletes.positions import PLACE, DeletedPositions, deleted_positions
from floeberg.spark.read.parquet.columns import NativeColumn, read_schema
from floeberg.spark.read.parquet.filter_before_deletes import filter_before_deletes
from floeberg.spark.read.parquet.metadata_columns import (
    COMPUTED,
    facts_of,
    is_metadata,
    metadata_text,
    metadata_value,
    needs_row_index,
)
from floeberg.spark.read.parquet.scan import FILE_NAME, PlacedTask, parquet_frame
from floeberg.spark.read.routes import ColumnChoice
from floeberg.spark.workers.scan import TableFiles
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.schemas.schema import Schema
from floeberg.sql.text.lexer import quote_name


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeScan:
    """The files to read by Spark's Parquet reader, and how their columns are requested."""

    spark: Any
    files: TableFiles
    projection: Schema
    choice: ColumnChoice
    where: Expression = TRUE
    """A bound filter that the reader of the frame also applies to it. TRUE for files that are rewritten: all their rows are
    kept."""
    names_files: bool = False
    """Whether the frames have FILE_NAME as their last column."""
    skips_row_groups: bool = True
    """Whether Parquet may skip row groups by the filters that Spark pushes down."""
    exact: bool = False
    """Whether timestamps keep their nanoseconds, in the form of `exact_types`."""

    def plain(self, tasks: Sequence[PlacedTask]) -> Any:
        """Files without deletes."""
        return self._frame(tasks, None, None)

    def with_position_deletes(self, tasks: Sequence[PlacedTask]) -> Any | None:
        """Files with position deletes; None when the deletes are too large to be sent to the executors."""
        deleted = self._deleted(tasks)
        return None if deleted is None else self._frame(tasks, deleted, None)

    def with_equality_deletes(self, tasks: Sequence[PlacedTask]) -> Any | None:
        """Files with equality deletes, and perhaps position deletes."""
        has_positions = any(p.task.deletion_vector is not None or p.task.position_deletes for p in tasks)
        deleted = self._deleted(tasks) if has_positions else None
        if has_positions and deleted is None:
            return None
        plan = plan_equality([placed.task for placed in tasks], self.files.schema, self.files.specs)
        return self._frame(tasks, deleted, plan)

    def _deleted(self, tasks: Sequence[PlacedTask]) -> DeletedPositions | None:
        return deleted_positions(self.spark, [placed.task for placed in tasks], self.files)

    def _frame(
        self, placed: Sequence[PlacedTask], deleted: DeletedPositions | None, equality: EqualityPlan | None
    ) -> Any:
        tasks = [each.task for each in placed]
        columns = self._columns(equality)
        own = [field for field in self.projection.fields if is_metadata(field)]
        facts = facts_of(own, tasks, self.files.specs)
        if deleted is not None:
            facts[PLACE] = deleted.places
        if equality is not None:
            facts |= equality.facts(tasks)
        frame = parquet_frame(
            self.spark,
            placed,
            read_schema(list(columns.values())),
            facts=facts,
            facts_used=deleted is not None and not own,
            row_index=deleted is not None or needs_row_index(own),
            file_name=self.names_files,
            skips_row_groups=self.skips_row_groups,
        )
        if deleted is not None:
            if (first := filter_before_deletes(self.where, columns)) is not None:
                frame = frame.where(first)
            frame = frame.where(deleted.is_live())
        for join in equality.joins if equality is not None else ():
            frame = without_deleted(self.spark, frame, join, self.files, columns)
        return self._projected(frame, columns)

    def _columns(self, equality: EqualityPlan | None) -> dict[int, NativeColumn]:
        """The columns to read: those requested, and the equality fields of deletes; at least one, because Spark reads no
        empty schema."""
        fields = [field for field in self.projection.fields if field.field_id not in COMPUTED]
        for field_id, key in (equality.keys if equality is not None else {}).items():
            if all(field.field_id != field_id for field in fields):
                fields.append(key)
        columns = {field.field_id: self.choice.column(field) for field in fields}
        found = {field_id: column for field_id, column in columns.items() if column is not None}
        if all(column.read is None for column in found.values()):
            spare = (self.choice.column(field) for field in self.files.schema.fields)
            first = next(column for column in spare if column is not None and column.read is not None)
            found.setdefault(first.field.field_id, first)
        return found

    def _projected(self, frame: Any, columns: Mapping[int, NativeColumn]) -> Any:
        """The frame with the columns as users see them. Computed columns come first; the rest is one list of names, which
        costs few calls of the gateway."""
        texts: list[str] = []
        made = []
        for field in self.projection.fields:
            column = columns.get(field.field_id)
            if is_metadata(field):
                text = metadata_text(field, column)
            else:
                text = None if column is None else column.text()
            if text is None:
                name = (None if self.exact else cut_name(field)) or f"{ENGINE_PREFIX}made_{field.field_id}"
                if is_metadata(field) or column is None:
                    value = metadata_value(field, column)
                else:
                    value = column.exact() if self.exact else column.made()
                made.append(value.alias(name, metadata={} if self.exact else frame_field(field).metadata or {}))
                text = f"{name} AS {quote_name(field.name)}"
            texts.append(text)
        if made:
            frame = frame.select("*", *made)
        return select_texts(self.spark, frame, [*texts, *([FILE_NAME] if self.names_files else [])])
