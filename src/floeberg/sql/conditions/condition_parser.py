"""Reads conditions from tokens: a small part of Spark's expressions, and Unknown for all the rest.

A leaf counts only if it ends where AND, OR or the condition ends; so nothing is cut out of a larger expression.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.sql.conditions.predicates import (
    FLIPPED_OPS,
    UNKNOWN,
    AllOf,
    AnyOf,
    Column,
    Compare,
    Condition,
    InList,
    IsNull,
    Prefix,
    SparkLiteral,
    Truth,
    negate,
)
from floeberg.sql.text.case_ends import closes_case
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Kind, name_value, words
from floeberg.sql.text.numbers import number_value
from floeberg.sql.text.query_starts import starts_query

_OPS: Final = {
    "=": "=", "==": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", "!>": "<=", ">": ">", ">=": ">=", "!<": ">=",
    "<=>": "<=>",
}  # fmt: skip
_TEMPORAL: Final = words("DATE TIMESTAMP TIMESTAMP_NTZ TIMESTAMP_LTZ")
_NO_COLUMN: Final = words("CASE NOT EXISTS INTERVAL CAST TRY_CAST AND OR IS IN LIKE BETWEEN DISTINCT")
_NULL: Final = SparkLiteral("null", None)
_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1
_MAX_DEPTH: Final = 100


class _NotRead(Exception):
    """The tokens are no condition of ours; control flow inside this module."""


def parse_condition(cursor: Cursor, first: int, last: int) -> Condition:
    """What the tokens from `first` up to but without `last` say."""
    return ConditionParser(cursor, last).read(first)


class ConditionParser:
    """One condition; `last` is the token where it ends."""

    def __init__(self, cursor: Cursor, last: int) -> None:
        self.cursor = cursor
        self.last = last
        self.depth = 0

    def read(self, first: int) -> Condition:
        self.cursor.index = first
        try:
            found = self._or()
        except _NotRead:
            return UNKNOWN
        return found if self.cursor.index >= self.last else UNKNOWN

    def _at(self, *expected: str) -> bool:
        return self.cursor.index < self.last and self.cursor.at(*expected)

    def _or(self) -> Condition:
        self.depth += 1
        try:
            if self.depth > _MAX_DEPTH:
                raise _NotRead
            parts = [self._and()]
            while self._at("OR"):
                self.cursor.advance()
                parts.append(self._and())
        finally:
            self.depth -= 1
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _and(self) -> Condition:
        parts = [self._not()]
        while self._at("AND"):
            self.cursor.advance()
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _not(self) -> Condition:
        negations = 0
        while self._at("NOT") or self._at("!"):
            self.cursor.advance()
            negations += 1
        found = self._predicate()
        return negate(found) if negations % 2 else found

    def leaf_readers(self) -> tuple[Callable[[], Condition | None], ...]:
        """What may stand between AND and OR; each gives None, or raises, for what it does not read."""
        return (self._parenthesis, self._leaf, self._flipped, self._starts_with)

    def _predicate(self) -> Condition:
        first = self.cursor.index
        for read in self.leaf_readers():
            try:
                found = read()
            except (_NotRead, InvalidInput):
                found = None
            if found is not None and self._ended():
                return found
            self.cursor.index = first
        self._skip()
        return UNKNOWN

    def _ended(self) -> bool:
        return self.cursor.index >= self.last or self.cursor.at_any("AND", "OR")

    def _skip(self) -> None:
        """Past a predicate that says nothing; the AND of a BETWEEN belongs to it, CASE goes to its END."""
        cursor = self.cursor
        start = cursor.index
        betweens = cases = 0
        while cursor.index < self.last:
            upper = cursor.token.upper
            if upper == "CASE":
                cases += 1
            elif cases and closes_case(cursor.tokens, cursor.index):
                cases -= 1
            elif upper == "BETWEEN" and not cases:
                betweens += 1
            elif upper == "AND" and betweens and not cases:
                betweens -= 1
            elif upper in ("AND", "OR") and not cases and cursor.index > start:
                return
            if upper == "(":
                cursor.skip_parentheses()
            else:
                cursor.advance()
        if cursor.index > self.last:
            raise _NotRead

    def _parenthesis(self) -> Condition | None:
        cursor = self.cursor
        if not self._at("(") or starts_query(cursor, cursor.index):
            return None
        closing = cursor.closing(cursor.index)
        if closing >= self.last:
            raise _NotRead
        cursor.advance()
        outer, self.last = self.last, closing
        try:
            found = self._or()
            if cursor.index != closing:
                raise _NotRead
        finally:
            self.last = outer
        cursor.index = closing + 1
        return found

    def _leaf(self) -> Condition | None:
        """A column first."""
        cursor = self.cursor
        column = self._column()
        if self._ended():
            return Truth(column)
        op = _OPS.get(cursor.token.upper)
        if op is not None:
            cursor.advance()
            return Compare(column, op, self._literal())
        if cursor.accept("IS"):
            return self._is(column)
        negated = cursor.accept("NOT")
        if cursor.accept("IN", "("):
            found: Condition = InList(column, self._literals())
        elif cursor.accept("BETWEEN"):
            low = self._literal()
            cursor.expect("AND")
            found = AllOf((Compare(column, ">=", low), Compare(column, "<=", self._literal())))
        elif cursor.accept("LIKE"):
            found = self._like(column)
        else:
            raise _NotRead
        return negate(found) if negated else found

    def _is(self, column: Column) -> Condition:
        cursor = self.cursor
        negated = cursor.accept("NOT")
        word = cursor.advance().upper
        if word == "NULL":
            return IsNull(column, negated)
        if word in ("TRUE", "FALSE"):
            found: Condition = Compare(column, "<=>", SparkLiteral("boolean", word == "TRUE"))
            return negate(found) if negated else found
        raise _NotRead

    def _like(self, column: Column) -> Condition:
        literal = self._literal()
        pattern = literal.value
        if literal.type != "string" or not isinstance(pattern, str) or "_" in pattern or "\\" in pattern:
            raise _NotRead
        if not pattern.endswith("%") or "%" in pattern[:-1]:
            raise _NotRead
        return Prefix(column, pattern[:-1])

    def _flipped(self) -> Condition | None:
        """A literal first."""
        literal = self._literal()
        op = _OPS.get(self.cursor.advance().upper)
        if op is None:
            raise _NotRead
        return Compare(self._column(), FLIPPED_OPS[op], literal)

    def _starts_with(self) -> Condition | None:
        cursor = self.cursor
        if not cursor.accept("STARTSWITH", "("):
            return None
        column = self._column()
        cursor.expect(",")
        literal = self._literal()
        cursor.expect(")")
        return Prefix(column, literal.value) if isinstance(literal.value, str) and literal.type == "string" else None

    def _column(self) -> Column:
        cursor = self.cursor
        token = cursor.token
        if not token.is_name or token.is_constant or token.upper in _NO_COLUMN or cursor.index >= self.last:
            raise _NotRead
        parts = [name_value(cursor.text(cursor.advance()))]
        while self._at("."):
            cursor.advance()
            if not cursor.token.is_name:
                raise _NotRead
            parts.append(name_value(cursor.text(cursor.advance())))
        return tuple(parts)

    def _literals(self) -> tuple[SparkLiteral, ...]:
        found = [self._literal()]
        while self.cursor.accept(","):
            found.append(self._literal())
        self.cursor.expect(")")
        return tuple(found)

    def _literal(self) -> SparkLiteral:
        cursor = self.cursor
        upper = cursor.token.upper
        if cursor.at_kind(Kind.STRING):
            return SparkLiteral("string", self._text())
        if cursor.at_kind(Kind.NUMBER) or upper == "-":
            return self._sum()
        if upper in ("TRUE", "FALSE"):
            cursor.advance()
            return SparkLiteral("boolean", upper == "TRUE")
        if upper == "NULL":
            cursor.advance()
            return _NULL
        if upper in (":", "?"):
            return _from_python(cursor.parameter())
        if upper == "X" and cursor.peek().kind is Kind.STRING:
            cursor.advance()
            return _binary(self._text())
        if upper in _TEMPORAL and cursor.peek().kind is Kind.STRING:
            cursor.advance()
            return SparkLiteral(upper.lower(), self._text())
        if upper in ("DATE", "TIMESTAMP") and cursor.accept(upper, "("):
            found = SparkLiteral(upper.lower(), self._text())
            cursor.expect(")")
            return found
        if cursor.accept("CAST", "("):
            return self._cast()
        raise _NotRead

    def _cast(self) -> SparkLiteral:
        """CAST('…' AS DATE) and the like."""
        cursor = self.cursor
        text = self._text()
        cursor.expect("AS")
        word = cursor.advance().upper
        cursor.expect(")")
        if word not in _TEMPORAL:
            raise _NotRead
        return SparkLiteral(word.lower(), text)

    def _text(self) -> str:
        """One string without escapes: with them its value depends on the session's settings."""
        cursor = self.cursor
        if not cursor.at_kind(Kind.STRING):
            raise _NotRead
        text = cursor.text(cursor.advance())
        if cursor.at_kind(Kind.STRING) or text[0] not in "'\"":
            raise _NotRead
        body = text[1:-1]
        if "\\" in body or text[0] in body:
            raise _NotRead
        return body

    def _sum(self) -> SparkLiteral:
        """A number, or ints with + and - between, as in `1200 + 11`. Raises _NotRead for a sum that Spark may not give."""
        found = self._number()
        while self._at("+") or self._at("-"):
            subtracts = self.cursor.advance().upper == "-"
            other = self._number()
            if found.type != "int" or other.type != "int":
                raise _NotRead
            assert isinstance(found.value, int)
            assert isinstance(other.value, int)
            total = found.value - other.value if subtracts else found.value + other.value
            if abs(total) > _INT_MAX:
                raise _NotRead
            found = SparkLiteral("int", total)
        return found

    def _number(self) -> SparkLiteral:
        cursor = self.cursor
        negative = cursor.accept("-")
        if not cursor.at_kind(Kind.NUMBER):
            raise _NotRead
        number = number_value(cursor.text(cursor.advance()))
        return SparkLiteral(number.type, -number.value if negative else number.value)


def _binary(text: str) -> SparkLiteral:
    try:
        return SparkLiteral("binary", bytes.fromhex(text if len(text) % 2 == 0 else "0" + text))
    except ValueError:
        raise _NotRead from None


def _from_python(value: object) -> SparkLiteral:
    """The literal that Spark makes of a parameter's value."""
    match value:
        case bool():
            return SparkLiteral("boolean", value)
        case int() if abs(value) <= _INT_MAX:
            return SparkLiteral("int", value)
        case int() if abs(value) <= _LONG_MAX:
            return SparkLiteral("bigint", value)
        case float() if value == value:
            return SparkLiteral("double", value)
        case str():
            return SparkLiteral("string", value)
        case Decimal() if value.is_finite():
            return SparkLiteral("decimal", value)
        case dt.date() if not isinstance(value, dt.datetime):
            return SparkLiteral("date", value.isoformat())
        case dt.datetime() if value.tzinfo is not None:
            return SparkLiteral("timestamp_ltz", value.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S.%fZ"))
    raise _NotRead
