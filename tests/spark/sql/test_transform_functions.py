"""The functions of `system` in conditions of changes and over DataFrames: truncate has the type of its argument there too."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def table(session: Any) -> str:
    name = "lake.db.truncated"
    session.sql(f"DROP TABLE IF EXISTS {name}")
    session.sql(
        f"CREATE TABLE {name} (id BIGINT, s STRING, p STRUCT<d: DECIMAL(9, 2)>) PARTITIONED BY (truncate(2, s))"
    )
    session.sql(f"INSERT INTO {name} VALUES (11, 'abc', struct(1.25)), (12, 'abd', struct(2.25)), (23, 'xyz', NULL)")
    return name


def ids(session: Any, table: str) -> list[int]:
    return sorted(row.id for row in session.table(table).collect())


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ("lake.system.truncate(2, s) = 'ab'", [23]),
        ("lake.system.truncate(10, truncated.id) = 10", [23]),
        ("lake.system.truncate(10, lake.db.truncated.ID) = 20", [11, 12]),
        ("lake.system.truncate(100, p.d) = 1.00", [12, 23]),
    ],
)
def test_a_delete_by_a_truncated_column(session: Any, table: str, condition: str, left: list[int]) -> None:
    session.sql(f"DELETE FROM {table} WHERE {condition}")
    assert ids(session, table) == left


def test_an_update_and_a_merge_by_truncated_columns(session: Any, table: str) -> None:
    session.sql(
        f"UPDATE {table} AS t SET id = lake.system.truncate(10, t.id) + 1 WHERE lake.system.truncate(1, t.s) = 'x'"
    )
    assert ids(session, table) == [11, 12, 21]
    session.sql(
        f"MERGE INTO {table} t USING (SELECT 21L AS id, 'abcdef' AS w) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET s = lake.system.truncate(4, s.w)"
    )
    assert session.sql(f"SELECT s FROM {table} WHERE id = 21").collect()[0].s == "abcd"


def test_the_columns_of_a_frame_are_truncated(session: Any) -> None:
    frame = session.sql("SELECT 'abc' AS s, 17 AS i")
    found = session.sql(
        "SELECT lake.system.truncate(1, s) AS a, lake.system.truncate(10, f.i) AS b FROM {x} f", x=frame
    )
    assert [tuple(row) for row in found.collect()] == [("a", 10)]
    assert found.dtypes == [("a", "string"), ("b", "int")]
