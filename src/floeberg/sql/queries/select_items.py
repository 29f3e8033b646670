"""What the columns of a SELECT's output are called, and which columns of its FROM clause they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from floeberg.sql.conditions.predicates import Column
from floeberg.sql.queries.query_nodes import Expression
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import name_value, words

# A filter before these is not the filter after them: they look at other rows, or differ from call to call.
_OTHER_ROWS: Final = words(
    "OVER RAND RANDN RANDOM RANDSTR UNIFORM UUID SHUFFLE MONOTONICALLY_INCREASING_ID SPARK_PARTITION_ID"
)
_SUBTOTALS: Final = words("ROLLUP CUBE GROUPING SETS WITH")


@dataclass(frozen=True, slots=True)
class OutputColumns:
    """`named` gives the source of an output column by its lower-case name, None for an expression; `star` is the
    qualifier of a single star, which lets all other names through."""

    named: dict[str, Column | None]
    star: Column | None

    def source(self, column: Column) -> Column | None:
        """The column of the FROM clause that a column of the output is, or None when it is not known to be one."""
        name = column[0].lower()
        if name in self.named:
            found = self.named[name]
            return None if found is None else (*found, *column[1:])
        return None if self.star is None else (*self.star, *column)


def output_columns(cursor: Cursor, items: Sequence[Expression]) -> OutputColumns | None:
    """The output of these items; None when a filter may not pass them."""
    named: dict[str, Column | None] = {}
    stars: list[Column] = []
    for item in items:
        tokens = cursor.tokens[item.first : item.last]
        if any(token.upper in _OTHER_ROWS for token in tokens):
            return None
        if tokens and tokens[-1].upper == "*" and (len(tokens) == 1 or tokens[-2].upper == "."):
            stars.append(tuple(name_value(cursor.text(token)) for token in tokens[:-1:2]))
            continue
        column, name = _named_item(cursor, item)
        if name is not None:
            named[name] = None if name in named else column
    if len(stars) > 1:
        return None
    return OutputColumns(named, stars[0] if stars else None)


def listed_columns(cursor: Cursor, items: Sequence[Expression]) -> list[tuple[Column | None, str | None]] | None:
    """The column and the name of each item, by position; None where an item may be several columns, or a filter may not
    pass."""
    found = output_columns(cursor, items)
    if found is None or not all(_is_one_column(cursor, item) for item in items):
        return None
    return [_named_item(cursor, item) for item in items]


def _is_one_column(cursor: Cursor, item: Expression) -> bool:
    """Whether an item is certain to be one column. A star is as many as there are, with EXCEPT after it too, and a function may
    give several (`posexplode`, `stack`), unless there is one name for all."""
    tokens = cursor.tokens[item.first : item.last]
    column, name = _named_item(cursor, item)
    if column is not None or name is not None:
        return True
    return not any(token.upper in ("(", "*") for token in tokens)


def group_columns(cursor: Cursor, group_by: Expression) -> frozenset[Column] | None:
    """The plain columns of a GROUP BY, in lower case; None for one with subtotals."""
    tokens = cursor.tokens[group_by.first : group_by.last]
    if any(token.upper in _SUBTOTALS for token in tokens):
        return None
    found: set[Column] = set()
    start = depth = 0
    for at, token in enumerate([*tokens, None]):
        if token is not None:
            depth += (token.upper in ("(", "[")) - (token.upper in (")", "]"))
        if token is None or (token.upper == "," and not depth):
            column, _ = _named_item(cursor, Expression(group_by.first + start, group_by.first + at))
            if column is not None:
                found.add(tuple(part.lower() for part in column))
            start = at + 1
    return frozenset(found)


def _named_item(cursor: Cursor, item: Expression) -> tuple[Column | None, str | None]:
    """The column that an item is, or None for an expression, and the name that it has in the output."""
    tokens = cursor.tokens[item.first : item.last]
    parts: list[str] = []
    index = 0
    while index < len(tokens) and tokens[index].is_name:
        parts.append(name_value(cursor.text(tokens[index])))
        index += 1
        if index == len(tokens) or tokens[index].upper != ".":
            break
        index += 1
    rest = tokens[index:]
    column = None if not parts or tokens[0].is_constant else tuple(parts)
    if parts and not rest:
        return column, parts[-1].lower()
    if parts and rest[-1].is_name and (len(rest) == 1 or (len(rest) == 2 and rest[0].upper == "AS")):
        return column, name_value(cursor.text(rest[-1])).lower()
    aliased = len(tokens) > 1 and tokens[-1].is_name
    return None, name_value(cursor.text(tokens[-1])).lower() if aliased else None
