"""What is known of a column in each file of a frame, and which files may hold a row for which a predicate is true: the
vectorised twin of `expr.bounds` and `expr.metrics_eval`. Both must always agree; a property test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from floeberg.errors import InvalidInput
from floeberg.expr.bounds import can_be_nan
from floeberg.expr.nodes import BoundPredicate, BoundReference, BoundTerm, BoundTransform, Op
from floeberg.files.metric_columns import metric_name
from floeberg.scan.bound_columns import (
    comparable_dtype,
    decode_lower,
    decode_upper,
    from_comparable,
    to_comparable,
)

_MANY_LITERALS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownColumns:
    """`expr.bounds.Known` for each file: flags that are never null, bounds that are null where not known (None: of no
    file)."""

    no_nulls: pl.Series
    only_nulls: pl.Series
    no_nans: pl.Series
    only_nans: pl.Series
    only_nulls_or_nans: pl.Series
    lower: pl.Series | None
    upper: pl.Series | None

    @property
    def no_value(self) -> pl.Series:
        """Nothing there but nulls and NaN."""
        return self.only_nulls | self.only_nans | self.only_nulls_or_nans

    def with_bounds(self, lower: pl.Series | None, upper: pl.Series | None) -> KnownColumns:
        """Bounds that contradict each other prove nothing and are left out, as are NaN ones."""
        if lower is None or upper is None:
            return replace(self, lower=lower, upper=upper)
        bad = _filled(lower > upper, False)
        if lower.dtype.is_float():
            bad = bad | _filled(lower.is_nan(), False) | _filled(upper.is_nan(), False)
        return replace(self, lower=_nulled(lower, bad), upper=_nulled(upper, bad))


def known_columns(reference: BoundReference, frame: pl.DataFrame) -> KnownColumns:
    """What the metrics prove of a column; the frame has the column's metric columns and `record_count`."""

    def column(metric: str) -> pl.Series:
        return frame.get_column(metric_name(metric, reference.field_id))

    rows = frame.get_column("record_count")
    values, nulls = _count(column("value_counts")), _count(column("null_value_counts"))
    floating = can_be_nan(reference.type)
    nans = _count(column("nan_value_counts")) if floating else _constant(0, frame.height)
    known_nans = _filled(nans, 0)
    consistent = _filled((values <= rows) & (known_nans <= values) & (_filled(nulls, 0) <= values - known_nans), True)
    all_counted = _filled(values == rows, not reference.is_nested)
    counted = _filled(values > 0, False) & consistent
    if not reference.is_nested:
        counted = counted & all_counted
    no_nans = _filled(nans == 0, False)
    known = KnownColumns(
        no_nulls=_filled(nulls == 0, False) & all_counted & consistent,
        only_nulls=_filled(nulls == values, False) & counted,
        no_nans=no_nans & consistent if floating else no_nans,
        only_nans=_filled(nans == values, False) & counted & all_counted,
        only_nulls_or_nans=_filled(nulls == values - nans, False) & counted,
        lower=None,
        upper=None,
    )
    lower = decode_lower(reference.type, column("lower_bounds"))
    upper = decode_upper(reference.type, column("upper_bounds"))
    if lower is None or upper is None:
        return known
    return known.with_bounds(_nulled(lower, ~consistent), _nulled(upper, ~consistent))


def known_term(term: BoundTerm, known: KnownColumns) -> KnownColumns:
    """What is known of a transform's results: a transform that keeps the order maps bounds to bounds."""
    if not isinstance(term, BoundTransform):
        return known
    if not term.transform.preserves_order or comparable_dtype(term.type) is None:
        return known.with_bounds(None, None)
    return known.with_bounds(_transformed(term, known.lower), _transformed(term, known.upper))


def may_hold(predicate: BoundPredicate, known: KnownColumns) -> pl.Series:
    """False only for files in which the predicate is true for no row."""
    literals = [to_comparable(predicate.term.type, literal) for literal in predicate.literals]
    return _MAY_HOLD[predicate.op](known, literals)


def _count(counts: pl.Series) -> pl.Series:
    return _nulled(counts, _filled(counts < 0, False))


def _filled(values: pl.Series, value: bool | int) -> pl.Series:
    """Without nulls. Filling goes through polars' query engine, which costs more than a small plan's work; most series of
    a plan have no null."""
    return values.fill_null(value) if values.null_count() else values


def _nulled(values: pl.Series, where: pl.Series) -> pl.Series:
    return values.set(where, None) if where.any() else values


def _constant(value: int, length: int) -> pl.Series:
    return pl.Series([value], dtype=pl.Int64).new_from_index(0, length)


