"""The events of each key in their order, and what they come to: rows to write, rows among them that later events of the
batch delete, and keys to delete from what the table held before.

Events come sorted by key, order, deletes before inserts. Nothing depends on how they are cut into batches as long as all
events of a key are there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.columns.key_set import as_comparable
from floeberg.arrow.columns.nested import counted, shown_rows
from floeberg.change_events.events import EVENT, KIND, PREFIX, REASON, TEXT, EventKind, order_columns
from floeberg.change_events.unavailable import fill_unavailable
from floeberg.errors import InvalidInput

Mask: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.NDArray[np.int64]
_SHOWN: Final = 300
_UNAVAILABLE: Final = (
    "the value of column {!r} was not sent, and no earlier event of the batch has it (lookup='position' takes it "
    "from the table)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRules:
    """How the events of a batch are applied."""

    keys: tuple[str, ...]
    orders: int = 0
    """How many columns order the events of a key; with none, a key has one event in a batch."""
    upsert: bool = False
    """Whether inserts delete their key first, as updates do."""
    collapse: bool = False
    """Whether only the last state of each key is written."""
    one_partition: bool = False
    """Whether the first column of the order is a Kafka partition, which all events of a key must share."""
    required: tuple[str, ...] = ()
    """Columns that are not null in new rows."""
    placeholder: str | None = None
    """What stands for values that the source did not send."""
    keeps_placeholders: bool = False
    """Whether values that the batch does not tell are left for a lookup in the table."""


@dataclass(slots=True)
class EventCounts:
    """What became of the events of a batch."""

    events: int = 0
    rows_written: int = 0
    rows_deleted_in_batch: int = 0
    keys_deleted: int = 0
    duplicates: int = 0
    superseded: int = 0
    bad: int = 0
    unavailable: int = 0
    """Rows with values that only the table can tell."""

    def add(self, other: EventCounts) -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


@dataclass(frozen=True, slots=True)
class BadEvent:
    """An event that cannot be applied, as text, and why."""

    event: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class KeyChanges:
    """What the events of whole keys come to."""

    rows: pa.RecordBatch
    """New rows, as the events bring them, in the order of the events."""
    dead: Mask
    """Which of them a later event deletes again."""
    deleted: pa.RecordBatch
    """An event of each key whose rows of earlier commits are deleted."""
    last: pa.RecordBatch
    """The last event of each key."""
    bad: list[BadEvent]
    counts: EventCounts


def screened(events: pa.RecordBatch, rules: EventRules) -> tuple[pa.RecordBatch, list[BadEvent]]:
    """The events that can be told apart and sorted, and those that cannot: null keys and orders, unknown codes, new rows
    that lack a required value."""
    reasons: dict[int, str] = {}

    def refuse(mask: Any, reason: str) -> None:
        for row in np.flatnonzero(pc.fill_null(mask, False).to_numpy(zero_copy_only=False)):
            reasons.setdefault(int(row), reason)

    if REASON in events.schema.names:
        given = events.column(REASON)
        for row in np.flatnonzero(given.is_valid().to_numpy(zero_copy_only=False)):
            reasons[int(row)] = given[int(row)].as_py()
    kind = events.column(KIND)
    refuse(kind.is_null(), "the code is null")
    for name in rules.keys:
        if events.column(name).null_count:
            refuse(events.column(name).is_null(), f"key column {name!r} is null")
    for name in order_columns(rules.orders):
        if events.column(name).null_count:
            refuse(events.column(name).is_null(), "a column of the order is null")
    brings_row = pc.greater_equal(kind, int(EventKind.INSERT))
    for name in rules.required:
        if events.column(name).null_count:
            refuse(pc.and_(brings_row, events.column(name).is_null()), f"column {name!r} is required and null")
    if not reasons:
        return events, []
    keep = np.ones(events.num_rows, dtype=np.bool_)
    keep[list(reasons)] = False
    return events.filter(pa.array(keep)), _described(events, reasons)


def whole_keys(batches: Iterable[pa.RecordBatch], keys: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The sorted events in batches that hold all events of each of their keys."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        starts = np.flatnonzero(~_same_as_previous(batch, keys))
        if held and _same_key(held[0], batch, keys):
            starts = starts[1:]
        if not len(starts):
            held.append(batch)
            continue
        last = int(starts[-1])
        done = [*held, batch.slice(0, last)] if last else held
        if done:
            yield _joined(done)
        held = [batch.slice(last)]
    if held:
        yield _joined(held)


def key_changes(events: pa.RecordBatch, rules: EventRules) -> KeyChanges:
    """What events come to; they are screened, sorted, and hold all events of each of their keys."""
    counts = EventCounts(events=events.num_rows)
    reasons, duplicates = _ties(events, rules)
    bad = _described(events, reasons)
    counts.duplicates = len(duplicates)
    events = _without(events, [*reasons, *duplicates])
    reasons = {} if rules.upsert else _inserts_of_live_keys(events, rules)
    bad += _described(events, reasons)
    events = _without(events, list(reasons))
    if rules.placeholder is not None:
        events, left, gone = fill_unavailable(events, ~_same_as_previous(events, rules.keys), rules.placeholder)
        refused = {row: name for row, name in left.items() if row in gone or not rules.keeps_placeholders}
        counts.unavailable = len(left) - len(refused)
        bad += _described(events, {row: _UNAVAILABLE.format(name) for row, name in refused.items()})
        events = _without(events, list(refused))
    counts.bad = len(bad)
    kind = _kinds(events)
    brings_row = kind >= EventKind.INSERT
    first = ~_same_as_previous(events, rules.keys)
    last = np.append(first[1:], np.ones(min(1, len(first)), dtype=np.bool_))
    starts = np.flatnonzero(first)
    deletes = (kind != EventKind.INSERT) | rules.upsert
    if rules.collapse:
        written, deleted = brings_row & last, starts[deletes[starts]]
        counts.superseded = len(kind) - len(starts)
    else:
        written = brings_row
        deleted = starts[np.logical_or.reduceat(deletes, starts)] if len(starts) else starts
    dead = ~last[written]
    counts.rows_written = int(written.sum())
    counts.rows_deleted_in_batch = int(dead.sum())
    counts.keys_deleted = len(deleted)
    return KeyChanges(
        rows=events.filter(pa.array(written)),
        dead=dead,
        deleted=events.take(pa.array(deleted)),
        last=events.filter(pa.array(last)),
        bad=bad,
        counts=counts,
    )


def _ties(events: pa.RecordBatch, rules: EventRules) -> tuple[dict[int, str], list[int]]:
    """The events that make the order of their key unclear, with why; and the duplicates of others."""
    if events.num_rows < 2:
        return {}, []
    same_key = _same_as_previous(events, rules.keys)
    orders = order_columns(rules.orders) or [EVENT]
    reasons: dict[int, str] = {}
    if not rules.orders:
        mixed = same_key & ~_same_as_previous(events, [EVENT])
        _refuse_keys(reasons, same_key, mixed, "its key has several events in the batch and nothing orders them")
    if rules.one_partition:
        mixed = same_key & ~_same_as_previous(events, orders[:1])
        _refuse_keys(reasons, same_key, mixed, "events of its key come from several Kafka partitions")
    brings_row = _kinds(events) >= EventKind.INSERT
    same_side = np.append([False], brings_row[1:] == brings_row[:-1])
    tied = same_key & same_side & _same_as_previous(events, orders)
    duplicates: list[int] = []
    for start, end in _runs(tied):
        if start in reasons:
            continue
        images = [repr(image) for image in _images(events.slice(start, end - start))]
        if len(set(images)) == 1:
            duplicates += range(start + 1, end)
        else:
            reasons.update(dict.fromkeys(range(start, end), "another event of its key has the same order"))
    return reasons, duplicates


def _refuse_keys(reasons: dict[int, str], same_key: Mask, mixed: Mask, reason: str) -> None:
    """All events of the keys that have a marked one."""
    if not mixed.any():
        return
    key = np.cumsum(~same_key)
    for row in np.flatnonzero(np.isin(key, key[mixed])):
        reasons.setdefault(int(row), reason)


def _inserts_of_live_keys(events: pa.RecordBatch, rules: EventRules) -> dict[int, str]:
    """Inserts right after an event that brought a row of the same key: the key would be there twice."""
    kind = _kinds(events)
    after_row = np.append([False], kind[:-1] >= EventKind.INSERT)[: len(kind)]
    twice = (kind == EventKind.INSERT) & after_row & _same_as_previous(events, rules.keys)
    reason = "it inserts a key that an earlier event of the batch brought (upsert=True takes such inserts for updates)"
    return dict.fromkeys(np.flatnonzero(twice).tolist(), reason)


def _runs(tied: Mask) -> list[tuple[int, int]]:
    """(first, end) of the runs of rows that are tied to the one before."""
    if not tied.any():
        return []
    edges = np.flatnonzero(np.diff(np.concatenate([[0], tied.astype(np.int8), [0]])))
    return [(int(start) - 1, int(end)) for start, end in edges.reshape(-1, 2)]


def _same_as_previous(events: pa.RecordBatch, names: Sequence[str]) -> Mask:
    """Which rows have the same values as the row before; never the first one."""
    same: Mask = np.ones(events.num_rows, dtype=np.bool_)
    same[:1] = False
    if events.num_rows < 2:
        return same
    for name in names:
        column = as_comparable(events.column(name))
        same[1:] &= pc.equal(column.slice(1), column.slice(0, len(column) - 1)).to_numpy(zero_copy_only=False)
    return same


def _same_key(one: pa.RecordBatch, other: pa.RecordBatch, keys: Sequence[str]) -> bool:
    return all(one.column(name)[0].equals(other.column(name)[0]) for name in keys)


def _kinds(events: pa.RecordBatch) -> npt.NDArray[np.int8]:
    kinds: npt.NDArray[np.int8] = events.column(KIND).to_numpy(zero_copy_only=False)
    return kinds


def _images(events: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows and kinds of events, without where and when they came."""
    names = [name for name in events.schema.names if not name.startswith(PREFIX) or name == KIND]
    found: list[dict[str, Any]] = counted(events.select(names)).to_pylist()
    return found


