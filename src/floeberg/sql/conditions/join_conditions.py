"""What a WHERE or ON says about columns of two relations: that two columns are equal, or that one is among a query's rows.

    Condition
    ├── SameValue(left, right)         a.x = b.y
    ├── InQuery(column, first)         a.x IN (SELECT …), a.x = (SELECT …)
    └── ExistsQuery(first)             EXISTS (SELECT …)

They count as parts that must all hold; under OR, NOT or CASE they say nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from floeberg.sql.conditions.condition_parser import ConditionParser
from floeberg.sql.conditions.predicates import Column, Condition, conjuncts
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.query_starts import starts_query


@dataclass(frozen=True, slots=True)
class SameValue(Condition):
    """Two columns are equal, and so neither is null."""

    left: Column
    right: Column


@dataclass(frozen=True, slots=True)
class InQuery(Condition):
    """A column is among the rows of the query that starts at a token. With `one_row` it equals the only one: Spark raises an
    error for more, so the query must keep all its rows."""

    column: Column
    first: int
    one_row: bool = False


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
        return (*super().leaf_readers(), self._same_value, self._in_query, self._scalar_query, self._exists_query)

    def _same_value(self) -> Condition | None:
        left = self._column()
        if self.cursor.advance().upper not in ("=", "=="):
            return None
        return SameValue(left, self._column())

    def _in_query(self) -> Condition | None:
        column = self._column()
        if not self.cursor.accept("IN") or not self._at("(") or not starts_query(self.cursor, self.cursor.index):
            return None
        first = self._past_query()
        # In parentheses of its own the query is an item of the list: its only row.
        return InQuery(column, first, one_row=self.cursor.tokens[first].upper == "(")

    def _scalar_query(self) -> Condition | None:
        """Equal to the one row of a query; none is null."""
        column = self._column()
        if self.cursor.advance().upper not in ("=", "==") or not self._at("("):
            return None
        return (
            InQuery(column, self._past_query(), one_row=True) if starts_query(self.cursor, self.cursor.index) else None
        )

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
