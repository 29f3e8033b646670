"""Hazard 16: a filtered delete or overwrite drops the NULL and NaN rows. Only TRUE rows may go."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings

from floeberg.expr.bind import bind
from floeberg.expr.evaluate import evaluate, keeps
from floeberg.expr.metrics_eval import may_contain_match, must_all_match
from floeberg.expr.nodes import And, Expression, Not, Or, Predicate, fold
from floeberg.expr.rewrite import push_down_not
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import DOUBLE
from floeberg.spec.values.single_value import to_bytes
from floeberg.sql.conditions.filters import parse_where
from strategies.expressions import SCHEMA, random_expression, random_row, row_value, seeds

DOUBLE_ID = SCHEMA.field("d").field_id


def leaf_truth(node: Expression, row: dict[str, object]) -> bool | None:
    if isinstance(node, Predicate) and node.literals and row_value(row, node.term.name) is None:  # type: ignore[union-attr]
        return None
    return keeps(bind(node, SCHEMA), row)


def truth(expression: Expression, row: dict[str, object]) -> bool | None:
    """The expression's three values, Not evaluated where it stands."""
    return fold(
        expression,
        leaf=lambda node: leaf_truth(node, row),
        every=lambda values: False if False in values else None if None in values else True,
        some=lambda values: True if True in values else None if None in values else False,
        negate=lambda value: None if value is None else not value,
    )


@settings(max_examples=60)
@given(seeds)
def test_rows_deleted_and_rows_kept_are_all_the_rows(seed: int) -> None:
    """A delete removes the rows for which its condition is true; what stays is NOT (condition) or null."""
    rng = random.Random(seed)
    for _ in range(10):
        condition = random_expression(rng)
        bound, opposite = bind(condition, SCHEMA), bind(Not(condition), SCHEMA)
        for _ in range(5):
            row = random_row(rng)
            deleted, kept_by_not = keeps(bound, row), keeps(opposite, row)
            assert not (deleted and kept_by_not)
            assert deleted is (truth(condition, row) is True)
            assert kept_by_not is (truth(condition, row) is False)


@settings(max_examples=60)
@given(seeds)
def test_no_form_of_a_condition_turns_null_into_true(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        condition = random_expression(rng, depth=4)
        row = random_row(rng)
        forms = [condition, push_down_not(condition), Not(Not(condition)), Not(push_down_not(Not(condition)))]
        assert len({keeps(bind(form, SCHEMA), row) for form in forms}) == 1, (str(condition), row)


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("d > 3", [None, 1.0]),
        ("d <= 3", [None, float("nan"), 5.0]),
        ("d != 1", [None, 1.0]),
        ("NOT (d = 1)", [None, 1.0]),
        ("d NOT IN (1, 5)", [None, 1.0, 5.0]),
        ("NOT (d > 3 AND i = 7)", [None, float("nan"), 5.0]),  # i is null in every row; false AND null is false
        ("NOT (d > 3 OR i = 7)", [None, float("nan"), 1.0, 5.0]),
        ("d < 1e400", [None, float("nan")]),
        ("isnan(d)", [None, 1.0, 5.0]),
    ],
)
def test_what_a_delete_leaves(condition: str, kept: list[float | None]) -> None:
    bound = bind(parse_where(condition), SCHEMA)
    rows: list[float | None] = [None, float("nan"), 1.0, 5.0]
    left = [value for value in rows if not keeps(bound, {"d": value, "i": None})]
    assert repr(left) == repr(kept)


def file(low: float, high: float, **counts: int) -> DataFile:
    metrics: dict[str, Any] = {name: {DOUBLE_ID: count} for name, count in counts.items()}
    return DataFile(
        file_path="f", file_format=FileFormat.PARQUET, record_count=10, file_size_in_bytes=1,
        value_counts={DOUBLE_ID: 10}, lower_bounds={DOUBLE_ID: to_bytes(DOUBLE, low)},
        upper_bounds={DOUBLE_ID: to_bytes(DOUBLE, high)}, **metrics,
    )  # fmt: skip


@pytest.mark.parametrize("condition", ["d < 3", "d <= 2", "d != 7", "d NOT IN (7, 8)", "NOT (d >= 3)"])
def test_a_file_with_nulls_is_never_deleted_whole(condition: str) -> None:
    bound = bind(parse_where(condition), SCHEMA)
    assert must_all_match(bound, file(0.0, 2.0, null_value_counts=0, nan_value_counts=0))
    assert not must_all_match(bound, file(0.0, 2.0, null_value_counts=1, nan_value_counts=0))
    assert not must_all_match(bound, file(0.0, 2.0, nan_value_counts=0))


def test_a_file_with_nan_is_deleted_whole_only_where_nan_goes_too() -> None:
    with_nan = file(4.0, 5.0, null_value_counts=0, nan_value_counts=1)
    assert must_all_match(bind(parse_where("d > 3"), SCHEMA), with_nan)
    assert not must_all_match(bind(parse_where("d < 9"), SCHEMA), with_nan)
    assert may_contain_match(bind(parse_where("d > 9"), SCHEMA), with_nan)


def test_and_and_or_are_those_of_sql() -> None:
    for a in (True, False, None):
        for b in (True, False, None):
            row = {"b": a, "i": None if b is None else int(b)}
            left, right = bind(parse_where("b = TRUE"), SCHEMA), bind(parse_where("i = 1"), SCHEMA)
            both = [a, b]
            assert evaluate(And((left, right)), row) is (False if False in both else None if None in both else True)
            assert evaluate(Or((left, right)), row) is (True if True in both else None if None in both else False)
