"""Whoever replaces rows by a condition must have understood all of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from floeberg.errors import UnsupportedFeature
from floeberg.spark.dml.insert import exact_condition
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import INT, STRING, NestedField
from floeberg.sql.text.names import TableIdentifier

SCHEMA = Schema(NestedField(1, "a", INT), NestedField(2, "b", STRING))


def condition(text: str) -> Any:
    session: Any = SimpleNamespace(spark=None, setting=lambda name, default: default, double_quoted_identifiers=False)
    table = SimpleNamespace(state=SimpleNamespace(metadata=SimpleNamespace(current_schema=SCHEMA)))
    resolved: Any = SimpleNamespace(table=table, identifier=TableIdentifier("lake", ("db", "t")))
    return exact_condition(session, resolved, text)


def test_a_condition_that_is_understood_is_taken() -> None:
    assert str(condition("a = 1 AND b = 'x'")) == "a = 1 AND b = 'x'"


@pytest.mark.parametrize("text", ["a = 1 AND upper(b) = 'X'", "a = 1 AND f(b)", "upper(b) = 'X'"])
def test_a_condition_with_a_part_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedFeature, match="cannot be overwritten by"):
        condition(text)
