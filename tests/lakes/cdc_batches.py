"""Applies batches of events to a table on the Arrow engine, as one task of an engine does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from floeberg.arrow.columns.types import arrow_type
from floeberg.catalogs.base import LoadedTable
from floeberg.change_events.delta_commit import delta_layout, delta_operations, plan_reach
from floeberg.change_events.delta_writer import DeltaWriter, OnBad, WrittenDelta
from floeberg.change_events.events import CODES, EVENT, KIND, order_columns
from floeberg.change_events.keys import key_fields
from floeberg.change_events.sequences import EventRules
from floeberg.commit.commit import commit_operations
from floeberg.commit.operation import SnapshotTarget
from floeberg.spec.schemas.schema import Schema
from floeberg.testing.table_builder import TableBuilder

Event = tuple[str, tuple[Any, ...], tuple[Any, ...]]
"""Code, row (columns may be None in deletes), order."""


def event_table(schema: Schema, events: Sequence[Event], orders: Sequence[pa.DataType]) -> pa.Table:
    columns: dict[str, pa.Array] = {}
    for i, field in enumerate(schema.fields):
        columns[field.name] = pa.array([row[i] for _, row, _ in events], arrow_type(field.type))
    kinds = [None if (kind := CODES.get(code.upper())) is None else int(kind) for code, _, _ in events]
    columns[KIND] = pa.array(kinds, pa.int8())
    columns[EVENT] = pa.array(range(len(events)), pa.int64())
    for name, number, kind in zip(order_columns(len(orders)), range(len(orders)), orders, strict=True):
        columns[name] = pa.array([order[number] for _, _, order in events], kind)
    return pa.table(columns)


def sorted_events(events: pa.Table, rules: EventRules) -> pa.Table:
    """By key, order, deletes before inserts."""
    side = pa.array([kind is not None and kind >= 2 for kind in events.column(KIND).to_pylist()], pa.bool_())
    named = events.append_column("side", side)
    by = [*rules.keys, *order_columns(rules.orders), "side", EVENT]
    return named.sort_by([(name, "ascending") for name in by]).drop_columns(["side"])


def write_batch(
    builder: TableBuilder,
    events: Sequence[Event],
    *,
    tasks: int = 1,
    batch_rows: int = 5,
    on_bad: OnBad | None = None,
    keys: Sequence[str] = ("id",),
    **rules: Any,
) -> WrittenDelta:
    """Writes and commits one batch; its keys are dealt out to so many tasks."""
    table = builder.second()
    pointer, state = table._pointer, table._state
    loaded = LoadedTable(pointer, state)
    schema = table.schema
    fields = key_fields(schema, keys, table="t")
    given = EventRules(keys=tuple(field.name for field in fields), orders=1, **rules)
    reach = plan_reach(loaded, fields)
    layout = delta_layout(loaded, fields, reach)
    written = []
    frame = sorted_events(event_table(schema, events, [pa.int64()]), given)
    for task in range(tasks):
        mine = frame.filter(pa.array([hash(key) % tasks == task for key in _keys(frame, given.keys)], pa.bool_()))
        writer = DeltaWriter(layout, given, pointer.store_for, task=task, on_bad=on_bad)
        written.append(writer.write(_batches(mine, batch_rows)))
    operations = delta_operations(written, reach, SnapshotTarget())
    if operations:
        commit_operations(pointer, state, operations)
    return WrittenDelta([file for one in written for file in one.files], counts=written[0].counts)


def _keys(frame: pa.Table, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(frame.column(name).to_pylist() for name in keys), strict=True))


def _batches(table: pa.Table, rows: int) -> Iterable[pa.RecordBatch]:
    return table.combine_chunks().to_batches(max_chunksize=rows)
