"""Conditions given to `DataFrame.where`, parsed: SQL text, and Columns over Spark Connect and classic.

A Column over Connect holds a tree. A classic Column has only its text, a prefix form without types or time zones, so only
unambiguous literals are read from it. Parts that cannot be read are ignored, and so is a text that has variables, for
which Spark puts other text.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final

from pyspark.sql import types as st

from floeberg.errors import InvalidInput
from floeberg.sql.conditions.condition_parser import parse_condition
from floeberg.sql.conditions.join_conditions import SameValue
from floeberg.sql.conditions.predicates import (
    FLIPPED_OPS,
    UNKNOWN,
    AllOf,
    AnyOf,
    Column,
    Compare,
    Condition,
    InList,
    IsNull,
    SparkLiteral,
    conjuncts,
    negate,
)
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.variables import may_have_variables

_OPS: Final = {"==": "=", "=": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_SHOWN_NAME: Final = re.compile(r"[^\W\d](?:[\w .-]*\w)?")
"""A name that the text of a classic Column shows as it is, so that it is read as itself or not at all."""
_TYPES: Final[dict[type[st.DataType], str]] = {
    st.ByteType: "tinyint",
    st.ShortType: "smallint",
    st.IntegerType: "int",
    st.LongType: "bigint",
    st.FloatType: "float",
    st.DoubleType: "double",
    st.StringType: "string",
    st.BooleanType: "boolean",
}
_EPOCH: Final = dt.date(1970, 1, 1)
_INT_MAX: Final = 2**31 - 1
_CONNECT: Final = "pyspark.sql.connect."
_CLASSIC: Final = re.compile(r"Column<'(?P<text>.*)'>", re.DOTALL)
_ToLeaf = Callable[[str, "list[Column | SparkLiteral | None]"], Condition]
_TOKEN: Final = re.compile(r"\s*(?:(?P<word>[^\s(),']+)|(?P<text>'[^'\\]*')|(?P<sign>[(),]))")


def shown_column(column: Any) -> str:
    """A Column as PySpark writes it; nothing for a position or another value that is no Column."""
    found = _CLASSIC.fullmatch(repr(column))
    return "" if found is None else found["text"]


def conditions_of(condition: Any, names: Iterable[str], *, double_quoted: bool = False) -> list[Condition]:
    """The parts of a condition that must all hold; those that cannot be read are left out. `names` are the table's
    columns, at any depth: in the text of a classic Column, one that is named like a number cannot be told from a number,
    and one with a comma in its name not from two. `double_quoted` says that `"x"` is a name in text."""
    if isinstance(condition, str):
        return [] if may_have_variables(condition) else _known(_of_text(condition, double_quoted=double_quoted))
    return _known(_whole(condition, names))


def equal_columns(condition: Any, names: Iterable[str]) -> list[SameValue]:
    """The pairs of columns that a Column given to `join` equates, in parts that must all hold."""
    return [part for part in conjuncts(_whole(condition, names, _join_leaf)) if isinstance(part, SameValue)]


def _whole(condition: Any, names: Iterable[str], leaf: _ToLeaf | None = None) -> Condition:
    leaf = leaf or _leaf
    if type(condition).__module__.startswith(_CONNECT):  # a classic Column has every attribute: one of its own members
        return _of_tree(condition._expr, leaf)
    found = _CLASSIC.fullmatch(repr(condition))
    if found is None or may_have_variables(found["text"]) or _may_be_misread(found["text"], names):
        return UNKNOWN
    return _of_classic(found["text"], leaf)


def _may_be_misread(text: str, names: Iterable[str]) -> bool:
    """Whether a name that could be taken for something else may stand in the text of a classic Column."""
    lowered = text.lower()
    return any(not _SHOWN_NAME.fullmatch(name) and name.lower() in lowered for name in names)


def whole_condition_of(condition: Any, names: Iterable[str]) -> tuple[Condition, ...] | None:
    """The parts of a Column that must all hold, when every one of them can be read; else None."""
    found = _whole(condition, names)
    parts = tuple(conjuncts(found))
    return parts if parts and not any(_is_unknown(part) for part in parts) else None


def sql_of(condition: Any) -> str | None:
    """The text of `F.expr(text)` or `F.lit(True)`; None when a Column over Connect is anything else. The text of a classic
    Column may be SQL or the prefix form, which is none."""
    if isinstance(condition, str):
        return condition
    if type(condition).__module__.startswith(_CONNECT):
        tree = condition._expr
        if type(tree).__name__ == "LiteralExpression" and tree._value is True:
            return "true"
        return str(tree._expr) if type(tree).__name__ == "SQLExpression" else None
    found = _CLASSIC.fullmatch(repr(condition))
    return None if found is None else found["text"]


def _is_unknown(condition: Condition) -> bool:
    if isinstance(condition, AllOf | AnyOf):
        return any(_is_unknown(child) for child in condition.children)
    return condition is UNKNOWN


def _known(condition: Condition) -> list[Condition]:
    return [part for part in conjuncts(condition) if part is not UNKNOWN]


def _of_text(text: str, *, double_quoted: bool) -> Condition:
    try:
        cursor = Cursor(text, double_quoted_identifiers=double_quoted)
    except InvalidInput:
        return UNKNOWN
    return parse_condition(cursor, 0, len(cursor.tokens) - 1)


def _of_tree(tree: Any, leaf: _ToLeaf) -> Condition:
    """The expression of a Column over Connect."""
    if type(tree).__name__ != "UnresolvedFunction":
        return UNKNOWN
    arguments = list(getattr(tree, "_args", ()))
    name = str(getattr(tree, "_name", ""))
    if name in ("and", "or", "not"):
        return _combined(name, [_of_tree(argument, leaf) for argument in arguments])
    return leaf(name, [_tree_operand(argument) for argument in arguments])


def _tree_operand(tree: Any) -> Column | SparkLiteral | None:
    match type(tree).__name__:
        case "ColumnReference":
            return _column(str(getattr(tree, "_unparsed_identifier", "")))
        case "LiteralExpression":
            return _literal(getattr(tree, "_value", None), getattr(tree, "_dataType", None))
    return None


def _literal(value: Any, data_type: Any) -> SparkLiteral | None:
    if value is None:
        return None
    if isinstance(data_type, st.DateType) and isinstance(value, int):
        return SparkLiteral("date", (_EPOCH + dt.timedelta(days=value)).isoformat())
    if isinstance(data_type, st.TimestampType) and isinstance(value, int):
        moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=value)
        return SparkLiteral("timestamp_ltz", moment.strftime("%Y-%m-%d %H:%M:%S.%fZ"))
    if isinstance(value, Decimal):
        return SparkLiteral("decimal", value) if value.is_finite() else None
    name = _TYPES.get(type(data_type))
    if name is None or (isinstance(value, float) and value != value):
        return None
    return SparkLiteral(name, value)


def _column(text: str) -> Column | None:
    return tuple(text.split(".")) if _NAME.fullmatch(text) else None


def _combined(name: str, parts: list[Condition]) -> Condition:
    if name == "not":
        return negate(parts[0]) if len(parts) == 1 else UNKNOWN
    return AllOf(tuple(parts)) if name == "and" else AnyOf(tuple(parts))


def _join_leaf(name: str, operands: list[Column | SparkLiteral | None]) -> Condition:
    match operands:
        case [tuple() as left, tuple() as right] if _OPS.get(name) == "=":
            return SameValue(left, right)
    return _leaf(name, operands)


def _leaf(name: str, operands: list[Column | SparkLiteral | None]) -> Condition:
    match operands:
        case [tuple() as column]:
            lowered = name.lower()
            if lowered in ("isnull", "isnotnull"):
                return IsNull(column, negated=lowered == "isnotnull")
        case [tuple() as column, SparkLiteral() as literal] if name in _OPS:
            return Compare(column, _OPS[name], literal)
        case [SparkLiteral() as literal, tuple() as column] if name in _OPS:
            return Compare(column, FLIPPED_OPS[_OPS[name]], literal)
        case [tuple() as column, *literals] if name == "in" and literals:
            listed = tuple(literal for literal in literals if isinstance(literal, SparkLiteral))
            if len(listed) == len(literals):
                return InList(column, listed)
    return UNKNOWN


def _of_classic(text: str, leaf: _ToLeaf) -> Condition:
    """The prefix form of a classic Column, `and(>(x, 3), in(s, 'a'))`."""
    tokens: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return UNKNOWN
        tokens.append(match.group().strip())
        position = match.end()
    condition, end = _classic_condition(tokens, 0, leaf, depth=0)
    return condition if end == len(tokens) else UNKNOWN


def _classic_condition(tokens: list[str], start: int, leaf: _ToLeaf, *, depth: int) -> tuple[Condition, int]:
    """The condition that begins at a token, and where it ends; an end beyond all tokens says that it cannot be read."""
    beyond = len(tokens) + 1
    if depth > 50 or start + 1 >= len(tokens) or tokens[start + 1] != "(":
        return UNKNOWN, beyond
    name, position = tokens[start], start + 2
    parts: list[Condition] = []
    operands: list[Column | SparkLiteral | None] = []
    while position < len(tokens):
        if position + 1 < len(tokens) and tokens[position + 1] == "(":
            part, position = _classic_condition(tokens, position, leaf, depth=depth + 1)
            parts.append(part)
            operands.append(None)
        else:
            operands.append(_classic_operand(tokens[position]))
            position += 1
        if position >= len(tokens):
            break
        if tokens[position] == ")":
            return _classic_whole(name, parts, operands, leaf), position + 1
        if tokens[position] != ",":
            break
        position += 1
    return UNKNOWN, beyond


def _classic_whole(
    name: str, parts: list[Condition], operands: list[Column | SparkLiteral | None], leaf: _ToLeaf
) -> Condition:
    if name not in ("and", "or", "not", "!"):
        return leaf(name, operands)
    return _combined("not" if name == "!" else name, parts) if len(parts) == len(operands) else UNKNOWN


def _classic_operand(token: str) -> Column | SparkLiteral | None:
    """A column, a whole number, a date or a quoted text; anything else (a decimal, a double) has lost its type."""
    if token.startswith("'"):
        return SparkLiteral("string", token[1:-1])
    if re.fullmatch(r"-?\d{1,18}L?", token):
        value = int(token.rstrip("L"))
        return SparkLiteral("bigint" if token.endswith("L") or abs(value) > _INT_MAX else "int", value)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", token):
        return SparkLiteral("date", token)
    return None if token.lower() in ("true", "false", "null", "nan") else _column(token)
