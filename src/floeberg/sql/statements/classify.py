"""Decides what a statement is: one that we execute, a query over our tables, or Spark's own.

Most statements of a session are not ours. A search for the name of a catalog and the first word tell them apart; only
statements that may be ours are parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.sql.queries.query_parser import QueryParser
from floeberg.sql.queries.references import find_references
from floeberg.sql.statements.grammar import NotOurs
from floeberg.sql.statements.grammar_alter import AlterGrammar
from floeberg.sql.statements.grammar_call import CallGrammar
from floeberg.sql.statements.grammar_create import CreateGrammar
from floeberg.sql.statements.grammar_dml import DmlGrammar
from floeberg.sql.statements.grammar_session import NAMESPACE_WORDS, SessionGrammar
from floeberg.sql.statements.statements import Explain, PassThrough, QueryText, Statement
from floeberg.sql.text.cursor import Args, Cursor, UnresolvedIdentifier
from floeberg.sql.text.lexer import Kind, Span, first_words, line_and_column, tokenize, words
from floeberg.sql.text.names import Names

Classified: TypeAlias = Statement | QueryText | PassThrough
_Read: TypeAlias = Callable[[Cursor, Names], Statement]

PASS_THROUGH: Final = PassThrough()

# Statements about the session itself: they are read whether or not they name a catalog of ours.
_ALWAYS: Final = (("USE", ""), ("SET", "CATALOG"), ("SHOW", "CATALOGS"))
_KNOWN: Final = words(
    "CREATE REPLACE DROP ALTER DESCRIBE DESC SHOW USE REFRESH CACHE UNCACHE TRUNCATE INSERT DELETE UPDATE MERGE CALL "
    "WITH SELECT FROM VALUES TABLE EXPLAIN SET COMMENT ANALYZE BEGIN DECLARE EXECUTE MSCK REPAIR"
)


_BEFORE_STATEMENT: Final = words("; BEGIN THEN ELSE DO LOOP REPEAT")


def classify(sql: str, names: Names, *, args: Args = None, double_quoted_identifiers: bool = False) -> Classified:
    """What to do with a statement.

    Raises InvalidInput with the place and a hint when a statement that is ours is malformed, UnsupportedFeature when we
    know it and do not have it. What is not ours is never refused.
    """
    always = False
    if not names.may_mention(sql):
        first, second = first_words(sql)
        always = any(first == word and (not rest or second == rest) for word, rest in _ALWAYS)
        if not always:
            return PASS_THROUGH
    try:
        tokens = tokenize(sql, double_quoted_identifiers=double_quoted_identifiers)
    except InvalidInput:
        return PASS_THROUGH  # Spark says what is wrong with it
    cursor = Cursor(sql, tokens=tokens, args=args)
    first = cursor.token.upper
    if first != "(" and first not in _KNOWN:
        return PASS_THROUGH
    try:
        return _statement(cursor, names)
    except NotOurs:
        return _query_or_nothing(cursor, names)
    except UnresolvedIdentifier:
        raise
    except InvalidInput:
        if cursor.owned:
            raise
        return _query_or_nothing(cursor, names)


def _query_or_nothing(cursor: Cursor, names: Names) -> Classified:
    references = find_references(cursor.sql, names, cursor=cursor, args=cursor.args)
    return QueryText(references) if references else PASS_THROUGH


def _statement(cursor: Cursor, names: Names) -> Statement:
    """The statement at the cursor. Raises NotOurs for queries and for what is Spark's."""
    first = cursor.token.upper
    if first == "EXPLAIN":
        return _explain(cursor, names)
    if first == "WITH":
        return _with_dml(cursor, names)
    if first in ("EXECUTE", "BEGIN"):
        _refuse_immediate(cursor, names)
    read = _READERS.get(first)
    if read is None:
        raise NotOurs
    cursor.advance()
    return read(cursor, names)


def _explain(cursor: Cursor, names: Names) -> Statement:
    cursor.advance()
    mode = cursor.accept_any("LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST")
    return Explain(_statement(cursor, names), mode.lower() if mode else None)


def _with_dml(cursor: Cursor, names: Names) -> Statement:
    """`WITH … INSERT|DELETE|UPDATE|MERGE`; anything else after WITH is a query."""
    start = cursor.start
    try:
        QueryParser(cursor).with_clause()
    except UnresolvedIdentifier:
        raise
    except InvalidInput:
        raise NotOurs from None
    ctes = Span(start, cursor.last_end)
    grammar = DmlGrammar(cursor, names, ctes=ctes)
    readers: dict[str, Callable[[], Statement]] = {
        "INSERT": grammar.insert,
        "DELETE": grammar.delete,
        "UPDATE": grammar.update,
        "MERGE": grammar.merge,
    }
    read = readers.get(cursor.token.upper)
    if read is None:
        raise NotOurs
    cursor.advance()
    return read()


