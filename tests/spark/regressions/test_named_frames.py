"""DataFrames in the text of a query, `{x}`, stand for their columns' qualifier as well, on an attached session as before."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.connect


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT {a}.id FROM {a}", [(1,), (2,)]),
        ("SELECT {a}.id, {b}.v FROM {a} JOIN {b} ON {a}.k = {b}.id", [(1, 7)]),
        ("SELECT id FROM {a} WHERE EXISTS (SELECT 1 FROM {b} WHERE {b}.id = {a}.k)", [(1,)]),
        ("SELECT {a}.id, t.v FROM {a} JOIN lake.db.named t ON {a}.id = t.id", [(2, 7)]),
    ],
)
def test_a_frame_qualifies_its_columns_in_every_statement(
    session: Any, sql: str, expected: list[tuple[int, ...]]
) -> None:
    a = session.createDataFrame([(1, 2), (2, 3)], "id INT, k INT")
    b = session.createDataFrame([(2, 7)], "id INT, v INT")
    session.sql("CREATE TABLE IF NOT EXISTS lake.db.named AS SELECT 2 AS id, 7 AS v")
    frames = {name: frame for name, frame in (("a", a), ("b", b)) if f"{{{name}}}" in sql}
    for _ in range(3):
        assert sorted(map(tuple, session.sql(sql, **frames).collect())) == expected
