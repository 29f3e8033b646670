"""Expressions as data, and how they are built."""

from __future__ import annotations

import datetime as dt
import math
import pickle
import uuid
from decimal import Decimal

import pytest

from floeberg.errors import InvalidInput
from floeberg.expr import build
from floeberg.expr.build import bucket, col, day, hour, month, truncate, year
from floeberg.expr.literals import Temporal, to_literal
from floeberg.expr.nodes import (
    FALSE,
    MAX_DEPTH,
    TRUE,
    And,
    Expression,
    Not,
    Op,
    Or,
    Predicate,
    Reference,
    and_,
    fold,
    not_,
    or_,
    predicates,
)
from floeberg.spec.types import DATE, TIME, TIMESTAMP, TIMESTAMP_NS, TIMESTAMPTZ


def test_operators_build_what_the_constructors_build() -> None:
    x = col("x")
    assert (x < 3) == build.lt("x", 3) == Predicate(Op.LT, Reference("x"), (3,))
    assert (x <= 3) == build.lte("x", 3)
    assert (x > 3) == build.gt("x", 3)
    assert (x >= 3) == build.gte("x", 3)
    assert (x == 3) == build.eq("x", 3)
    assert (x != 3) == build.ne("x", 3)
    assert x.is_null() == build.is_null("x")
    assert x.not_null() == build.not_null("x")
    assert x.is_nan() == build.is_nan("x")
    assert x.not_nan() == build.not_nan("x")
    assert x.in_([1, 2]) == build.in_("x", (1, 2))
    assert x.not_in([1, 2]) == build.not_in("x", (1, 2))
    assert x.starts_with("a") == build.starts_with("x", "a")
    assert x.not_starts_with("a") == build.not_starts_with("x", "a")
    assert x.between(1, 2) == (x >= 1) & (x <= 2)
    assert (3 < x) == (x > 3)  # noqa: SIM300


def test_and_and_or_are_flat_and_fold_constants() -> None:
    a, b, c = col("a") > 1, col("b") > 1, col("c") > 1
    assert (a & b) & c == a & (b & c) == And((a, b, c))
    assert (a | b) | c == Or((a, b, c))
    assert a & TRUE == a | FALSE == a & a == a
    assert a & FALSE == FALSE
    assert a | TRUE == TRUE
    assert ~~a == a
    assert ~TRUE == FALSE
    assert (and_(), or_(), not_(FALSE)) == (TRUE, FALSE, TRUE)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ((col("a") > 1) & ((col("b") == "it's") | col("c").is_null()), r"a > 1 AND (b = 'it\'s' OR c IS NULL)"),
        (~(col("a") > 1), "NOT (a > 1)"),
        (col("a.b") <= Decimal("1.50"), "a.b <= 1.50"),
        (col("odd name`") != 1.5, "`odd name``` != 1.5D"),
        (col("or") == True, "`or` = TRUE"),  # noqa: E712
        (col("a").in_([1, 2]) | col("a").not_in([b"\x00\xff"]), "a IN (1, 2) OR a NOT IN (X'00FF')"),
        (col("a").starts_with("ab"), "a LIKE 'ab%'"),
        (col("a").not_starts_with("a%b"), "NOT startswith(a, 'a%b')"),
        (bucket(16, "id") == 3, "bucket(16, id) = 3"),
        (truncate(4, "s") == "abcd", "truncate(4, s) = 'abcd'"),
        (day("ts") == dt.date(2024, 1, 1), "days(ts) = DATE '2024-01-01'"),
        (year("ts") == 54, "years(ts) = 54"),
        (month("ts") == 648, "months(ts) = 648"),
        (hour("ts") == 5, "hours(ts) = 5"),
        (col("d") < math.inf, "d < double('Infinity')"),
        (col("d").not_nan(), "NOT isnan(d)"),
        (col("u") == uuid.UUID(int=1), "u = UUID '00000000-0000-0000-0000-000000000001'"),
    ],
)
def test_expressions_read_as_sql(expression: Expression, text: str) -> None:
    assert str(expression) == text


def test_literals_of_other_types_are_other_literals() -> None:
    x = col("x")
    distinct = [x == 1, x == True, x == 1.0, x == Decimal(1), x == "1", x == 0.0, x == -0.0]  # noqa: E712
    assert len(set(distinct)) == len(distinct)
    assert (x == Decimal("1.0")) == (x == Decimal("1.00"))


def test_python_dates_and_times_are_exact() -> None:
    assert to_literal(dt.date(1969, 12, 31)) == Temporal(DATE, -1)
    assert to_literal(dt.time(1, 2, 3, 4)) == Temporal(TIME, 3_723_000_004)
    assert to_literal(dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)) == Temporal(TIMESTAMP, -1)
    offset = dt.timezone(dt.timedelta(hours=2))
    assert to_literal(dt.datetime(1970, 1, 1, 2, 0, 0, 1, tzinfo=offset)) == Temporal(TIMESTAMPTZ, 1)
    assert to_literal(dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)) == Temporal(TIMESTAMP, 253402300799999999)
    assert str(Temporal(TIMESTAMP_NS, 5_000_000_000)) == "TIMESTAMP_NTZ '1970-01-01 00:00:05.000000000'"


@pytest.mark.parametrize(
    ("build_it", "message"),
    [
        (lambda: col("x") == None, "is_null"),  # noqa: E711
        (lambda: col("x") == math.nan, "is_nan"),
        (lambda: col("x") == Decimal("nan"), "is_nan"),
        (lambda: col("x") == object(), "not a literal"),
        (lambda: col("x") == col("y"), "not with another column"),
        (lambda: col("x") == "\ud800", "surrogates"),
        (lambda: col("x") == dt.time(1, tzinfo=dt.UTC), "no zone"),
        (lambda: col("x").in_("abc"), "list of literals"),
        (lambda: col("x").starts_with(3), "takes a string"),
        (lambda: col(""), "non-empty"),
        (lambda: bucket(4, bucket(4, "x")), "applies to a column"),
        (lambda: (col("x") > 1) and (col("y") > 2), "&"),
        (lambda: bool(col("x")), "compare it"),
        (lambda: (col("x") > 1) & 3, "not an expression"),
        (lambda: And((TRUE,)), "two children"),
        (lambda: Predicate(Op.LT, Reference("x")), "one literal"),
        (lambda: build.lt(3, 4), "not a column"),
    ],
)
def test_mistakes_are_refused_with_a_way_out(build_it: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        build_it()  # type: ignore[operator]


def test_nesting_is_bounded_and_wide_expressions_are_not_deep() -> None:
    wide = and_(*(col("x") != i for i in range(20_000)))
    assert len(predicates(wide)) == 20_000
    deep = col("x") > 1
    for i in range(MAX_DEPTH // 2):
        deep = (deep | (col("y") > i)) & (col("z") > i)
    with pytest.raises(InvalidInput, match="deeper"):
        Not(deep)
    assert fold(deep, leaf=lambda _: 1, every=sum, some=sum, negate=lambda n: n) > MAX_DEPTH
    assert hash(deep) == hash(pickle.loads(pickle.dumps(deep)))


def test_expressions_survive_pickling() -> None:
    expression = Not((bucket(16, "id") == 3) & (col("ts") > dt.datetime(2024, 1, 1)))
    assert pickle.loads(pickle.dumps(expression)) == expression
