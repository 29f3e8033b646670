"""Random histories of a table whose rows are noted after every snapshot, and what a changelog of them must hold."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from floeberg.errors import InvalidInput
from floeberg.spec.snapshots.snapshot import Operation
from floeberg.spec.types import UNSET
from floeberg.testing.table_builder import TableBuilder
from lakes.cdc_batches import write_batch

Row = tuple[str, ...]
"""The values of a row as text, which tells NaN from NaN nowhere and -0.0 from 0.0."""
Rows = Counter[Row]
MODES = ("copy-on-write", "merge-on-read")
SPECS = ((), ("p",), ("bucket(3, id)",), ("x",), ("p", "truncate(1, v)"))
CHANGE_COLUMNS = ("_change_type", "_change_ordinal", "_commit_snapshot_id")
FIRST_COLUMNS = ("id", "p", "v", "x", "s")


class History:
    """A table and, by snapshot, the rows that a scan found then, each by field id. `id` is unique."""

    def __init__(self, rng: random.Random, *, versions: Iterable[int] = (1, 2, 2, 3, 3, 3), **where: Any) -> None:
        """`where` are the catalog and the name of the table, in memory by default."""
        self.rng = rng
        self.builder = TableBuilder(
            "id bigint, p int, v string, x double, s struct<a: int, b: array<string>>",
            partition_by=rng.choice(SPECS),
            format_version=rng.choice(list(versions)),
            properties={"commit.manifest.min-count-to-merge": rng.choice(["2", "100"])},
            **where,
        )
        self.states: dict[int, list[dict[int, Any]]] = {}
        self.done: list[str] = []
        self.next_id = 0
        self.has_dropped = False

    @property
    def table(self) -> Any:
        return self.builder.table

    def run(self, steps: int) -> None:
        self.append()
        for _ in range(steps):
            step = self.rng.choice(self._steps())
            self.builder.set({f"write.{kind}.mode": self.rng.choice(MODES) for kind in ("delete", "update", "merge")})
            try:
                step()
                self.done.append(step.__name__)
            except InvalidInput as refused:
                self.done.append(f"{step.__name__} refused: {refused}")
            self._note()

    def _steps(self) -> list[Callable[[], object]]:
        steps: list[Callable[[], object]] = [
            *(2 * [self.append]), *(3 * [self.update]), *(2 * [self.delete]), *(2 * [self.upsert]), self.overwrite, self.compact,
            self.evolve_schema, self.evolve_spec, self.upgrade,
        ]  # fmt: skip
        return steps + 3 * [self.change_events] + [self.rewrite_deletes] if self.table.format_version > 1 else steps

    def _note(self) -> None:
        snapshot = self.table.refresh().current_snapshot
        if snapshot.snapshot_id not in self.states:
            rows = self.table.scan().to_arrow().to_pylist()
            fields = self.table.schema.fields
            self.states[snapshot.snapshot_id] = [{f.field_id: row[f.name] for f in fields} for row in rows]

    # what happens

    def _new_row(self, number: int) -> dict[str, Any]:
        rng = self.rng
        values = {
            "id": number,
            "p": rng.choice([None, 0, 1]),
            "v": rng.choice([None, "a", "b", "ab"]),
            "x": rng.choice([None, float("nan"), 0.0, -0.0, 1.5]),
            "s": rng.choice([None, {"a": 1, "b": None}, {"a": None, "b": ["x", None]}]),
        }
        return {f.name: values.get(self._original(f.field_id), rng.choice([None, 7])) for f in self.table.schema.fields}

    def _original(self, field_id: int) -> str:
        return FIRST_COLUMNS[field_id - 1] if field_id <= len(FIRST_COLUMNS) else ""

    def _arrow(self, rows: list[dict[str, Any]]) -> pa.Table:
        return self.builder.arrow(tuple(row.values()) for row in rows)

    def _fresh(self, count: int) -> list[dict[str, Any]]:
        first, self.next_id = self.next_id, self.next_id + count
        return [self._new_row(number) for number in range(first, first + count)]

    def append(self) -> None:
        self.table.append(self._arrow(self._fresh(self.rng.randrange(1, 8))))
        self._note()

    def _some_ids(self) -> list[int]:
        return self.rng.sample(range(self.next_id), self.rng.randrange(1, min(4, self.next_id) + 1))

    def _condition(self) -> str:
        return f"id IN ({', '.join(map(str, self._some_ids()))})"

    def update(self) -> None:
        row = self._new_row(0)
        names = [name for name in row if name not in ("id", "s")]
        self.table.update({name: row[name] for name in self.rng.sample(names, 1)}, where=self._condition())

    def delete(self) -> None:
        self.table.delete(self._condition())

    def upsert(self) -> None:
        rows = [self._new_row(number) for number in self._some_ids()] + self._fresh(self.rng.randrange(2))
        self.table.upsert(self._arrow(rows), on=["id"])

    def overwrite(self) -> None:
        ids = self._some_ids()
        rows = [self._new_row(number) for number in ids[: self.rng.randrange(len(ids) + 1)]]
        self.table.overwrite(self._arrow(rows), where=f"id IN ({', '.join(map(str, ids))})")

    def change_events(self) -> None:
        """What the delta writer makes of upserts and deletes, several of one key among them: equality deletes."""
        events: list[Any] = []
        for number in range(self.rng.randrange(1, 6)):
            key = self.rng.choice([*self._some_ids(), self.next_id])
            self.next_id = max(self.next_id, key + 1)
            row = tuple(self._new_row(key).values())
            gone = tuple(value if name == "id" else None for name, value in self._new_row(key).items())
            is_delete = self.rng.random() < 0.4
            events.append(("D" if is_delete else "U", gone if is_delete else row, (number,)))
        write_batch(self.builder, events, tasks=self.rng.choice([1, 2]), collapse=self.rng.random() < 0.3)

    def compact(self) -> None:
        self.table.maintenance.compact(options={"rewrite-all": "true"})

    def rewrite_deletes(self) -> None:
        self.table.maintenance.rewrite_deletes()

    def evolve_schema(self) -> None:
        kind = self.rng.choice(["add", "drop", "rename", "move", "promote"])
        names = [field.name for field in self.table.schema.fields if field.name != "id"]
        with self.table.update_schema() as update:
            if kind == "add":
                default = {"default": 5} if self.table.format_version > 2 and self.rng.random() < 0.5 else {}
                update.add_column(f"n{len(self.done)}", "int", **default)
            elif kind == "drop":
                update.drop_column(self.rng.choice(names))
            elif kind == "rename":
                update.rename_column(self.rng.choice(names), f"r{len(self.done)}")
            elif kind == "move":
                update.move_first(self.rng.choice(names))
            else:
                update.update_type("p", "long")
        self.has_dropped = self.has_dropped or kind == "drop"

    def evolve_spec(self) -> None:
        with self.table.update_spec() as update:
            for field in self.table.spec.fields:
                if str(field.transform) != "void":
                    update.remove_field(field.name)
            for term in self.rng.choice(SPECS):
                update.add_field(term)

    def upgrade(self) -> None:
        version = self.table.format_version
        if version < 3 and self.rng.random() < 0.5:
            self.builder.set({"format-version": str(version + 1)})

    # what must be

    @property
    def snapshots(self) -> list[Any]:
        return list(reversed(list(self.table.metadata.ancestors(self.table.current_snapshot.snapshot_id))))

    def rows_at(self, snapshot_id: int | None) -> Rows:
        """The rows of a snapshot in the current schema; a column that was added since has its initial default."""
        if snapshot_id is None:
            return Counter()
        fields = self.table.schema.fields
        defaults = {f.field_id: None if f.initial_default is UNSET else f.initial_default for f in fields}
        return Counter(
            as_row(row.get(f.field_id, defaults[f.field_id]) for f in fields) for row in self.states[snapshot_id]
        )

    def net(self, start: int | None, end: int) -> tuple[Rows, Rows]:
        """The rows that went and came between two snapshots."""
        before, after = self.rows_at(start), self.rows_at(end)
        return before - after, after - before

    def changed_snapshots(self, start: int | None, end: int) -> list[Any]:
        """The snapshots after one up to another that may change rows."""
        found = self.snapshots
        ids = [snapshot.snapshot_id for snapshot in found]
        chosen = found[0 if start is None else ids.index(start) + 1 : ids.index(end) + 1]
        return [snapshot for snapshot in chosen if snapshot.operation != Operation.REPLACE]


def as_row(values: Iterable[Any]) -> Row:
    return tuple(repr(value) for value in values)


def row_of(change: dict[str, Any]) -> Row:
    return as_row(value for name, value in change.items() if name not in CHANGE_COLUMNS)


def applied(before: Rows, changes: Iterable[dict[str, Any]]) -> Rows:
    """The rows after the changes, in the order in which they come; those of one snapshot that delete rows are first."""
    after = Counter(before)
    ordered = sorted(
        changes, key=lambda row: (row["_change_ordinal"], row["_change_type"] in ("INSERT", "UPDATE_AFTER"))
    )
    for change in ordered:
        row = row_of(change)
        if change["_change_type"] in ("DELETE", "UPDATE_BEFORE"):
            assert after[row] > 0, f"a row is deleted that is not there: {change}"
            after[row] -= 1
        else:
            after[row] += 1
    return +after


def by_type(changes: Iterable[dict[str, Any]], kind: str) -> Rows:
    return Counter(row_of(change) for change in changes if change["_change_type"] == kind)