def _transformed(term: BoundTransform, bounds: pl.Series | None) -> pl.Series | None:
    """Each distinct bound is transformed once."""
    dtype = comparable_dtype(term.type)
    if bounds is None or dtype is None:
        return None
    results: dict[Any, Any] = {None: None}
    source = term.reference.type
    for value in bounds.drop_nulls().unique().to_list():
        try:
            result = term.transform.apply(source, from_comparable(source, value))
        except InvalidInput:
            result = None
        results[value] = None if result is None else to_comparable(term.type, result)
    return pl.Series([results[value] for value in bounds.to_list()], dtype=dtype)


def _compared(
    known: KnownColumns, bounds: pl.Series | None, compare: Callable[[pl.Series, pl.Series], pl.Series], literal: Any
) -> pl.Series:
    """The comparison with a literal; true where the bound is not known."""
    if bounds is None:
        return known.no_nulls | True
    return _filled(compare(bounds, _literal(bounds, literal)), True)


def _literal(like: pl.Series, literal: Any) -> pl.Series:
    return pl.Series([literal], dtype=like.dtype)


def _may_lt(known: KnownColumns, literals: Sequence[Any]) -> pl.Series:
    return ~known.no_value & _compared(known, known.lower, lambda bound, literal: bound < literal, literals[0])


def _may_lt_eq(known: KnownColumns, literals: Sequence[Any]) -> pl.Series:
    return ~known.no_value & _compared(known, known.lower, lambda bound, literal: bound <= literal, literals[0])


def _may_gt(known: KnownColumns, literals: Sequence[Any]) -> pl.Series:
    above = _compared(known, known.upper, lambda bound, literal: bound > literal, literals[0])
    return ~known.only_nulls & (~known.no_nans | above)


def _may_gt_eq(known: KnownColumns, literals: Sequence[Any]) -> pl.Series:
    above = _compared(known, known.upper, lambda bound, literal: bound >= literal, literals[0])
    return ~known.only_nulls & (~known.no_nans | above)


def _may_in(known: KnownColumns, literals: Sequence[Any]) -> pl.Series:
    if not literals:
        return known.no_nulls & False
    if len(literals) > _MANY_LITERALS and known.lower is not None and known.upper is not None:
        return ~known.no_value & _some_between(known.lower, known.upper, literals)
    some = known.no_nulls & False
    for literal in literals:
        from_below = _compared(known, known.lower, lambda bound, value: bound <= value, literal)
        some = some | (from_below & _compared(known, known.upper, lambda bound, value: bound >= value, literal))
    return ~known.no_value & some


def _some_between(lower: pl.Series, upper: pl.Series, literals: Sequence[Any]) -> pl.Series:
    """Whether the least literal that is not below the lower bound is not above the upper one."""
    ordered = pl.Series(literals, dtype=lower.dtype).sort()
    least = ordered[:1].new_from_index(0, len(lower))
    places = ordered.search_sorted(lower.zip_with(lower.is_not_null(), least), side="left")
    is_there = places < len(ordered)
    found = ordered.gather(places.clip(0, len(ordered) - 1))
    return is_there & _filled(found <= upper, True)


def _may_start_with(known: KnownColumns, literals: Sequence[Any]) -> pl.Series:
    prefix: bytes = literals[0]

    def cut(bounds: pl.Series) -> pl.Series:
        return bounds.bin.slice(0, len(prefix))

    from_below = _compared(known, known.lower, lambda bound, literal: cut(bound) <= literal, prefix)
    return (
        ~known.only_nulls
        & from_below
        & _compared(known, known.upper, lambda bound, literal: cut(bound) >= literal, prefix)
    )


def _may_not_start_with(known: KnownColumns, literals: Sequence[Any]) -> pl.Series:
    if known.lower is None or known.upper is None:
        return ~known.only_nulls
    prefix = _literal(known.lower, literals[0])
    size = len(literals[0])
    all_start = (known.lower.bin.slice(0, size) == prefix) & (known.upper.bin.slice(0, size) == prefix)
    return ~known.only_nulls & ~_filled(all_start, False)


_MAY_HOLD: Final[dict[Op, Callable[[KnownColumns, Sequence[Any]], pl.Series]]] = {
    Op.IS_NULL: lambda known, _: ~known.no_nulls,
    Op.NOT_NULL: lambda known, _: ~known.only_nulls,
    Op.IS_NAN: lambda known, _: ~known.no_nans & ~known.only_nulls,
    Op.NOT_NAN: lambda known, _: ~known.only_nans,
    Op.LT: _may_lt,
    Op.LT_EQ: _may_lt_eq,
    Op.GT: _may_gt,
    Op.GT_EQ: _may_gt_eq,
    Op.EQ: _may_in,
    Op.NOT_EQ: lambda known, _: ~known.only_nulls,
    Op.IN: _may_in,
    Op.NOT_IN: lambda known, literals: ~known.only_nulls if literals else known.no_nulls | True,
    Op.STARTS_WITH: _may_start_with,
    Op.NOT_STARTS_WITH: _may_not_start_with,
}
