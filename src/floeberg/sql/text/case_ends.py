"""Which END closes a CASE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from floeberg.sql.text.lexer import Kind, Token, words

_BEFORE_OPERAND: Final = words("AND OR NOT BETWEEN CASE WHEN THEN ELSE OVER")
_BETWEEN_OPERANDS: Final = words("IN IS LIKE ILIKE RLIKE REGEXP DIV FROM DISTINCT ESCAPE COLLATE")
"""Words that follow an operand; where one is expected, they are columns of that name."""
_OPERAND_FOLLOWS: Final = words("AND OR CASE WHEN THEN ELSE")


def closes_case(tokens: Sequence[Token], index: int) -> bool:
    """Whether the token there ends a CASE that is open: an `end` after an operator or a keyword is a column's name."""
    if tokens[index].upper != "END" or not index:
        return False
    before = tokens[index - 1]
    if before.kind is Kind.SYMBOL:
        return before.upper in (")", "]", "?")
    earlier = tokens[index - 2].upper if index > 1 else ""
    if earlier == ".":
        return True
    if before.upper in _BETWEEN_OPERANDS:
        return earlier in _OPERAND_FOLLOWS
    return before.upper not in _BEFORE_OPERAND


def ends_with_case(tokens: Sequence[Token]) -> bool:
    """Whether an expression ends with the END of a CASE; an `end` after that would be an alias."""
    last = len(tokens) - 1
    if not closes_case(tokens, last):
        return False
    opened = sum(token.upper == "CASE" and (not at or tokens[at - 1].upper != ".") for at, token in enumerate(tokens))
    return opened > sum(closes_case(tokens, at) for at in range(last))
