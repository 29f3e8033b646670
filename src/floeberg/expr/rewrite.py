"""Equivalent forms of an expression: negation pushed down to the predicates, constants folded."""

from __future__ import annotations

from floeberg.expr.nodes import (
    NEGATED,
    AlwaysFalse,
    AlwaysTrue,
    And,
    BoundPredicate,
    Expression,
    Not,
    Or,
    Predicate,
    and_,
    fold,
    not_,
    or_,
)


def push_down_not(expression: Expression) -> Expression:
    """An expression without Not that is true, false and null for the same rows.

    Every predicate's negation is a predicate (NaN and zeros are ordered totally, see `expr/evaluate.py`), and De
    Morgan's laws hold in three-valued logic, so nothing is lost or won by it.
    """
    both: tuple[Expression, Expression] = fold(
        expression,
        leaf=lambda node: (node, negated(node)),
        every=lambda pairs: (and_(*(p for p, _ in pairs)), or_(*(n for _, n in pairs))),
        some=lambda pairs: (or_(*(p for p, _ in pairs)), and_(*(n for _, n in pairs))),
        negate=lambda pair: (pair[1], pair[0]),
    )
    return both[0]


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """The parts that must all be true; none for an expression that is always true."""
    match expression:
        case And(children=children):
            return children
        case AlwaysTrue():
            return ()
    return (expression,)


def negated(node: Expression) -> Expression:
    """The negation of a leaf, as a leaf."""
    match node:
        case AlwaysTrue() | AlwaysFalse():
            return not_(node)
        case Predicate(op=op, term=term, literals=literals):
            return Predicate(NEGATED[op], term, literals)
        case BoundPredicate(op=op, term=bound_term, literals=values):
            return BoundPredicate(NEGATED[op], bound_term, values)
        case And() | Or() | Not():
            raise AssertionError("fold gives leaves only")
    raise AssertionError(f"unknown expression {node!r}")
