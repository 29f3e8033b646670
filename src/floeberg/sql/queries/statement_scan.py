"""Finds the queries inside a statement whose own grammar we do not read: CREATE … AS of another catalog, scripts."""

from __future__ import annotations

from typing import Final

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.sql.queries.query_nodes import Query, TableRelation
from floeberg.sql.queries.query_parser import QueryParser
from floeberg.sql.queries.scopes import ScopeWalk
from floeberg.sql.text.cursor import Cursor, UnresolvedIdentifier
from floeberg.sql.text.lexer import Kind, line_and_column, words
from floeberg.sql.text.names import display_name
from floeberg.sql.text.query_starts import QUERY_STARTS, starts_query

# Words after which a query may start in a script or in a statement that takes one.
_BEFORE_QUERY: Final = words("; ( BEGIN THEN ELSE DO AS LOOP REPEAT RETURN = : DEFAULT IMMEDIATE )")
_BEFORE_TABLE: Final = words(
    "INTO OVERWRITE CREATE REPLACE EXTERNAL DROP ALTER TRUNCATE REFRESH CACHE LAZY UNCACHE ANALYZE ON REPAIR DESCRIBE DESC"
)
_READS: Final = words("FROM JOIN USING")
_WRITES: Final = words("INTO UPDATE OVERWRITE")
_BEFORE_OBJECT: Final = words("CREATE REPLACE EXTERNAL DROP ALTER TRUNCATE")
_OBJECTS: Final = words("TABLE VIEW NAMESPACE DATABASE SCHEMA")
_BEFORE_DEFINITION: Final = words("CREATE ALTER OR REPLACE GLOBAL TEMPORARY TEMP MATERIALIZED")
_DEFINITIONS: Final = {"VIEW": "a view", "FUNCTION": "a SQL function"}


def scan_statement(cursor: Cursor, walk: ScopeWalk) -> None:
    """Walks every query that stands in the tokens; single names after FROM and JOIN where no query can be read.

    Raises UnsupportedFeature when the statement writes to, or changes, something of ours, or keeps a query over it for later.
    """
    definition: str | None = None
    while cursor.token.kind is not Kind.END:
        query = _query_here(cursor)
        if query is not None:
            before = len(walk.tables)
            walk.query(query)
            walk.roots.append(query)
            if definition is not None and len(walk.tables) > before:
                _refuse_definition(cursor, walk, definition)
            continue
        token = cursor.advance()
        if token.upper == ";":
            definition = None
        elif _is_definition(cursor):
            definition = _DEFINITIONS[token.upper]
        if _is_target(cursor):
            _refuse_target(cursor, walk)
        elif token.upper in _READS and cursor.token.is_name:
            _single_name(cursor, walk)


def _is_target(cursor: Cursor) -> bool:
    """Whether the word just read stands before the name of what the statement changes."""
    word = cursor.tokens[cursor.index - 1].upper
    previous = cursor.tokens[cursor.index - 2].upper if cursor.index > 1 else ""
    if word == "FROM":
        return previous == "DELETE"
    return word in _WRITES or (word in _OBJECTS and previous in _BEFORE_OBJECT)


def _is_definition(cursor: Cursor) -> bool:
    """Whether the word just read is the VIEW or FUNCTION of a statement that keeps its query."""
    at = cursor.index - 1
    if cursor.tokens[at].upper not in _DEFINITIONS:
        return False
    while at and cursor.tokens[at - 1].upper in _BEFORE_DEFINITION:
        at -= 1
    return cursor.tokens[at].upper in ("CREATE", "ALTER")


def _refuse_definition(cursor: Cursor, walk: ScopeWalk, definition: str) -> None:
    """The DataFrames of a statement end with it, and Spark would keep a query over them."""
    name = walk.tables[-1].relation.name
    raise UnsupportedFeature(
        f"{display_name(name.parts)} ({line_and_column(cursor.sql, name.start)}): Spark cannot keep {definition} over it in "
        "this form; CREATE [TEMPORARY] VIEW name [(columns)] [COMMENT …] AS query, by itself with spark.sql, makes a view",
        table=display_name(name.parts),
        position=name.start,
    )


def _query_here(cursor: Cursor) -> Query | None:
    at = cursor.index
    word = cursor.token.upper
    previous = cursor.tokens[at - 1].upper if at else ";"
    possible = (
        word == "SELECT"
        or (word == "(" and starts_query(cursor, at))
        or (word in QUERY_STARTS and previous in _BEFORE_QUERY)
        or (word == "TABLE" and previous not in _BEFORE_TABLE and cursor.peek().is_name)
        or (word == "WITH" and cursor.peek().is_name and cursor.peek(2).upper in ("AS", "("))
    )
    if not possible:
        return None
    try:
        return QueryParser(cursor).query()
    except UnresolvedIdentifier:
        raise
    except InvalidInput:
        cursor.index = at
        return None


def _refuse_target(cursor: Cursor, walk: ScopeWalk) -> None:
    at = cursor.index
    cursor.accept("TABLE")
    for optional in (("IF", "NOT", "EXISTS"), ("IF", "EXISTS")):
        cursor.accept(*optional)
    if not cursor.token.is_name:
        cursor.index = at
        return
    name = cursor.multipart()
    if walk.names.table(name.parts) is None:
        return
    where = line_and_column(cursor.sql, name.start)
    if cursor.tokens[0].upper == "FROM" and cursor.tokens[at - 2].upper == "INSERT":
        raise UnsupportedFeature(
            f"{display_name(name.parts)} ({where}): FROM … INSERT INTO … is not supported for our tables; run an "
            "INSERT INTO … SELECT for each of them"
        )
    raise UnsupportedFeature(
        f"{display_name(name.parts)} ({where}): a statement inside a script or another statement cannot change it; "
        "run that statement by itself with spark.sql",
        table=display_name(name.parts),
        position=name.start,
    )


def _single_name(cursor: Cursor, walk: ScopeWalk) -> None:
    """A table by its name alone. A name of one part may be a common table expression, and stays."""
    at = cursor.index
    relation = QueryParser(cursor).table_without_alias()
    if cursor.at("(") or not isinstance(relation, TableRelation) or len(relation.name.parts) < 2:
        cursor.index = max(at + 1, cursor.index)
        return
    relation.alias = QueryParser(cursor).alias()
    walk.single(relation)
