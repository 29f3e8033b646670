"""CALL as data."""

from __future__ import annotations

from dataclasses import dataclass

from floeberg.sql.statements.statements import Statement
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import Name


@dataclass(frozen=True, slots=True)
class TemporalText:
    """`TIMESTAMP '…'` or `DATE '…'` as an argument: the type's word in lower case and the text."""

    type: str
    text: str


@dataclass(frozen=True, slots=True)
class ExpressionText:
    """An argument that is no literal: Spark evaluates the text."""

    span: Span


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of CALL; numbers, strings, booleans, None, lists (array) and dicts (map) come as values."""

    name: str | None
    value: object


@dataclass(frozen=True, slots=True)
class Call(Statement):
    """CALL catalog.system.procedure(…)."""

    procedure: Name
    arguments: tuple[Argument, ...]
