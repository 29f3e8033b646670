"""Equivalent forms."""

from __future__ import annotations

import random

from hypothesis import given, settings

from floeberg.expr.bind import bind
from floeberg.expr.build import col
from floeberg.expr.evaluate import evaluate
from floeberg.expr.nodes import FALSE, NEGATED, TRUE, And, Expression, Not, Or, Predicate, and_, fold, not_, or_
from floeberg.expr.rewrite import conjuncts, push_down_not
from floeberg.sql.conditions.filters import parse_where
from strategies.expressions import SCHEMA, random_expression, random_row, seeds


def bind_leaves(expression: Expression) -> Expression:
    """The same tree, Not included, with every predicate bound where that keeps its three values."""
    return fold(
        expression,
        leaf=lambda n: bind(n, SCHEMA),
        every=lambda p: And(tuple(p)),
        some=lambda p: Or(tuple(p)),
        negate=Not,
    )


@settings(max_examples=60)
@given(seeds)
def test_pushing_negation_down_keeps_true_false_and_null(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        bound = bind_leaves(random_expression(rng, depth=4))
        pushed = push_down_not(bound)
        assert "Not(" not in repr(pushed)
        for _ in range(6):
            row = random_row(rng)
            assert evaluate(pushed, row) is evaluate(bound, row), (str(bound), str(pushed), row)


def test_every_operator_has_an_opposite() -> None:
    assert all(NEGATED[NEGATED[op]] is op for op in NEGATED)
    assert str(push_down_not(parse_where("NOT (a < 1 AND (b = 2 OR NOT c IS NULL) OR d LIKE 'x%')"))) == (
        "(a >= 1 OR (b != 2 AND c IS NULL)) AND d NOT LIKE 'x%'"
    )


def test_combining_folds_constants_and_repetitions() -> None:
    a, b = col("a") > 1, col("b") > 2
    assert and_(a, TRUE, a) == a
    assert or_(a, and_(b, FALSE)) == a
    assert not_(not_(a)) == a
    assert or_(a, not_(FALSE)) == TRUE


def test_conjuncts_are_the_parts_that_must_hold() -> None:
    a, b = col("a") > 1, col("b") > 2
    assert conjuncts(a & b) == (a, b)
    assert conjuncts(a | b) == (a | b,)
    assert conjuncts(TRUE) == ()
    assert all(isinstance(part, Predicate) for part in conjuncts(a & b))
