"""Conditions as data: what a WHERE or ON says about single columns, as far as that can be read for certain.

    Condition
    ├── AllOf(children), AnyOf(children)
    ├── Compare(column, op, literal) · InList(column, literals, negated) · IsNull(column, negated)
    ├── Prefix(column, prefix, negated) · Truth(column, negated)      LIKE 'abc%', a boolean column by itself
    ├── Matches(column, keys, op, added, …)                           compares with a column of some row of another relation
    └── Unknown()                                                     anything else; it says nothing

There is no Not: negation is pushed into the leaves, where three-valued logic keeps it exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

Column: TypeAlias = tuple[str, ...]

NEGATED_OPS: Final = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
FLIPPED_OPS: Final = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<=", "<=>": "<=>"}


@dataclass(frozen=True, slots=True)
class SparkLiteral:
    """A literal with its Spark type: tinyint, smallint, int, bigint, decimal, float, double, string, boolean, binary,
    null, or date, timestamp, timestamp_ntz, timestamp_ltz with the text as value."""

    type: str
    value: object


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that holds or not, or is null, for a row."""


@dataclass(frozen=True, slots=True)
class Unknown(Condition):
    """A condition that cannot be read."""


@dataclass(frozen=True, slots=True)
class AllOf(Condition):
    children: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(Condition):
    children: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Compare(Condition):
    """`op` is =, !=, <, <=, >, >= or <=>; `negated` is NOT (column <=> literal)."""

    column: Column
    op: str
    literal: SparkLiteral
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InList(Condition):
    column: Column
    literals: tuple[SparkLiteral, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull(Condition):
    column: Column
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Prefix(Condition):
    column: Column
    prefix: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Truth(Condition):
    column: Column
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Matches(Condition):
    """The column compares by `op`, which is =, <, <=, > or >=, with a value among `keys` to which `added` is added, and so is
    not null. It stands where a row must match one of another relation: never under AnyOf, never negated."""

    column: Column
    keys: Keys
    op: str = "="
    added: int = 0


class Keys:
    """The values of a column of another relation, as whoever reads that relation knows them."""

    __slots__ = ()


UNKNOWN: Final = Unknown()
Leaf: TypeAlias = Compare | InList | IsNull | Prefix | Truth


def negate(condition: Condition) -> Condition:
    """NOT condition, with the same nulls."""
    match condition:
        case AllOf(children):
            return AnyOf(tuple(negate(child) for child in children))
        case AnyOf(children):
            return AllOf(tuple(negate(child) for child in children))
        case Compare(op="<=>"):
            return replace(condition, negated=not condition.negated)
        case Compare(op=op):
            return replace(condition, op=NEGATED_OPS[op])
        case InList() | IsNull() | Prefix() | Truth():
            return replace(condition, negated=not condition.negated)
    return UNKNOWN


def weaken(condition: Condition, resolve: Callable[[Column], Column | None]) -> Condition | None:
    """The condition with every column as `resolve` gives it; what it gives None for is left out where that only lets
    more rows through, and None comes back when nothing is left."""
    match condition:
        case AllOf(children):
            kept = [part for child in children if (part := weaken(child, resolve)) is not None]
            return all_of(kept) if kept else None
        case AnyOf(children):
            parts = [weaken(child, resolve) for child in children]
            whole = [part for part in parts if part is not None]
            return AnyOf(tuple(whole)) if len(whole) == len(parts) else None
        case Compare(column=column) | InList(column=column) | IsNull(column=column):
            found = resolve(column)
            return None if found is None else replace(condition, column=found)
        case Prefix(column=column) | Truth(column=column) | Matches(column=column):
            found = resolve(column)
            return None if found is None else replace(condition, column=found)
    return None


def all_of(conditions: list[Condition]) -> Condition:
    return conditions[0] if len(conditions) == 1 else AllOf(tuple(conditions))


def conjuncts(condition: Condition) -> list[Condition]:
    """The parts that must all hold."""
    if not isinstance(condition, AllOf):
        return [condition]
    return [part for child in condition.children for part in conjuncts(child)]
