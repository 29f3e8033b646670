"""Evaluation on a file's column metrics: may it hold a row for which the expression is true, must all its rows be so?

https://iceberg.apache.org/spec/#scan-planning. Missing metrics never drop a file, contradictory ones are ignored. Only
columns outside lists and maps can be bound, so a column has one value a row.
"""

from __future__ import annotations

from collections.abc import Mapping

from floeberg.errors import InvalidInput
from floeberg.expr.bounds import Known, can_be_nan, decode_bounds, known_of_term, may_hold, must_hold
from floeberg.expr.nodes import AlwaysFalse, AlwaysTrue, BoundPredicate, BoundReference, Expression, fold
from floeberg.expr.rewrite import push_down_not
from floeberg.spec.snapshots.manifest_entry import DataFile


def may_contain_match(expression: Expression, file: DataFile) -> bool:
    """Inclusive: false only when no row of the file makes the bound expression true."""
    if file.record_count == 0:
        return False
    if file.record_count < 0:
        return True
    return _fold(expression, file, strict=False)


def must_all_match(expression: Expression, file: DataFile) -> bool:
    """Strict: true only when every row of the file makes the bound expression true (of no rows, every one does)."""
    if file.record_count == 0:
        return True
    if file.record_count < 0:
        return False
    return _fold(expression, file, strict=True)


def known_of_column(reference: BoundReference, file: DataFile) -> Known:
    """What a file's metrics prove of a column.

    Some writers leave the rows whose enclosing struct is null out of a nested column's counts, so for such a column a
    count proves something of every row only when all rows were counted. A column of which nothing was counted may be
    missing from the file, and then its rows have its initial default.
    """
    field_id, rows = reference.field_id, file.record_count
    values = _count(file.value_counts, field_id)
    nulls = _count(file.null_value_counts, field_id)
    nans = _count(file.nan_value_counts, field_id) if can_be_nan(reference.type) else 0
    if values is not None and not (nulls or 0) + (nans or 0) <= values <= rows:
        return Known(no_nans=not can_be_nan(reference.type))
    all_counted = values == rows if reference.is_nested or values is not None else True
    counted = values is not None and values > 0 and (all_counted or reference.is_nested)
    lower, upper = decode_bounds(
        reference.type, (file.lower_bounds or {}).get(field_id), (file.upper_bounds or {}).get(field_id)
    )
    return Known(
        no_nulls=nulls == 0 and all_counted,
        only_nulls=counted and nulls == values,
        no_nans=nans == 0,
        only_nans=counted and all_counted and nans == values,
        only_nulls_or_nans=counted and nulls is not None and nans is not None and nulls + nans == values,
    ).with_bounds(lower, upper)


def _count(counts: Mapping[int, int] | None, field_id: int) -> int | None:
    count = None if counts is None else counts.get(field_id)
    return None if count is None or count < 0 else count


def _fold(expression: Expression, file: DataFile, *, strict: bool) -> bool:
    decide = must_hold if strict else may_hold

    def leaf(node: Expression) -> bool:
        match node:
            case AlwaysTrue():
                return True
            case AlwaysFalse():
                return False
            case BoundPredicate(term=term):
                return decide(node, known_of_term(term, known_of_column(term.reference, file)))
        raise InvalidInput(f"{node} is not bound to a schema: bind it before metrics are evaluated")

    return fold(push_down_not(expression), leaf=leaf, every=all, some=any, negate=_no_negation)


def _no_negation(value: bool) -> bool:
    raise AssertionError("negation was pushed down")
