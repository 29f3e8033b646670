"""The equalities of a MERGE's condition: which column of the source equals which column of the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import types as st

from floeberg.spark.dml.assignments import TargetColumns
from floeberg.spark.host.types.spark_types import spark_type
from floeberg.spec.types import DateType, IntegerType, LongType, NestedField, StringType, TimestamptzType
from floeberg.sql.text.case_ends import closes_case
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Kind, Span, Token

_EQUAL: Final = ("=", "==")
KEY_TYPES: Final = (IntegerType, LongType, StringType, DateType, TimestamptzType)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """`target = source` in a MERGE's condition: a column of the table, and one of the source."""

    field: NestedField
    source: str


def key_pairs(
    cursor: Cursor, span: Span, columns: TargetColumns, source: st.StructType, *, source_alias: str | None
) -> list[KeyPair]:
    """The equalities between a column of each side that must all hold for a match, where both are of one type, so that
    nothing is coerced."""
    pairs = []
    for sides in path_pairs(cursor, span):
        for own, other in (sides, sides[::-1]):
            pair = _pair(own, other, columns, source, source_alias)
            if pair is not None:
                pairs.append(pair)
                break
    return pairs


def path_pairs(cursor: Cursor, span: Span) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Both sides of the equalities between columns that must all hold."""
    tokens = [token for token in cursor.tokens if span.start <= token.start and token.end <= span.end]
    found = [_sides(piece, cursor) for piece in _conjuncts(tokens)]
    return [sides for sides in found if sides is not None]


def _conjuncts(tokens: Sequence[Token]) -> list[list[Token]]:
    """The parts between the ANDs at the top; nothing when an OR stands there."""
    opened: list[str] = []
    pieces: list[list[Token]] = [[]]
    between = False
    for index, token in enumerate(tokens):
        if token.upper in ("(", "[", "CASE"):
            opened.append(token.upper)
        elif token.upper in (")", "]"):
            _close(opened, "(" if token.upper == ")" else "[")
        elif opened:
            # In parentheses an `end` may be many things, but it closes no CASE before them.
            if opened[-1] == "CASE" and closes_case(tokens, index):
                opened.pop()
        elif token.upper in ("OR", "||", "|"):
            return []
        elif token.upper == "BETWEEN":
            between = True
        elif token.upper == "AND":
            if between:
                between = False  # belongs to BETWEEN: what follows is no part of its own
            else:
                pieces.append([])
                continue
        pieces[-1].append(token)
    return pieces


def _close(opened: list[str], opening: str) -> None:
    """Closes a parenthesis, and what is still open within."""
    while opened and opened.pop() != opening:
        pass


def _sides(piece: Sequence[Token], cursor: Cursor) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    at = [number for number, token in enumerate(piece) if token.upper in _EQUAL]
    if len(at) != 1:
        return None
    left, right = _path(piece[: at[0]], cursor), _path(piece[at[0] + 1 :], cursor)
    return None if left is None or right is None else (left, right)


def _path(tokens: Sequence[Token], cursor: Cursor) -> tuple[str, ...] | None:
    """The parts of a column's name, if that is all that the tokens are."""
    if len(tokens) % 2 == 0 or any(token.upper != "." for token in tokens[1::2]):
        return None
    if not all(token.is_name for token in tokens[::2]):
        return None
    return tuple(_name(token, cursor) for token in tokens[::2])


def _name(token: Token, cursor: Cursor) -> str:
    text = cursor.text(token)
    return text[1:-1].replace("``", "`") if token.kind is Kind.QUOTED else text


def _pair(
    own: tuple[str, ...],
    other: tuple[str, ...],
    columns: TargetColumns,
    source: st.StructType,
    source_alias: str | None,
) -> KeyPair | None:
    field = _target_field(own, columns, source)
    name = _source_column(other, columns, source, source_alias)
    if field is None or name is None:
        return None
    types = [column.dataType for column in source.fields if column.name.lower() == name.lower()]
    return KeyPair(field, name) if len(types) == 1 and can_list(field, types[0]) else None


def can_list(field: NestedField, data_type: st.DataType) -> bool:
    """Whether values of the source can be compared with the column's: another collation has another equality, and types that
    Spark lacks are shown in another form."""
    same = data_type == spark_type(field.type)
    return same and isinstance(field.type, KEY_TYPES)


def _target_field(path: tuple[str, ...], columns: TargetColumns, source: st.StructType) -> NestedField | None:
    """A top-level column of the table, said to be of the table."""
    if len(path) == 2 and columns.key(path[0]) == columns.key(columns.alias):
        name = path[1]
    elif len(path) == 1 and all(column.name.lower() != path[0].lower() for column in source.fields):
        name = path[0]
    else:
        return None
    found = [field for field in columns.schema.fields if field.name.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def _source_column(
    path: tuple[str, ...], columns: TargetColumns, source: st.StructType, alias: str | None
) -> str | None:
    if len(path) == 2 and alias is not None and columns.key(path[0]) == columns.key(alias):
        return path[1]
    if len(path) == 1 and all(field.name.lower() != path[0].lower() for field in columns.schema.fields):
        return path[0]
    return None
