"""Random streams of CDC events, and a model that keeps the last row of each key."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

Row = tuple[int, int | None, str]
Event = tuple[str, tuple[Any, ...], tuple[Any, ...]]
INSERTS = ("I", "+i", "c", "r", "insert")
AFTERS = ("U", "+U", "u", "update_after")
BEFORES = ("-U", "update_before")
DELETES = ("D", "-d", "d", "delete")
COLUMNS = "id bigint, p int, v string"


@dataclass(slots=True)
class LastState:
    """A source table of rows (id, p, v) that changes at random; what it did comes out as events, numbered in order."""

    chance: random.Random
    first_key: int = 0
    keys: int = 6
    rows: dict[int, Row] = field(default_factory=dict)
    order: int = 0

    def change(self, *, upsert: bool) -> list[Event]:
        """One change of the source: an insert, update, delete, or a key that moves; with upsert also redelivered inserts."""
        self.order += 1
        key = self.chance.choice(self._keys())
        row = self.rows.get(key)
        if row is None:
            return [self._insert(key)]
        what = self.chance.randrange(5)
        if what == 0:
            del self.rows[key]
            return [(self._one(DELETES), self._before(row), (self.order,))]
        if what == 1:
            return self._move(key, row)
        if what == 2 and upsert:
            return [self._insert(key)]
        after = (self._one(AFTERS), self._new(key), (self.order,))
        before = (self._one(BEFORES), self._before(row), (self.order,))
        return [after, before] if self.chance.random() < 0.5 else [after]

    def _keys(self) -> range:
        return range(self.first_key, self.first_key + self.keys)

    def _move(self, key: int, row: Row) -> list[Event]:
        """The row takes another key, which may only be a free one."""
        free = [other for other in self._keys() if other not in self.rows]
        if not free:
            return []
        del self.rows[key]
        gone = (self._one((*BEFORES, *DELETES)), self._before(row), (self.order,))
        new = self._new(self.chance.choice(free))
        return [(self._one(AFTERS), new, (self.order,)), gone]

    def _insert(self, key: int) -> Event:
        return (self._one(INSERTS), self._new(key), (self.order,))

    def _new(self, key: int) -> Row:
        row = (key, self.chance.choice([None, 0, 1, 2]), f"v{self.order}")
        self.rows[key] = row
        return row

    def _before(self, row: Row) -> tuple[Any, ...]:
        """A whole image, or the key alone."""
        return row if self.chance.random() < 0.5 else (row[0], None, None)

    def _one(self, codes: tuple[str, ...]) -> str:
        return self.chance.choice(codes)

    def batch(self, changes: int, *, upsert: bool) -> list[Event]:
        """The events of so many changes, out of order and with some delivered twice."""
        events = [event for _ in range(changes) for event in self.change(upsert=upsert)]
        events += [event for event in events if self.chance.random() < 0.1]
        self.chance.shuffle(events)
        return events
