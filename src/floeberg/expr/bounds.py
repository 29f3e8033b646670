"""What is known of a column's values in a file or manifest, and what follows from it for a predicate.

Two tables, one entry an operator. `MAY_HOLD`: false only when no value can make the predicate true. `MUST_HOLD`: true
only when every value makes it true. Both speak of the row semantics of `expr/evaluate.py`; whatever is not known proves
nothing. File metrics and partition summaries come here as the same `Known`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from floeberg.errors import FormatError, InvalidInput
from floeberg.expr.evaluate import order_key
from floeberg.expr.nodes import BoundPredicate, BoundTerm, BoundTransform, Op
from floeberg.spec.types import (
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    IcebergType,
    UnknownType,
    UuidType,
    VariantType,
)
from floeberg.spec.values.single_value import from_bytes

_WITHOUT_BOUNDS: Final = (GeometryType, GeographyType, VariantType, UnknownType)
_LOW_BITS: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is certain of a column. `lower` and `upper` hold for the values that are neither null nor NaN; None, when
    they are not known."""

    no_nulls: bool = False
    only_nulls: bool = False
    no_nans: bool = False
    only_nans: bool = False
    only_nulls_or_nans: bool = False
    lower: Any = None
    upper: Any = None

    def with_bounds(self, lower: object, upper: object) -> Known:
        """Bounds that contradict each other prove nothing and are left out, as are NaN ones."""
        if _is_nan(lower) or _is_nan(upper):
            lower = upper = None
        if lower is not None and upper is not None and order_key(lower) > order_key(upper):
            lower = upper = None
        return Known(
            no_nulls=self.no_nulls, only_nulls=self.only_nulls, no_nans=self.no_nans, only_nans=self.only_nans,
            only_nulls_or_nans=self.only_nulls_or_nans, lower=lower, upper=upper,
        )  # fmt: skip


def may_hold(predicate: BoundPredicate, known: Known) -> bool:
    """False only when the predicate is true for no row."""
    return MAY_HOLD[predicate.op](known, predicate.literals)


def must_hold(predicate: BoundPredicate, known: Known) -> bool:
    """True only when the predicate is true for every row."""
    return MUST_HOLD[predicate.op](known, predicate.literals)


def can_be_nan(data_type: IcebergType) -> bool:
    return isinstance(data_type, (FloatType, DoubleType))


def decode_bounds(data_type: IcebergType, lower: bytes | None, upper: bytes | None) -> tuple[object, object]:
    """The values of two bounds in binary form, each None when it is missing, useless or unreadable: a bound only ever
    lets us skip work, so a bad one costs work and loses nothing."""
    if isinstance(data_type, _WITHOUT_BOUNDS) or data_type.is_nested:
        return None, None
    low, high = _decode(data_type, lower), _decode(data_type, upper)
    if isinstance(data_type, UuidType):
        return _widened(low, up=False), _widened(high, up=True)
    return low, high


def known_of_term(term: BoundTerm, known: Known) -> Known:
    """What is known of a transform's results, from what is known of its column: a transform that keeps the order maps
    bounds to bounds; of any other only nulls are known."""
    if not isinstance(term, BoundTransform):
        return known
    if not term.transform.preserves_order:
        return known.with_bounds(None, None)
    return known.with_bounds(_transformed(term, known.lower), _transformed(term, known.upper))


def _decode(data_type: IcebergType, bound: bytes | None) -> object:
    if bound is None:
        return None
    try:
        return from_bytes(data_type, bound)
    except FormatError:
        return None


def _widened(bound: object, *, up: bool) -> object:
    """A uuid bound with its lower half opened: the Java writer orders the halves as signed numbers, so of two uuids
    with equal upper halves it may have taken the wrong one. (When the upper halves differ in sign, its lower bound is
    above its upper bound, and both are ignored.)"""
    if not isinstance(bound, uuid.UUID):
        return None
    return uuid.UUID(int=bound.int | _LOW_BITS if up else bound.int & ~_LOW_BITS)


def _transformed(term: BoundTransform, bound: object) -> object:
    try:
        return term.transform.apply(term.reference.type, bound)
    except InvalidInput:
        return None


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value


def _no_value(known: Known) -> bool:
    """Nothing there but nulls and NaN, for which no comparison from above holds."""
    return known.only_nulls or known.only_nans or known.only_nulls_or_nans


def _may_lt(known: Known, literals: Sequence[Any]) -> bool:
    if _no_value(known):
        return False
    return known.lower is None or bool(order_key(known.lower) < order_key(literals[0]))


def _may_lt_eq(known: Known, literals: Sequence[Any]) -> bool:
    if _no_value(known):
        return False
    return known.lower is None or bool(order_key(known.lower) <= order_key(literals[0]))


