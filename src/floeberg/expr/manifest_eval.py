"""Evaluation on the partition summaries of a manifest: may it track a file whose partition matches?

https://iceberg.apache.org/spec/#manifest-lists. The expression is a projection (`expr/projection.py`): bound to the
partition tuple of the manifest's spec. A summary without bounds proves nothing of values: it may stand for nulls only,
and it may come from a writer that leaves bounds out.
"""

from __future__ import annotations

from collections.abc import Sequence

from floeberg.errors import InvalidInput
from floeberg.expr.bounds import Known, can_be_nan, decode_bounds, may_hold
from floeberg.expr.nodes import AlwaysFalse, AlwaysTrue, BoundPredicate, BoundReference, Expression, fold
from floeberg.expr.rewrite import push_down_not
from floeberg.spec.snapshots.manifest_entry import FieldSummary


def summaries_may_match(expression: Expression, summaries: Sequence[FieldSummary] | None) -> bool:
    """Inclusive: false only when no partition tuple that the summaries describe makes the expression true."""
    fields = summaries or ()

    def leaf(node: Expression) -> bool:
        match node:
            case AlwaysTrue():
                return True
            case AlwaysFalse():
                return False
            case BoundPredicate(term=BoundReference(positions=(position,)) as reference):
                return position >= len(fields) or may_hold(node, known_of_summary(reference, fields[position]))
            case BoundPredicate():
                return True
        raise InvalidInput(f"{node} is not bound to a partition: project it before summaries are evaluated")

    return fold(push_down_not(expression), leaf=leaf, every=all, some=any, negate=_no_negation)


def known_of_summary(reference: BoundReference, summary: FieldSummary) -> Known:
    """What a partition field's summary proves."""
    lower, upper = decode_bounds(reference.type, summary.lower_bound, summary.upper_bound)
    return Known(
        no_nulls=not summary.contains_null,
        no_nans=summary.contains_nan is False or not can_be_nan(reference.type),
    ).with_bounds(lower, upper)


def _no_negation(value: bool) -> bool:
    raise AssertionError("negation was pushed down")
