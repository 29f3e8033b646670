"""Conditions as text."""

from __future__ import annotations

import random
import string
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.errors import FloebergError, InvalidInput, LimitExceeded
from floeberg.expr.nodes import FALSE, TRUE, Not, Op, Predicate, Reference
from floeberg.sql.conditions.filters import parse_where
from strategies.expressions import random_expression, seeds


@settings(max_examples=80)
@given(seeds)
def test_the_text_of_an_expression_parses_back_to_it(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(15):
        expression = random_expression(rng, transforms=True)
        assert parse_where(str(expression)) == expression, str(expression)


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("3 < x", "x > 3"), ("3 = x", "x = 3"), ("x == 3", "x = 3"), ("x <> 3", "x != 3"), ("(x) > 3", "x > 3"),
        ("((x > 3))", "x > 3"), ("x between 1 and 2 and y = 3", "x >= 1 AND x <= 2 AND y = 3"),
        ("x not between 1 and 2", "NOT (x >= 1 AND x <= 2)"), ("a or b = 1 and not c", "a = TRUE OR (b = 1 AND NOT (c = TRUE))"),
        ("x in (1, 2) -- why", "x IN (1, 2)"), ("x /* here */ is null", "x IS NULL"), ("! x", "NOT (x = TRUE)"),
        ("name = 'it''s'", r"name = 'it\'s'"), ("name = \"dq\"", "name = 'dq'"), ("name = 'a' 'b'", "name = 'ab'"),
        (r"name = 'a\nA'", "name = 'a\nA'"), (r"name = r'a\n'", r"name = 'a\\n'"),
        ("`a b`.c = 1", "`a b.c` = 1"), ("a.`b`.c = 1", "a.b.c = 1"), ("date > DATE '2024-01-01'", "date > DATE '2024-01-01'"),
        ("x = +3", "x = 3"), ("x = - - 3", "x = 3"), ("x = -(3)", None), ("x = 3L", "x = 3"), ("x = 3BD", "x = 3BD"),
        ("x = 1.5", "x = 1.5"), ("x = 1.50", "x = 1.50"), ("x = .5", "x = 0.5"), ("x = 1e3", "x = 1E+3BD"), ("x = 1.5F", "x = 1.5D"),
        ("x = x'0aFF'", "x = X'0AFF'"), ("x <=> 3", "x = 3 AND x IS NOT NULL"), ("x <=> NULL", "x IS NULL"),
        ("x is not true", "NOT (x = TRUE AND x IS NOT NULL)"), ("1 = 1", "TRUE"), ("'a' <> 'a'", "FALSE"), ("true", "TRUE"),
        ("s like 'abc%'", "s LIKE 'abc%'"), ("s like 'abc'", "s = 'abc'"), (r"s like 'a\\_c%'", "startswith(s, 'a_c')"),
        ("s not like 'abc%'", "s NOT LIKE 'abc%'"), ("starts_with(s, 'a')", "s LIKE 'a%'"),
        ("not isnan(x)", "NOT isnan(x)"), ("NOT (isnan(x))", "NOT (isnan(x))"),
        ("years(ts) = 54", "years(ts) = 54"), ("year(ts) = 2024", "years(ts) = 54"), ("year(ts) in (2023, 2024)", "years(ts) IN (53, 54)"),
        ("lake.system.bucket(16, id) = 3", "bucket(16, id) = 3"), ("day(ts) = DATE '2024-01-01'", "days(ts) = DATE '2024-01-01'"),
        ("date(ts) = '2024-01-01'", "days(ts) = '2024-01-01'"), ("system.year(ts) = 54", "years(ts) = 54"),
        ("ts > TIMESTAMP '2024-01-01'", "ts > TIMESTAMP_NTZ '2024-01-01 00:00:00'"),
        ("ts > TIMESTAMP '2024-01-01T10:00:00Z'", "ts > TIMESTAMP '2024-01-01 10:00:00+00:00'"),
        ("ts > TIMESTAMP '2024-01-01 10:00:00.123456789'", "ts > TIMESTAMP_NTZ '2024-01-01 10:00:00.123456789'"),
        ("t = TIME '10:00:00'", "t = TIME '10:00:00'"), ("ts > TIMESTAMP_LTZ '2024-01-01 00:00:00'", "ts > TIMESTAMP '2024-01-01 00:00:00+00:00'"),
        ("x in ()", "x IN ()"),
    ],
)  # fmt: skip
def test_what_texts_mean(text: str, same_as: str | None) -> None:
    if same_as is None:
        with pytest.raises(InvalidInput):
            parse_where(text)
    else:
        assert str(parse_where(text)) == same_as


