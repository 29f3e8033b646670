"""`current_catalog()`, `current_database()` and `current_schema()` while the session stands in a catalog of ours: Spark would
answer with its own place."""

from __future__ import annotations

import re
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.sql.text.lexer import Kind, Token, name_value, quote_name, quote_string, tokenize, words

_MENTIONED: Final = re.compile(r"\bcurrent_(?:catalog|database|schema)\b", re.IGNORECASE)
_FUNCTIONS: Final = frozenset({"CURRENT_CATALOG", "CURRENT_DATABASE", "CURRENT_SCHEMA"})
_BEFORE_ITEM: Final = words("SELECT DISTINCT ALL ,")
_AFTER_ITEM: Final = words("FROM WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW UNION EXCEPT MINUS "
                           "INTERSECT LATERAL , ) ; |>")  # fmt: skip
_ENDS_LIST: Final = words("FROM WHERE GROUP HAVING ORDER LIMIT UNION EXCEPT INTERSECT VALUES")


def with_current_place(sql: str, *, catalog: str, namespace: str) -> str:
    """The text with calls of these functions replaced by what they give; a column of a SELECT keeps its name. A statement that
    makes a view stays as it is: the view's query gives the place of those who read it."""
    if not _MENTIONED.search(sql):
        return sql
    try:
        tokens = tokenize(sql)
    except InvalidInput:
        return sql  # Spark says what is wrong with it
    if tokens[0].upper in ("CREATE", "ALTER") and any(token.upper == "VIEW" for token in tokens[:8]):
        return sql
    pieces, position = [], 0
    lists: list[bool] = [False]  # for each open parenthesis, whether the list of a SELECT is being read in it
    for index, token in enumerate(tokens):
        _follow(lists, token)
        if not _is_call(sql, tokens, index):
            continue
        called = name_value(sql[token.start : token.end]).lower()
        value = quote_string(catalog if called == "current_catalog" else namespace)
        item = lists[-1] and tokens[index - 1].upper in _BEFORE_ITEM and _ends_item(tokens[index + 3])
        # Spark has one function of two names for the namespace, and calls a column by the second.
        alias = " AS " + quote_name(called.replace("database", "schema") + "()") if item else ""
        pieces += [sql[position : token.start], value + alias]
        position = tokens[index + 2].end
    return "".join(pieces) + sql[position:]


def _is_call(sql: str, tokens: list[Token], index: int) -> bool:
    token = tokens[index]
    if not token.is_name or len(tokens) < index + 4:
        return False
    if name_value(sql[token.start : token.end]).upper() not in _FUNCTIONS:
        return False
    return tokens[index + 1].upper == "(" and tokens[index + 2].upper == ")" and tokens[index - 1].upper != "."


def _ends_item(token: Token) -> bool:
    return token.kind is Kind.END or token.upper in _AFTER_ITEM


def _follow(lists: list[bool], token: Token) -> None:
    if token.upper == "(":
        lists.append(False)
    elif token.upper == ")" and len(lists) > 1:
        lists.pop()
    elif token.kind is Kind.WORD and token.upper == "SELECT":
        lists[-1] = True
    elif token.kind is Kind.WORD and token.upper in _ENDS_LIST:
        lists[-1] = False
