"""Which files of a frame may hold a row for which an expression is true: by their partition, by their metrics.

https://iceberg.apache.org/spec/#scan-planning. Missing metrics never drop a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_ as both
from operator import or_ as either
from typing import Any, Final

import polars as pl

from floeberg.errors import InvalidInput
from floeberg.expr.evaluate import holds
from floeberg.expr.nodes import AlwaysFalse, AlwaysTrue, And, BoundPredicate, BoundReference, Expression, Op, fold
from floeberg.scan.bound_columns import comparable_dtype, to_comparable
from floeberg.scan.known_columns import KnownColumns, known_columns, known_term, may_hold
from floeberg.spec.types import DecimalType, UuidType


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """The parts of which each must be true."""
    return expression.children if isinstance(expression, And) else (expression,)


def field_ids(expression: Expression) -> frozenset[int]:
    """The columns that a bound expression asks about."""
    found: set[int] = set()

    def leaf(node: Expression) -> None:
        if isinstance(node, BoundPredicate):
            found.add(node.term.reference.field_id)

    fold(expression, leaf=leaf, every=lambda _: None, some=lambda _: None, negate=lambda _: None)
    return frozenset(found)


def metrics_mask(expression: Expression, frame: pl.DataFrame) -> pl.Series:
    """False only for files none of whose rows makes the bound expression true, by metrics and record counts. The frame
    has the metric columns of the expression's fields. As `expr.metrics_eval.may_contain_match`, for every file."""
    return metrics_masks([expression], frame)[0]


def metrics_masks(expressions: Sequence[Expression], frame: pl.DataFrame) -> list[pl.Series]:
    """As `metrics_mask`, for several expressions."""
    known: dict[BoundReference, KnownColumns] = {}

    def leaf(node: Expression) -> pl.Series:
        match node:
            case AlwaysTrue() | AlwaysFalse():
                return _constant(isinstance(node, AlwaysTrue), frame.height)
            case BoundPredicate(term=term):
                reference = term.reference
                if reference not in known:
                    known[reference] = known_columns(reference, frame)
                return may_hold(node, known_term(term, known[reference]))
        raise InvalidInput(f"{node} is not bound to a schema: bind it before metrics are evaluated")

    not_empty: pl.Series = frame.get_column("record_count") != 0
    return [_folded(expression, leaf) & not_empty for expression in expressions]


def partition_mask(projection: Expression, frame: pl.DataFrame) -> pl.Series:
    """True for files whose partition makes an inclusive projection (`expr.projection`) true. As `expr.evaluate.keeps`,
    for every file."""

    def leaf(node: Expression) -> pl.Series:
        match node:
            case AlwaysTrue() | AlwaysFalse():
                return _constant(isinstance(node, AlwaysTrue), frame.height)
            case BoundPredicate(term=BoundReference() as reference):
                values = frame.get_column("partition").struct.field(str(reference.field_id))
                return _holds(node, values)
        raise InvalidInput(f"{node} is not bound to a partition: project it before partitions are evaluated")

    return _folded(projection, leaf).fill_null(False)


def _folded(expression: Expression, leaf: Callable[[Expression], pl.Series]) -> pl.Series:
    mask: pl.Series = fold(
        expression,
        leaf=leaf,
        every=lambda masks: reduce(both, masks),
        some=lambda masks: reduce(either, masks),
        negate=lambda one: ~one,
    )
    return mask


def _constant(value: bool, length: int) -> pl.Series:
    return pl.Series([value], dtype=pl.Boolean).new_from_index(0, length)


def _holds(predicate: BoundPredicate, values: pl.Series) -> pl.Series:
    """The predicate of each value, null where it is null."""
    wanted = comparable_dtype(predicate.term.type)
    own = values.cast(pl.Binary) if values.dtype == pl.String else values
    own = own.cast(pl.Int8) if own.dtype == pl.Boolean else own
    own = own.cast(wanted) if wanted is not None and _widens(own.dtype, wanted) else own
    if own.dtype != wanted or isinstance(predicate.term.type, DecimalType):
        return _value_by_value(predicate, values)
    literals = [to_comparable(predicate.term.type, literal) for literal in predicate.literals]
    return _HOLDS[predicate.op](own, literals)


def _widens(found: pl.DataType, wanted: pl.DataType) -> bool:
    return (found.is_integer() and wanted == pl.Int64) or (found.is_float() and wanted == pl.Float64)


def _value_by_value(predicate: BoundPredicate, values: pl.Series) -> pl.Series:
    """For types without a comparable dtype: tests each distinct value once."""
    if isinstance(predicate.term.type, UuidType):
        return _constant(True, len(values))
    results: dict[Any, bool | None] = {None: holds(predicate.op, None, predicate.literals)}
    own = values.to_list()
    for value in set(own):
        results[value] = holds(predicate.op, value, predicate.literals)
    return pl.Series([results[value] for value in own], dtype=pl.Boolean)


def _literal(like: pl.Series, literal: Any) -> pl.Series:
    return pl.Series([literal], dtype=like.dtype)


def _is_in(values: pl.Series, literals: Sequence[Any]) -> pl.Series:
    if not literals:
        return _constant(False, len(values))
    return values.is_in(pl.Series(literals, dtype=values.dtype).implode())


def _is_not_in(values: pl.Series, literals: Sequence[Any]) -> pl.Series:
    return ~_is_in(values, literals) if literals else _constant(True, len(values))


def _is_nan(values: pl.Series) -> pl.Series:
    return values.is_nan().fill_null(False) if values.dtype.is_float() else _constant(False, len(values))


def _starts_with(values: pl.Series, literals: Sequence[Any]) -> pl.Series:
    return values.bin.starts_with(literals[0])


_HOLDS: Final[dict[Op, Callable[[pl.Series, Sequence[Any]], pl.Series]]] = {
    Op.IS_NULL: lambda values, _: values.is_null(),
    Op.NOT_NULL: lambda values, _: values.is_not_null(),
    Op.IS_NAN: lambda values, _: _is_nan(values),
    Op.NOT_NAN: lambda values, _: ~_is_nan(values),
    Op.LT: lambda values, literals: values < _literal(values, literals[0]),
    Op.LT_EQ: lambda values, literals: values <= _literal(values, literals[0]),
    Op.GT: lambda values, literals: values > _literal(values, literals[0]),
    Op.GT_EQ: lambda values, literals: values >= _literal(values, literals[0]),
    Op.EQ: lambda values, literals: values == _literal(values, literals[0]),
    Op.NOT_EQ: lambda values, literals: values != _literal(values, literals[0]),
    Op.IN: _is_in,
    Op.NOT_IN: _is_not_in,
    Op.STARTS_WITH: _starts_with,
    Op.NOT_STARTS_WITH: lambda values, literals: ~_starts_with(values, literals),
}
