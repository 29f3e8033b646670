"""Which END closes a CASE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from floeberg.sql.text.lexer import Kind, Token, words

_BEFORE_OPERAND: Final = words(
    "AND OR NOT IN IS LIKE ILIKE RLIKE REGEXP BETWEEN DIV CASE WHEN THEN ELSE FROM DISTINCT ESCAPE COLLATE"
)


def closes_case(tokens: Sequence[Token], index: int) -> bool:
    """Whether the token there ends a CASE that is open: an `end` after an operator or a keyword is a column's name."""
    if tokens[index].upper != "END" or not index:
        return False
    before = tokens[index - 1]
    if before.kind is Kind.SYMBOL:
        return before.upper in (")", "]", "?")
    return before.upper not in _BEFORE_OPERAND
