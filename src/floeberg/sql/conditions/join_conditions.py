"""What a WHERE or ON says about columns of two relations: that two columns are equal, or that one is among a query's rows.

    Condition
    ├── SameValue(left, right)         a.x = b.y
    ├── InQuery(column, first)         a.x IN (SELECT …)
    ├── ToRow(column, op, first)       a.x = (SELECT …), a.x BETWEEN (SELECT …) AND (SELECT …)
    └── ExistsQuery(first)             EXISTS (SELECT …)

They count as parts that must all hold; under OR, NOT or CASE they say nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from floeberg.sql.conditions.condition_parser import ConditionParser
from floeberg.sql.conditions.predicates import AllOf, Column, Condition, conjuncts
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.query_starts import starts_query

_ROW_OPS: Final = frozenset({"=", "<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class SameValue(Condition):
    """Two columns are equal, and so neither is null."""

    left: Column
    right: Column


@dataclass(frozen=True, slots=True)
class InQuery(Condition):
    """A column is among the rows of the query that starts at a token."""

    column: Column
    first: int


@dataclass(frozen=True, slots=True)
class ToRow(Condition):
    """A column compares by `op`, which is =, <, <=, > or >=, with the only row of the query that starts at a token. Spark
    raises an error for more rows, so the query must keep all of its own."""

    column: Column
    op: str
    first: int


@dataclass(frozen=True, slots=True)
class ExistsQuery(Condition):
    """The query that starts at a token has rows."""

    first: int


def parse_join_condition(cursor: Cursor, first: int, last: int) -> list[Condition]:
    """The parts of a condition that must all hold, those about two relations among them."""
    return conjuncts(_JoinConditionParser(cursor, last).read(first))


class _JoinConditionParser(ConditionParser):
    """Reads more leaves. Their negation is Unknown, as is that of any leaf that `negate` does not know."""

    def leaf_readers(self) -> tuple[Callable[[], Condition | None], ...]:
        return (
            *super().leaf_readers(),
            self._same_value,
            self._in_query,
            self._to_row,
            self._between_rows,
            self._exists_query,
        )

    def _same_value(self) -> Condition | None:
        left = self._column()
        if self.cursor.advance().upper not in ("=", "=="):
            return None
        return SameValue(left, self._column())

    def _in_query(self) -> Condition | None:
        column = self._column()
        if not self.cursor.accept("IN") or not self._at_query():
            return None
        first = self._past_query()
        # In parentheses of its own the query is an item of the list: its only row.
        return ToRow(column, "=", first) if self.cursor.tokens[first].upper == "(" else InQuery(column, first)

    def _to_row(self) -> Condition | None:
        """Compared with the one row of a query; none is null."""
        column = self._column()
        op = self.cursor.advance().upper
        op = "=" if op == "==" else op
        return ToRow(column, op, self._past_query()) if op in _ROW_OPS and self._at_query() else None

    def _between_rows(self) -> Condition | None:
        column = self._column()
        if not self.cursor.accept("BETWEEN") or not self._at_query():
            return None
        least = ToRow(column, ">=", self._past_query())
        if not self.cursor.accept("AND") or not self._at_query():
            return None
        return AllOf((least, ToRow(column, "<=", self._past_query())))

    def _at_query(self) -> bool:
        return self._at("(") and starts_query(self.cursor, self.cursor.index)

    def _exists_query(self) -> Condition | None:
        if not self._at("EXISTS", "(") or not starts_query(self.cursor, self.cursor.index + 1):
            return None
        self.cursor.advance()
        return ExistsQuery(self._past_query())

    def _past_query(self) -> int:
        """The query's first token; the cursor goes past its closing parenthesis."""
        first = self.cursor.index + 1
        self.cursor.skip_parentheses()
        return first
