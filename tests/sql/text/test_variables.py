"""Variables in SQL text are replaced as Spark replaces them."""

from __future__ import annotations

import pytest

from floeberg.errors import InvalidInput
from floeberg.sql.text.variables import variables, with_variables

VALUES = {
    (None, "day"): "2024-01-01",
    (None, "outer"): "<${hivevar:inner}>",
    ("hivevar", "inner"): "x",
    (None, "own"): "a ${own}",
    (None, "braces"): "{y}",
}


def read(sql: str, *, is_template: bool = False) -> str:
    return with_variables(sql, lambda prefix, name: VALUES.get((prefix, name)), is_template=is_template)


def test_values_stand_in_strings_names_and_comments() -> None:
    assert read("SELECT '${day}', t.c_${day} -- ${day}") == "SELECT '2024-01-01', t.c_2024-01-01 -- 2024-01-01"


def test_variables_in_a_value_are_replaced_too() -> None:
    assert read("'${outer}'") == "'<x>'"


def test_a_variable_without_value_and_what_is_no_variable_stay() -> None:
    text = "'${other:day}' '$day' '${a b}' '${}'"
    assert read(text) == text
    assert variables(text) == [("other", "day")]


def test_a_value_that_names_itself_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="names the variable itself"):
        read("${own}")


def test_a_template_has_doubled_braces_and_keeps_places_to_fill_in() -> None:
    assert read("${{day}} ${day} {x} ${{braces}}", is_template=True) == "2024-01-01 ${day} {x} {{y}}"
