"""Filters batches by a bound expression, on whole columns. What predicates mean stands in expr/evaluate.py: three-valued
logic, NaN equal to itself and greatest, -0.0 equal to 0.0; only TRUE keeps a row."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.columns.partition import column_by_id
from floeberg.arrow.columns.physical import array_of
from floeberg.arrow.columns.transforms import transform_array
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import (
    AlwaysFalse,
    AlwaysTrue,
    BoundPredicate,
    BoundReference,
    Expression,
    Op,
    fold,
    predicates,
)
from floeberg.spec.schemas.schema import Schema

_COMPARE: Final[dict[Op, Callable[[Any, Any], Any]]] = {
    Op.LT: pc.less,
    Op.LT_EQ: pc.less_equal,
    Op.GT: pc.greater,
    Op.GT_EQ: pc.greater_equal,
    Op.EQ: pc.equal,
    Op.NOT_EQ: pc.not_equal,
}
_TRUE_OF_NAN: Final = frozenset({Op.GT, Op.GT_EQ, Op.NOT_EQ})
"""Comparisons with a number that hold for NaN, the greatest of all."""


def filter_mask(expression: Expression, batch: pa.RecordBatch, schema: Schema) -> pa.BooleanArray:
    """True, false or null for each row of a batch whose columns are the schema's fields."""
    return fold(
        expression,
        leaf=lambda node: _leaf(node, batch, schema),
        every=lambda masks: reduce(pc.and_kleene, masks),
        some=lambda masks: reduce(pc.or_kleene, masks),
        negate=pc.invert,
    )


def referenced_ids(expression: Expression) -> frozenset[int]:
    """The ids of the columns that a bound expression asks about. Raises InvalidInput when it is not bound."""
    found = set()
    for predicate in predicates(expression):
        if not isinstance(predicate, BoundPredicate):
            raise InvalidInput(f"{predicate} is not bound to a schema: bind it before rows are filtered")
        found.add(predicate.term.reference.field_id)
    return frozenset(found)


def _leaf(node: Expression, batch: pa.RecordBatch, schema: Schema) -> pa.BooleanArray:
    match node:
        case AlwaysTrue():
            return _constant(True, batch.num_rows)
        case AlwaysFalse():
            return _constant(False, batch.num_rows)
        case BoundPredicate(op=op, term=term, literals=literals):
            reference = term.reference
            column = column_by_id(batch, schema, reference.field_id)
            if not isinstance(term, BoundReference):
                column = transform_array(term.transform, reference.type, column)
            values = array_of(literals, term.type) if literals else None
            return _holds(op, column, values)
    raise InvalidInput(f"{node} is not bound to a schema: bind it before rows are filtered")


def _constant(value: bool, length: int) -> pa.BooleanArray:
    return pa.repeat(pa.scalar(value, pa.bool_()), length)


def _holds(op: Op, column: pa.Array, literals: pa.Array | None) -> pa.BooleanArray:
    floating = pa.types.is_floating(column.type)
    match op:
        case Op.IS_NULL:
            return pc.is_null(column)
        case Op.NOT_NULL:
            return pc.is_valid(column)
        case Op.IS_NAN | Op.NOT_NAN:
            nan = pc.fill_null(pc.is_nan(column), False) if floating else _constant(False, len(column))
            return nan if op is Op.IS_NAN else pc.invert(nan)
    if pa.types.is_null(column.type):
        # A column of unknown type: a comparison of null is null, and only an empty list has an answer for it.
        empty = op in (Op.IN, Op.NOT_IN) and literals is None
        return _constant(op is Op.NOT_IN, len(column)) if empty else pa.nulls(len(column), pa.bool_())
    if op in (Op.IN, Op.NOT_IN):
        found = _is_in(column, literals)
        return found if op is Op.IN else pc.invert(found)
    assert literals is not None
    literal = literals[0]
    if op in (Op.STARTS_WITH, Op.NOT_STARTS_WITH):
        found = pc.starts_with(column, pattern=literal.as_py())
        return found if op is Op.STARTS_WITH else pc.invert(found)
    return _compare_floats(op, column, literal) if floating else _COMPARE[op](column, literal)


def _compare_floats(op: Op, column: pa.Array, literal: Any) -> pa.BooleanArray:
    nan = pc.is_nan(column)
    if math.isnan(literal.as_py()):
        match op:
            case Op.EQ | Op.GT_EQ:
                return nan
            case Op.NOT_EQ | Op.LT:
                return pc.invert(nan)
        return pc.if_else(pc.is_valid(column), op is Op.LT_EQ, pa.scalar(None, pa.bool_()))
    compared = _COMPARE[op](column, literal)
    return pc.or_kleene(compared, nan) if op in _TRUE_OF_NAN else compared


def _is_in(column: pa.Array, literals: pa.Array | None) -> pa.BooleanArray:
    if literals is None:
        return _constant(False, len(column))
    if pa.types.is_floating(column.type):
        # Adding zero makes the two zeros one; NaN finds itself.
        zero = pa.scalar(0, column.type)
        column, literals = pc.add(column, zero), pc.add(literals, zero)
    found = pc.is_in(column, value_set=literals)
    return pc.if_else(pc.is_valid(column), found, pa.scalar(None, pa.bool_())) if column.null_count else found
