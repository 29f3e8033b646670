"""Projections that hold also for partition values of old writers, which rounded times before 1970 up.

The Java library to 0.10 gave `day(1969-12-31 10:00)` as 0 instead of -1. So where the right result is r, the partition
value of a file may be r, and r + 1 when r is negative; from 1970 on it is r.
"""

from __future__ import annotations

from collections.abc import Iterable

from floeberg.expr.nodes import FALSE, TRUE, BoundPredicate, BoundTerm, Expression, Op


def fix_inclusive_time(projected: Expression) -> Expression:
    """True for every partition value that a row of the projection's values may have."""
    if not isinstance(projected, BoundPredicate):
        return projected
    values = _ints(projected)
    match projected.op:
        case Op.LT if values[0] <= 0:
            return BoundPredicate(Op.LT, projected.term, (values[0] + 1,))
        case Op.LT_EQ if values[0] < 0:
            return BoundPredicate(Op.LT_EQ, projected.term, (values[0] + 1,))
        case Op.EQ | Op.IN:
            return _among(projected.term, _with_next(values), positive=True)
        case Op.NOT_EQ | Op.NOT_IN:
            return _among(projected.term, (value for value in values if value > 0), positive=False)
    return projected


def fix_strict_time(projected: Expression) -> Expression:
    """True only for partition values under which every row has one of the projection's values."""
    if not isinstance(projected, BoundPredicate):
        return projected
    values = _ints(projected)
    match projected.op:
        case Op.GT if values[0] < 0:
            return BoundPredicate(Op.GT, projected.term, (values[0] + 1,))
        case Op.GT_EQ if values[0] <= 0:
            return BoundPredicate(Op.GT_EQ, projected.term, (values[0] + 1,))
        case Op.EQ | Op.IN:
            return _among(projected.term, (value for value in values if value > 0), positive=True)
        case Op.NOT_EQ | Op.NOT_IN:
            return _among(projected.term, _with_next(values), positive=False)
    return projected


def _with_next(values: Iterable[int]) -> set[int]:
    """Each value, and the one that an old writer may have put for it."""
    return {written for value in values for written in ((value, value + 1) if value < 0 else (value,))}


def _among(term: BoundTerm, values: Iterable[int], *, positive: bool) -> Expression:
    ordered = tuple(sorted(set(values)))
    if not ordered:
        return FALSE if positive else TRUE
    if len(ordered) == 1:
        return BoundPredicate(Op.EQ if positive else Op.NOT_EQ, term, ordered)
    return BoundPredicate(Op.IN if positive else Op.NOT_IN, term, ordered)


def _ints(predicate: BoundPredicate) -> tuple[int, ...]:
    return tuple(value for value in predicate.literals if isinstance(value, int))
