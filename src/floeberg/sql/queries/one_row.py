"""Queries that have one row whatever they read: aggregates without groups."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from floeberg.sql.queries.query_nodes import Expression, Query, Select
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import words

_AGGREGATES: Final = words("COUNT MIN MAX SUM AVG")
_CALLED: Final = _AGGREGATES | words("CAST COALESCE DISTINCT ABS ROUND")
"""What may stand before a parenthesis: nothing that makes several rows of one."""


def has_one_row(query: Query, cursor: Cursor) -> bool:
    """Whether a query is such an aggregate, as far as its text tells. Functions of its names must be Spark's own."""
    body = query.body
    if isinstance(body, Query):
        return has_one_row(body, cursor)
    if not isinstance(body, Select) or body.group_by or body.windowed or body.lateral_views or len(body.items) != 1:
        return False
    return _is_aggregate(body.items[0], cursor)


def _is_aggregate(item: Expression, cursor: Cursor) -> bool:
    """Whether an item calls an aggregate function, and nothing that is not known."""
    if item.subqueries:
        return False
    tokens = cursor.tokens[item.first : item.last]
    if any(one.upper == "OVER" for one in tokens):
        return False  # `max(x) OVER w` has a row for each that it reads, and its window no parenthesis
    called = {one.upper for one, after in pairwise(tokens) if one.is_name and after.upper == "("}
    qualified = any(one.upper == "." and after.upper == "(" for one, after in zip(tokens, tokens[2:], strict=False))
    return bool(called & _AGGREGATES) and called <= _CALLED and not qualified
