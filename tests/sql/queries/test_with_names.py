"""Names of WITH clauses and the tables that they hide."""

from __future__ import annotations

import pytest

from floeberg.sql.queries.references import find_references
from floeberg.sql.text.names import SessionNames


@pytest.mark.parametrize(
    ("sql", "anyhow", "by_case"),
    [
        ("WITH T AS (SELECT * FROM a) SELECT * FROM t JOIN T", ["a"], ["a", "t"]),
        ("WITH t AS (SELECT * FROM T) SELECT * FROM t", ["T"], ["T"]),
        ("WITH RECURSIVE T AS (SELECT * FROM t) SELECT * FROM T", [], ["t"]),
        ("WITH T AS (SELECT 1), t AS (SELECT * FROM T) SELECT * FROM t", [], []),
    ],
)
def test_a_with_name_hides_a_table_of_another_case_only_where_case_does_not_tell_them_apart(
    sql: str, anyhow: list[str], by_case: list[str]
) -> None:
    for expected, case_sensitive in ((anyhow, False), (by_case, True)):
        names = SessionNames(frozenset({"lake"}), "lake", ("db",), case_sensitive=lambda told=case_sensitive: told)  # type: ignore[misc]
        assert [table.identifier.name for table in find_references(sql, names).tables] == expected
