"""DEFAULT in what an INSERT inserts: Spark knows the word only for its own tables, so we put the values in."""

from __future__ import annotations

from dataclasses import dataclass

from floeberg.errors import InvalidInput
from floeberg.sql.queries.query_nodes import Expression, Query, Select, Values
from floeberg.sql.queries.query_parser import QueryParser
from floeberg.sql.statements.dml_statements import Insert
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Span, name_value


@dataclass(frozen=True, slots=True)
class DefaultUse:
    """The word DEFAULT in the place of a value, and the value's ordinal in its row, from 0."""

    span: Span
    ordinal: int


def query_text(sql: str, insert: Insert) -> str:
    """The whole query of an INSERT, with the WITH clause that stands before the statement."""
    query = insert.query.of(sql)
    if insert.ctes is None:
        return query
    if query.lstrip("(").lstrip().upper().startswith("WITH"):
        return f"{insert.ctes.of(sql)} SELECT * FROM ({query})"
    return f"{insert.ctes.of(sql)} {query}"


@dataclass(frozen=True, slots=True)
class Defaults:
    """Where DEFAULT may stand for a value. In the rows of VALUES it does; in the list of a SELECT it is a column where
    there is one of that name."""

    uses: tuple[DefaultUse, ...] = ()
    may_be_column: bool = False


def find_defaults(sql: str) -> Defaults:
    """Every DEFAULT that Spark takes for a value: in the rows of VALUES, or alone in the list of a plain SELECT, at the
    query's top."""
    cursor = Cursor(sql)
    if not any(_is_default(cursor, index) for index in range(len(cursor.tokens))):
        return Defaults()
    try:
        body: object = QueryParser(cursor).query()
    except InvalidInput:
        return Defaults()
    while isinstance(body, Query):
        if body.ctes:
            return Defaults()
        body = body.body
    if isinstance(body, Values):
        return Defaults(tuple(_of_rows(cursor, body.rows)))
    if not isinstance(body, Select) or body.distinct or body.group_by is not None or body.having is not None:
        return Defaults()
    found = (
        DefaultUse(Span(cursor.tokens[item.first].start, cursor.tokens[item.last - 1].end), ordinal)
        for ordinal, item in enumerate(body.items)
        if _is_alone(cursor, item)
    )
    return Defaults(tuple(found), may_be_column=bool(body.relations))


def _is_default(cursor: Cursor, index: int) -> bool:
    token = cursor.tokens[index]
    return token.is_name and name_value(cursor.text(token)).upper() == "DEFAULT"


def _is_alone(cursor: Cursor, item: Expression) -> bool:
    """`DEFAULT`, parentheses around it allowed."""
    first, last = item.first, item.last - 1
    while first < last and cursor.tokens[first].upper == "(" and cursor.tokens[last].upper == ")":
        first, last = first + 1, last - 1
    return first == last and _is_default(cursor, first)


def _of_rows(cursor: Cursor, rows: Expression) -> list[DefaultUse]:
    """`(1, DEFAULT), (2, f(DEFAULT))`: only the first one stands for a value."""
    found: list[DefaultUse] = []
    depth = ordinal = 0
    for index in range(rows.first, rows.last):
        token = cursor.tokens[index]
        if token.upper == "(":
            depth += 1
            ordinal = 0 if depth == 1 else ordinal
        elif token.upper == ")":
            depth -= 1
        elif token.upper == "," and depth == 1:
            ordinal += 1
        elif _is_default(cursor, index) and depth <= 1 and _alone(cursor, index):
            found.append(DefaultUse(Span(token.start, token.end), ordinal if depth else 0))
    return found


def _alone(cursor: Cursor, index: int) -> bool:
    before = cursor.tokens[index - 1].upper
    return before in ("(", ",", "VALUES") and cursor.tokens[index + 1].upper in (")", ",", ";", "")
