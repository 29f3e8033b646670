"""Random filters over any schema, with literals that the rows have or nearly have."""

from __future__ import annotations

import random
from typing import Any

from floeberg.expr.literals import literal_from_physical
from floeberg.expr.nodes import TRUE, Expression, Not, Op, Predicate, Reference, and_, or_
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    BooleanType,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    IcebergType,
    StringType,
    StructType,
    UnknownType,
    VariantType,
)
from models.engine_rows import Row

COMPARISONS = (Op.LT, Op.LT_EQ, Op.GT, Op.GT_EQ, Op.EQ, Op.NOT_EQ)
_NOT_COMPARED = (UnknownType, VariantType, GeometryType, GeographyType)


def filterable(schema: Schema) -> list[tuple[str, IcebergType]]:
    """Columns that predicates can ask about, those in structs too."""
    found: list[tuple[str, IcebergType]] = []
    stack = [(field.name, field.type) for field in schema.fields]
    while stack:
        name, kind = stack.pop()
        if isinstance(kind, StructType):
            stack += [(f"{name}.{member.name}", member.type) for member in kind.members]
        elif not kind.is_nested and not isinstance(kind, _NOT_COMPARED):
            found.append((name, kind))
    return sorted(found, key=lambda pair: pair[0])


def random_filter(rng: random.Random, schema: Schema, rows: list[Row], depth: int = 2) -> Expression:
    columns = filterable(schema)
    if not columns:
        return TRUE
    kind = rng.random()
    if depth == 0 or kind < 0.5:
        return _predicate(rng, *rng.choice(columns), rows)
    if kind < 0.62:
        return Not(random_filter(rng, schema, rows, depth - 1))
    parts = [random_filter(rng, schema, rows, depth - 1) for _ in range(rng.choice([2, 2, 3]))]
    return (and_ if kind < 0.82 else or_)(*parts)


def _predicate(rng: random.Random, name: str, kind: IcebergType, rows: list[Row]) -> Expression:
    values = [value for row in rows if (value := _value(row, name)) is not None and value == value]
    unary = [Op.IS_NULL, Op.NOT_NULL, *([Op.IS_NAN, Op.NOT_NAN] if isinstance(kind, (FloatType, DoubleType)) else [])]
    if not values or rng.random() < 0.15:
        return Predicate(rng.choice(unary), Reference(name))
    if isinstance(kind, BooleanType) and rng.random() < 0.5:
        return Predicate(rng.choice([Op.EQ, Op.NOT_EQ]), Reference(name), (rng.choice(values),))
    if isinstance(kind, StringType) and rng.random() < 0.3:
        prefix = rng.choice(values)[: rng.choice([0, 1, 2, 40])]
        return Predicate(rng.choice([Op.STARTS_WITH, Op.NOT_STARTS_WITH]), Reference(name), (prefix,))
    if rng.random() < 0.25:
        chosen = [literal_from_physical(kind, rng.choice(values)) for _ in range(rng.choice([1, 2, 4]))]
        return Predicate(rng.choice([Op.IN, Op.NOT_IN]), Reference(name), tuple(chosen))
    return Predicate(rng.choice(COMPARISONS), Reference(name), (literal_from_physical(kind, rng.choice(values)),))


def _value(row: Row, name: str) -> Any:
    value: Any = row
    for part in name.split("."):
        if value is None:
            return None
        value = value[part]
    return value
