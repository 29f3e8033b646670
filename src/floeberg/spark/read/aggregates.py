"""A summary of a table from its metadata, as a DataFrame over which count, min and max are those of the table's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from floeberg.arrow.columns.physical import array_of
from floeberg.catalogs.base import LoadedTable
from floeberg.expr.bind import bind_reference
from floeberg.expr.nodes import BoundReference, Expression
from floeberg.scan.aggregates import Asked, Group, groups_of_plan
from floeberg.scan.explanation import Explanation
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.spark.host.types.spark_types import has_nanoseconds
from floeberg.spark.read.local_frame import arrow_local_frame
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import LONG, NestedField
from floeberg.sql.queries.metadata_aggregates import ROWS, AggregateQuery, count_column


@dataclass(frozen=True, slots=True)
class Summary:
    """The DataFrame of a table's summary, what it was asked for, and what planning says of it."""

    frame: Any
    table: str
    asked: str
    planning: Explanation

    def __str__(self) -> str:
        files = "unknown" if self.planning.data.files is None else str(self.planning.data.files)
        first = f"{self.table}: 0 of {files} files read, {self.asked} from metadata"
        return "\n".join([first, *self.planning.lines()])


def summary_frame(
    spark: Any,
    table: LoadedTable,
    chosen: SnapshotChoice,
    query: AggregateQuery,
    *,
    where: Expression,
    ignore_scheme: bool = False,
    cache: FrameCache | None = None,
) -> Summary | None:
    """The columns that the query names, with one row for the least and one for the greatest values of a group; None unless
    metadata prove them exactly. `where` only leaves out files: the query applies its condition to the columns of the groups."""
    asked = _asked(query, chosen.schema)
    if asked is None or any(has_nanoseconds(reference.type) for reference in asked.columns):
        return None  # Spark cuts nanoseconds, and a write of what is cut is refused by the table that it comes from
    plan = plan_files(
        table.state.metadata,
        chosen,
        store_for=table.pointer.store_for,
        where=where,
        cache=cache,
        keep_metrics_of=asked.field_ids,
        ignore_scheme=ignore_scheme,
        all_deletes=True,
    )
    groups = groups_of_plan(plan, asked)
    if groups is None:
        return None
    rows = [(key, group) for key, group in groups.items()]
    columns: dict[int, NestedField] = {}
    values: dict[int, list[Any]] = {}
    for reference in (*asked.keys, *asked.least, *asked.greatest):
        columns[reference.field_id] = chosen.schema.by_id[reference.field_id]
        values[reference.field_id] = _two_rows(reference, asked, rows)
    fields = [NestedField(one.field_id, one.name, one.type, doc=one.doc) for one in columns.values()]
    arrays = [array_of(values[one.field_id], one.type) for one in fields]
    next_id = max(chosen.schema.by_id, default=0) + 1
    counts = [(ROWS, [group.rows for _, group in rows])]
    counts += [(count_column(r.name.lower()), [group.counts[r.field_id] for _, group in rows]) for r in asked.counts]
    for number, (name, numbers) in enumerate(counts):
        fields.append(NestedField(next_id + number, name, LONG))
        arrays.append(array_of([*numbers, *([0] * len(numbers))] if asked.has_extremes else numbers, LONG))
    batch = pa.RecordBatch.from_arrays(arrays, names=[one.name for one in fields])
    frame = arrow_local_frame(spark, [batch], Schema(*fields))
    return Summary(frame, table.state.identifier, query.shown, plan.explanation)


def _asked(query: AggregateQuery, schema: Schema) -> Asked | None:
    """None where a name is not that of one column."""
    names = [field.name.lower() for field in schema.fields]
    if len(set(names)) < len(names) or any(name.startswith(ROWS.partition("rows")[0]) for name in names):
        return None

    def bound(columns: set[str]) -> tuple[BoundReference, ...]:
        tops = [field.name for field in schema.fields if field.name.lower() in columns]
        return tuple(bind_reference(name, schema) for name in tops)

    extremes = query.least - query.keys, query.greatest - query.keys
    return Asked(
        keys=bound(query.keys), counts=bound(query.counts), least=bound(extremes[0]), greatest=bound(extremes[1])
    )


def _two_rows(reference: BoundReference, asked: Asked, rows: Sequence[tuple[tuple[Any, ...], Group]]) -> list[Any]:
    """The values of a column: those of the rows with the least values, then of those with the greatest."""
    if reference in asked.keys:
        place = asked.keys.index(reference)
        return [key[place] for key, _ in rows] * (2 if asked.has_extremes else 1)
    least = [group.least.get(reference.field_id) for _, group in rows]
    return [*least, *(group.greatest.get(reference.field_id) for _, group in rows)]