def test_decimals_keep_every_digit() -> None:
    exact = "0.1000000000000000055511151231257827021181583404541015625"
    assert parse_where(f"x = {exact}") == Predicate(Op.EQ, Reference("x"), (Decimal(exact),))
    assert parse_where("x = 9007199254740993") == Predicate(Op.EQ, Reference("x"), (9007199254740993,))


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("", "empty", 0),
        ("x =", "a literal is expected", 3),
        ("x = y", "not with another column", 4),
        ("x = NULL", "IS NULL", 4),
        ("x IN (1, NULL)", "IS NULL", 9),
        ("x IN (SELECT 1)", "subquery", 6),
        ("x LIKE '%a'", "only a prefix", 11),
        ("x LIKE 'a_c%'", "only a prefix", 13),
        ("x LIKE 'a!_%' ESCAPE '!'", "startswith", 14),
        ("x RLIKE 'a'", "LIKE 'abc%'", 2),
        ("x > 3 y", "AND, OR and NOT", 6),
        ("x + 1 > 3", "not expected", 2),
        ("foo(x) = 3", "there are bucket", 3),
        ("bucket(id, 16) = 3", "number first", 7),
        ("month(ts) = 5", "months\\(ts\\)", 13),
        ("(x > 3", "closing parenthesis", 6),
        ("x is 5", "IS \\[NOT\\] NULL", 5),
        ("x = DATE '2024-13-01'", "no such day", 9),
        ("x = TIMESTAMP_NTZ '2024-01-01 00:00:00Z'", "no zone", 18),
        ("x = X'0'", "two digits", 4),
        ("x = 3::int", "not expected", 5),
        ("`` = 3", "empty name", 0),
        ("3 > 2", "a column", 5),
        ("x > 3 AND", "a column is expected", 9),
        ("x = 1.5L", "not expected", 5),
    ],
)
def test_errors_say_where_and_what_instead(text: str, message: str, position: int) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        parse_where(text)
    assert caught.value.context["position"] == position
    assert f"at character {position + 1}" in str(caught.value)


def test_an_open_quote_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="not closed"):
        parse_where("x = 'abc")


@pytest.mark.parametrize(
    "hostile", ["(" * 8_000, "x=1 AND (" * 4_000, "((x" * 4_000, "NOT (" * 8_000, "x = " + "-+" * 8_000]
)
def test_hostile_nesting_is_refused_in_bounded_time(hostile: str) -> None:
    with pytest.raises(InvalidInput):
        parse_where(hostile)


def test_long_flat_conditions_are_fine_and_endless_ones_are_not() -> None:
    assert parse_where("NOT " * 5001 + "x") == Not(Predicate(Op.EQ, Reference("x"), (True,)))
    assert len(parse_where(" OR ".join(f"x = {i}" for i in range(3000))).children) == 3000  # type: ignore[attr-defined]
    with pytest.raises(LimitExceeded):
        parse_where("x = 1" + " " * 4_000_001)
    with pytest.raises(InvalidInput, match="number"):
        parse_where("x = " + "9" * 5000)
    assert parse_where("TRUE OR FALSE") != TRUE
    assert parse_where("false") == FALSE


_PIECES = st.lists(
    st.sampled_from([*"()=<>!,.-+'`\"\\%:", "x", "AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "BETWEEN", "1", "1.5", "'a'",
                     "DATE", "X'00'", "day(", "bucket(", "isnan(", " ", "TRUE", "--", "/*", "3L", "\x00", "é"]),
    max_size=25,
)  # fmt: skip


@settings(max_examples=300)
@given(st.one_of(_PIECES.map(" ".join), _PIECES.map("".join), st.text(string.printable, max_size=40)))
def test_any_text_parses_or_raises_an_error_of_ours(text: str) -> None:
    try:
        expression = parse_where(text)
    except FloebergError:
        return
    assert parse_where(str(expression)) == expression