def _may_gt(known: Known, literals: Sequence[Any]) -> bool:
    if known.only_nulls:
        return False
    return not known.no_nans or known.upper is None or bool(order_key(known.upper) > order_key(literals[0]))


def _may_gt_eq(known: Known, literals: Sequence[Any]) -> bool:
    if known.only_nulls:
        return False
    return not known.no_nans or known.upper is None or bool(order_key(known.upper) >= order_key(literals[0]))


def _may_in(known: Known, literals: Sequence[Any]) -> bool:
    return not _no_value(known) and any(_between(known, literal) for literal in literals)


def _between(known: Known, literal: object) -> bool:
    key = order_key(literal)
    if known.lower is not None and order_key(known.lower) > key:
        return False
    return known.upper is None or bool(order_key(known.upper) >= key)


def _may_start_with(known: Known, literals: Sequence[Any]) -> bool:
    if known.only_nulls:
        return False
    prefix = literals[0]
    if known.lower is not None and known.lower[: len(prefix)] > prefix:
        return False
    return known.upper is None or bool(known.upper[: len(prefix)] >= prefix)


def _all_start_with(known: Known, prefix: str) -> bool:
    """Values between two texts of one prefix have that prefix."""
    if known.lower is None or known.upper is None:
        return False
    return bool(known.lower.startswith(prefix) and known.upper.startswith(prefix))


def _all_equal(known: Known) -> bool:
    return known.lower is not None and known.upper is not None and order_key(known.lower) == order_key(known.upper)


MAY_HOLD: Final[dict[Op, Callable[[Known, Sequence[Any]], bool]]] = {
    Op.IS_NULL: lambda known, _: not known.no_nulls,
    Op.NOT_NULL: lambda known, _: not known.only_nulls,
    Op.IS_NAN: lambda known, _: not known.no_nans and not known.only_nulls,
    Op.NOT_NAN: lambda known, _: not known.only_nans,
    Op.LT: _may_lt,
    Op.LT_EQ: _may_lt_eq,
    Op.GT: _may_gt,
    Op.GT_EQ: _may_gt_eq,
    Op.EQ: _may_in,
    Op.NOT_EQ: lambda known, _: not known.only_nulls,
    Op.IN: _may_in,
    Op.NOT_IN: lambda known, literals: not known.only_nulls or not literals,
    Op.STARTS_WITH: _may_start_with,
    Op.NOT_STARTS_WITH: lambda known, literals: not known.only_nulls and not _all_start_with(known, literals[0]),
}


def _must_lt(known: Known, literals: Sequence[Any]) -> bool:
    if not (known.no_nulls and known.no_nans):
        return False
    return known.upper is not None and bool(order_key(known.upper) < order_key(literals[0]))


def _must_lt_eq(known: Known, literals: Sequence[Any]) -> bool:
    if not (known.no_nulls and known.no_nans):
        return False
    return known.upper is not None and bool(order_key(known.upper) <= order_key(literals[0]))


def _must_gt(known: Known, literals: Sequence[Any]) -> bool:
    if known.only_nans:
        return True
    return known.no_nulls and known.lower is not None and bool(order_key(known.lower) > order_key(literals[0]))


def _must_gt_eq(known: Known, literals: Sequence[Any]) -> bool:
    if known.only_nans:
        return True
    return known.no_nulls and known.lower is not None and bool(order_key(known.lower) >= order_key(literals[0]))


def _must_in(known: Known, literals: Sequence[Any]) -> bool:
    if not (known.no_nulls and known.no_nans and _all_equal(known)):
        return False
    return order_key(known.lower) in {order_key(literal) for literal in literals}


def _must_not_in(known: Known, literals: Sequence[Any]) -> bool:
    if known.only_nans or not literals:
        return True
    return known.no_nulls and not any(_between(known, literal) for literal in literals)


def _must_not_start_with(known: Known, literals: Sequence[Any]) -> bool:
    return known.no_nulls and not _may_start_with(known, literals)


MUST_HOLD: Final[dict[Op, Callable[[Known, Sequence[Any]], bool]]] = {
    Op.IS_NULL: lambda known, _: known.only_nulls,
    Op.NOT_NULL: lambda known, _: known.no_nulls,
    Op.IS_NAN: lambda known, _: known.only_nans,
    Op.NOT_NAN: lambda known, _: known.no_nans or known.only_nulls,
    Op.LT: _must_lt,
    Op.LT_EQ: _must_lt_eq,
    Op.GT: _must_gt,
    Op.GT_EQ: _must_gt_eq,
    Op.EQ: _must_in,
    Op.NOT_EQ: _must_not_in,
    Op.IN: _must_in,
    Op.NOT_IN: _must_not_in,
    Op.STARTS_WITH: lambda known, literals: known.no_nulls and _all_start_with(known, literals[0]),
    Op.NOT_STARTS_WITH: _must_not_start_with,
}