def _described(events: pa.RecordBatch, reasons: dict[int, str]) -> list[BadEvent]:
    rows = sorted(reasons)
    taken = events.take(pa.array(rows, pa.int64()))
    return [BadEvent(_text(event), reasons[row]) for row, event in zip(rows, shown_rows(taken), strict=True)]


def _text(event: dict[str, Any]) -> str:
    """An event as JSON: as it arrived where that is known, else its columns and its order."""
    if event.get(TEXT) is not None:
        return str(event[TEXT])
    kind = event[KIND]
    shown = {name: value for name, value in event.items() if not name.startswith(PREFIX)}
    order = [value for name, value in event.items() if name in order_columns(len(event))]
    shown["op"] = None if kind is None else EventKind(kind).name.lower()
    return json.dumps({**shown, "order": order} if order else shown, default=str)


def refuse_bad(bad: Sequence[BadEvent], table: str) -> None:
    """Raises InvalidInput that names the first of them."""
    raise InvalidInput(
        f"table {table}: an event cannot be applied, {bad[0].reason}: {bad[0].event:.{_SHOWN}}. Nothing was committed; mend "
        "the events, or give dead_letters= a table that takes such events",
        table=table,
    )


def _without(events: pa.RecordBatch, rows: Sequence[int]) -> pa.RecordBatch:
    if not rows:
        return events
    keep = np.ones(events.num_rows, dtype=np.bool_)
    keep[list(rows)] = False
    return events.filter(pa.array(keep))


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)
