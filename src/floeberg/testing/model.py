"""A model of a table: a set of rows, and what each kind of change means for it. It knows no files, so it can judge those
who do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from floeberg.expr.build import eq, gte, lt
from floeberg.expr.nodes import TRUE, Expression, and_
from floeberg.testing.sim_rows import Row

Rows = frozenset[Row]
_PRIME: Final = 1_000_003
_WRAP: Final = (1 << 53) - 111


class NotPossible(Exception):
    """A change that went through could not have been made on the rows that were there."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Rows of a partition and a range of ids; None leaves it open."""

    p: int | None = None
    from_id: int | None = None
    below_id: int | None = None

    def __call__(self, row: Row) -> bool:
        return (
            (self.p is None or row.p == self.p)
            and (self.from_id is None or row.id >= self.from_id)
            and (self.below_id is None or row.id < self.below_id)
        )

    def expression(self) -> Expression:
        parts = [] if self.p is None else [eq("p", self.p)]
        parts += [] if self.from_id is None else [gte("id", self.from_id)]
        parts += [] if self.below_id is None else [lt("id", self.below_id)]
        return and_(*parts) if parts else TRUE


class Change(Protocol):
    """What a commit means for the rows of the branch it goes to."""

    def apply(self, before: Rows) -> Rows:
        """The rows after it. Raises NotPossible."""
        ...


@dataclass(frozen=True, slots=True)
class Nothing:
    """A change that leaves every row as it is: compaction, statistics, a new column."""

    def apply(self, before: Rows) -> Rows:
        return before


@dataclass(frozen=True, slots=True)
class Insert:
    rows: Rows

    def apply(self, before: Rows) -> Rows:
        return before | self.rows


@dataclass(frozen=True, slots=True)
class Delete:
    where: Condition

    def apply(self, before: Rows) -> Rows:
        return frozenset(row for row in before if not self.where(row))


@dataclass(frozen=True, slots=True)
class Update:
    """Gives every row of a condition a new version that follows from the old one and the change's number."""

    where: Condition
    number: int

    def version(self, row: Row) -> Row:
        return row._replace(v=(row.v * _PRIME + self.number) % _WRAP)

    def apply(self, before: Rows) -> Rows:
        return frozenset(self.version(row) if self.where(row) else row for row in before)


@dataclass(frozen=True, slots=True)
class Upsert:
    """New rows in place of those with the same (id, p)."""

    rows: Rows

    def apply(self, before: Rows) -> Rows:
        keys = {(row.id, row.p) for row in self.rows}
        return frozenset(row for row in before if (row.id, row.p) not in keys) | self.rows


@dataclass(frozen=True, slots=True)
class OverwriteWhere:
    where: Condition
    rows: Rows

    def apply(self, before: Rows) -> Rows:
        return frozenset(row for row in before if not self.where(row)) | self.rows


@dataclass(frozen=True, slots=True)
class ReplaceParts:
    """Replaces the partitions of the new rows; the whole table when it is not partitioned."""

    rows: Rows
    partitioned: bool

    def apply(self, before: Rows) -> Rows:
        parts = {row.p for row in self.rows}
        return frozenset(row for row in before if self.partitioned and row.p not in parts) | self.rows


@dataclass(frozen=True, slots=True)
class Planned:
    """A change as it was planned on a snapshot (snapshot isolation): these versions go, those come. Whoever changed one
    of them first wins."""

    gone: Rows
    new: Rows

    def apply(self, before: Rows) -> Rows:
        if lost := self.gone - before:
            raise NotPossible(f"rows that it changed had been changed by others: {sorted(lost)[:3]}")
        return (before - self.gone) | self.new


@dataclass(frozen=True, slots=True)
class Several:
    """Changes one after the other, as one."""

    changes: Sequence[Change]

    def apply(self, before: Rows) -> Rows:
        for change in self.changes:
            before = change.apply(before)
        return before


@dataclass(frozen=True, slots=True)
class Become:
    """The branch shows the rows of another snapshot (rollback, fast-forward); they are looked up when it is judged."""

    rows: Callable[[], Rows]

    def apply(self, before: Rows) -> Rows:
        return self.rows()


class TableModel:
    """The branches of a table as sets of rows."""

    def __init__(self, branches: dict[str, Rows] | None = None) -> None:
        self.branches: dict[str, Rows] = dict(branches or {})

    def rows(self, branch: str) -> Rows:
        return self.branches.get(branch, frozenset())

    def apply(self, branch: str, change: Change) -> Rows:
        """Makes a change of a branch. Raises NotPossible."""
        after = change.apply(self.rows(branch))
        self.branches[branch] = after
        return after
