"""DEFAULT in what an INSERT inserts: Spark knows the word only for its own tables, so we put the values in."""

from __future__ import annotations

from dataclasses import dataclass

from floeberg.errors import InvalidInput
from floeberg.sql.queries.query_nodes import Expression, Query, Select, Values
from floeberg.sql.queries.query_parser import QueryParser
from floeberg.sql.statements.dml_statements import Insert
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Kind, Span


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


def find_defaults(sql: str) -> tuple[DefaultUse, ...]:
    """Every DEFAULT that stands for a value in the rows of VALUES or in the list of a SELECT at the query's top."""
    cursor = Cursor(sql)
    if not any(token.upper == "DEFAULT" for token in cursor.tokens):
        return ()
    try:
        body: object = QueryParser(cursor).query()
    except InvalidInput:
        return ()
    while isinstance(body, Query):
        body = body.body
    if isinstance(body, Values):
        return tuple(_of_rows(cursor, body.rows))
    if isinstance(body, Select):
        return tuple(
            DefaultUse(Span(cursor.tokens[item.first].start, cursor.tokens[item.first].end), ordinal)
            for ordinal, item in enumerate(body.items)
            if item.last - item.first == 1 and cursor.tokens[item.first].upper == "DEFAULT"
        )
    return ()


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
        elif token.kind is Kind.WORD and token.upper == "DEFAULT" and depth <= 1 and _alone(cursor, index):
            found.append(DefaultUse(Span(token.start, token.end), ordinal if depth else 0))
    return found


def _alone(cursor: Cursor, index: int) -> bool:
    before = cursor.tokens[index - 1].upper
    return before in ("(", ",", "VALUES") and cursor.tokens[index + 1].upper in (")", ",", ";", "")
