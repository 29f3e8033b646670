"""Conditions read from text and from Columns: never more than Spark will filter by."""

from __future__ import annotations

import pytest

from floeberg.spark.read.column_conditions import conditions_of, sql_of, whole_condition_of
from floeberg.sql.conditions.predicates import AnyOf, Compare, Condition, InList, IsNull, SparkLiteral


class Shown:
    """A classic Column is known by its text alone."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"Column<'{self.text}'>"


X3 = Compare(("x",), ">", SparkLiteral("int", 3))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">(x, 3)", [X3]),
        ("and(>(x, 3), in(s.a, 'a', 'b'))", [X3, InList(("s", "a"), (SparkLiteral("string", "a"), SparkLiteral("string", "b")))]),
        ("or(>(x, 3), isNull(y))", [AnyOf((X3, IsNull(("y",))))]),
        ("!(isNull(y))", [IsNull(("y",), negated=True)]),
        ("<(3, x)", [X3]),
        ("=(x, 1099511627776L)", [Compare(("x",), "=", SparkLiteral("bigint", 1 << 40))]),
        ("=(d, 2020-01-01)", [Compare(("d",), "=", SparkLiteral("date", "2020-01-01"))]),
        ("and(>(x, 3), >(x, CAST(3 AS STRING)))", []),
        ("and(>(x, 3), >(x, y))", [X3]),
        ("=(s, 'it\\'s, (a)')", []),
        ("=(x, 1.5)", []),
        ("=(x, 2020-01-01 00:00:00.0)", []),
        ("=(x, NULL)", []),
        ("x > 3 and y = 'a'", []),
        (">(x, 3) or y", []),
    ],
)  # fmt: skip
def test_the_text_of_a_classic_column_is_read_or_says_nothing(text: str, expected: list[Condition]) -> None:
    assert conditions_of(Shown(text), ["x", "y", "s", "d"]) == expected


def test_a_column_named_like_a_number_makes_the_text_of_classic_columns_say_nothing() -> None:
    assert conditions_of(Shown(">(x, 3)"), ["x", "3"]) == []


def test_text_is_read_as_sql_and_nonsense_says_nothing() -> None:
    assert conditions_of("x > 3 AND f(y) = 2", ["x", "y"]) == [X3]
    assert conditions_of("x >>> 'unclosed", ["x"]) == []
    assert conditions_of(17, ["x"]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">(x, 3)", (X3,)),
        ("and(>(x, 3), isNull(y))", (X3, IsNull(("y",)))),
        ("and(>(x, 3), >(x, y))", None),
        ("or(>(x, 3), >(x, 1.5))", None),
        ("!(=(s, 'it\\'s'))", None),
        ("=(d, 2020-01-01 00:00:00)", None),
        ("like(s, 'a%')", None),
        ("true", None),
    ],
)
def test_whoever_acts_on_whole_files_gets_a_condition_whole_or_not_at_all(
    text: str, expected: tuple[Condition, ...] | None
) -> None:
    assert whole_condition_of(Shown(text), ["x", "y", "s", "d"]) == expected
    assert sql_of(Shown(text)) == text
