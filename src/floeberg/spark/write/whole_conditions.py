"""Whether every part of a condition was parsed: actions on whole files must not ignore one."""

from __future__ import annotations

from collections.abc import Sequence

from floeberg.sql.conditions.condition_parser import parse_condition
from floeberg.sql.conditions.predicates import AllOf, AnyOf, Condition
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Span


def is_whole(cursor: Cursor, span: Span, found: Sequence[Condition]) -> bool:
    """Whether `found`, which `condition_of_target` gave for the span, is the whole condition. Parts that cannot be read, or
    that depend on another relation, are missing there, which makes the rest true for more rows."""
    part = cursor.within(span.start, span.end)
    return sum(_leaves(each) for each in found) == _leaves(parse_condition(part, 0, len(part.tokens) - 1))


def _leaves(condition: Condition) -> int:
    if isinstance(condition, AllOf | AnyOf):
        return sum(_leaves(child) for child in condition.children)
    return 1
