"""An END closes a CASE, or is a column's name."""

from __future__ import annotations

import pytest

from floeberg.sql.text.case_ends import closes_case, ends_with_case
from floeberg.sql.text.lexer import tokenize


def closing(sql: str) -> list[int]:
    """Which of the words END close a CASE, by number."""
    tokens = tokenize(sql)
    ends = [index for index, token in enumerate(tokens) if token.upper == "END"]
    return [number for number, index in enumerate(ends) if closes_case(tokens, index)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CASE WHEN a THEN b END", [0]),
        ("CASE end WHEN end THEN end ELSE end END", [4]),
        ("CASE WHEN a LIKE end OR b IS DISTINCT FROM end THEN t.end END", [3]),
        ("CASE WHEN a THEN t.from END", [0]),
        ("CASE WHEN a THEN from ELSE like END", [0]),
        ("CASE WHEN sum(a) OVER end > 1 THEN 1 END", [1]),
        ("CASE WHEN a NOT LIKE end THEN f(end) ELSE ? END", [2]),
        ("CASE WHEN a THEN 'and' ELSE `or` END", [0]),
        ("CASE WHEN a THEN {x} END", [0]),
    ],
)
def test_an_end_after_an_operand_closes_a_case(sql: str, expected: list[int]) -> None:
    assert closing(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CASE WHEN a THEN end END", True),
        ("1 + CASE a WHEN 1 THEN 2 END", True),
        ("CASE WHEN a THEN CASE WHEN b THEN 1 END END", True),
        ("CASE WHEN a THEN b END end", False),
        ("f(CASE WHEN a THEN b END) end", False),
        ("t.case end", False),
        ("end", False),
        ("t.end", False),
    ],
)
def test_an_expression_ends_with_a_case_or_an_alias(sql: str, expected: bool) -> None:
    assert ends_with_case(tokenize(sql)[:-1]) is expected