def _refuse_immediate(cursor: Cursor, names: Names) -> None:
    """EXECUTE IMMEDIATE 'text' would hide our tables from us, in a script too."""
    if not executes_text(cursor):
        return
    for token in cursor.tokens:
        if token.kind is Kind.STRING and isinstance(_inner(cursor.text(token)[1:-1], names), Statement | QueryText):
            where = line_and_column(cursor.sql, token.start)
            raise UnsupportedFeature(
                f"EXECUTE IMMEDIATE over our tables is not supported ({where}); run the statement with spark.sql",
                position=token.start,
            )


def executes_text(cursor: Cursor) -> list[int]:
    """The tokens where EXECUTE IMMEDIATE stands as a statement, by itself or in a script."""
    tokens = cursor.tokens
    return [
        at
        for at, token in enumerate(tokens[:-1])
        if token.upper == "EXECUTE"
        and tokens[at + 1].upper == "IMMEDIATE"
        and (at == 0 or tokens[at - 1].upper in _BEFORE_STATEMENT)
    ]


def _inner(text: str, names: Names) -> Classified:
    try:
        return classify(text, names)
    except InvalidInput:
        return PASS_THROUGH


def _create(cursor: Cursor, names: Names) -> Statement:
    if cursor.at_any(*NAMESPACE_WORDS):
        return SessionGrammar(cursor, names).create_namespace()
    return CreateGrammar(cursor, names).create()


def _drop(cursor: Cursor, names: Names) -> Statement:
    if cursor.at_any(*NAMESPACE_WORDS):
        return SessionGrammar(cursor, names).drop_namespace()
    if not cursor.at_any("TABLE", "VIEW"):
        raise NotOurs
    return CreateGrammar(cursor, names).drop()


def _alter(cursor: Cursor, names: Names) -> Statement:
    if cursor.at_any(*NAMESPACE_WORDS):
        return SessionGrammar(cursor, names).alter_namespace()
    return AlterGrammar(cursor, names).alter()


def _describe(cursor: Cursor, names: Names) -> Statement:
    if cursor.at_any("QUERY", "SELECT", "WITH", "FROM", "VALUES") and cursor.peek().upper != ".":
        raise NotOurs
    return SessionGrammar(cursor, names).describe()


def _set(cursor: Cursor, names: Names) -> Statement:
    if not cursor.at("CATALOG"):
        raise NotOurs
    return SessionGrammar(cursor, names).set_catalog()


def _repair(cursor: Cursor, names: Names) -> Statement:
    cursor.accept("REPAIR")
    if not cursor.accept("TABLE"):
        raise NotOurs
    grammar = SessionGrammar(cursor, names)
    grammar.table()
    raise grammar.unsupported("REPAIR TABLE statements", "partitions are in the table's metadata; nothing to repair")


_READERS: Final[dict[str, _Read]] = {
    "CREATE": _create,
    "DROP": _drop,
    "ALTER": _alter,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "SET": _set,
    "MSCK": _repair,
    "REPAIR": _repair,
    "REPLACE": lambda cursor, names: CreateGrammar(cursor, names).replace(),
    "SHOW": lambda cursor, names: SessionGrammar(cursor, names).show(),
    "USE": lambda cursor, names: SessionGrammar(cursor, names).use(),
    "REFRESH": lambda cursor, names: SessionGrammar(cursor, names).refresh(),
    "CACHE": lambda cursor, names: SessionGrammar(cursor, names).cache(),
    "UNCACHE": lambda cursor, names: SessionGrammar(cursor, names).uncache(),
    "TRUNCATE": lambda cursor, names: SessionGrammar(cursor, names).truncate(),
    "COMMENT": lambda cursor, names: SessionGrammar(cursor, names).comment(),
    "ANALYZE": lambda cursor, names: SessionGrammar(cursor, names).analyze(),
    "INSERT": lambda cursor, names: DmlGrammar(cursor, names).insert(),
    "DELETE": lambda cursor, names: DmlGrammar(cursor, names).delete(),
    "UPDATE": lambda cursor, names: DmlGrammar(cursor, names).update(),
    "MERGE": lambda cursor, names: DmlGrammar(cursor, names).merge(),
    "CALL": lambda cursor, names: CallGrammar(cursor, names).call(),
}
