"""Where a query begins."""

from __future__ import annotations

from typing import Final

from floeberg.sql.text.cursor import MAX_NESTING, Cursor
from floeberg.sql.text.lexer import Kind

QUERY_STARTS: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})


def starts_query(cursor: Cursor, opening: int) -> bool:
    """Whether the parenthesis at that index opens a query, perhaps behind more parentheses."""
    tokens = cursor.tokens
    index = opening
    while tokens[index].upper == "(":
        index += 1
        if index - opening > MAX_NESTING:
            return False
    word = tokens[index].upper
    if word not in QUERY_STARTS:
        return False
    after = tokens[index + 1]
    if word in ("VALUES", "TABLE", "WITH", "FROM"):
        return after.is_name or (word in ("VALUES", "FROM") and after.kind is not Kind.SYMBOL) or after.upper == "("
    return True
