"""The functions of `system` in conditions of changes and over DataFrames: truncate has the type of its argument there too."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

import floeberg as fb


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


def test_expressions_of_frames_call_the_functions(session: Any, table: str) -> None:
    frame = session.table(table)
    assert sorted(row.id for row in frame.where("lake.system.truncate(2, s) = 'ab'").collect()) == [11, 12]
    assert sorted(row.id for row in frame.where(F.expr("lake.system.bucket(1, id) = 0")).collect()) == [11, 12, 23]
    shown = frame.selectExpr("lake.system.truncate(10, id) AS ten", "lake.system.truncate(1, s) AS one", "id")
    assert sorted(tuple(row) for row in shown.collect()) == [(10, "a", 11), (10, "a", 12), (20, "x", 23)]
    days = session.range(1).select(F.expr("lake.system.days(DATE '2024-01-02')").alias("day"))
    assert [str(row.day) for row in days.collect()] == ["2024-01-02"]
    called = F.call_function("lake.system.bucket", F.lit(16), F.lit(34))
    assert session.range(1).select(called.alias("bucket")).collect()[0].bucket == 3
    named = session.range(1).selectExpr("'lake.system.days(x)' AS text")
    assert named.collect()[0].text == "lake.system.days(x)"


def test_an_overwrite_by_a_function_replaces_its_partition(session: Any, table: str) -> None:
    new = session.sql("SELECT 99L AS id, 'abq' AS s, CAST(NULL AS STRUCT<d: DECIMAL(9, 2)>) AS p")
    new.writeTo(table).overwrite(F.expr("lake.system.bucket(1, id) = 0 AND s < 'b'"))
    assert ids(session, table) == [23, 99]


def test_the_columns_of_views_are_truncated(session: Any, table: str) -> None:
    kept = fb.catalog("kept", type="memory")
    kept.create_namespace("db")
    fb.attach(session, kept)
    session.table(table).createOrReplaceTempView("of_frame")
    session.sql(f"CREATE OR REPLACE TEMP VIEW of_text AS SELECT id, upper(s) AS u FROM {table}")
    session.sql(f"CREATE OR REPLACE VIEW kept.db.lasting AS SELECT id AS number FROM {table}")
    for query in (
        "SELECT lake.system.truncate(10, id) FROM of_frame",
        "SELECT lake.system.truncate(10, of_text.id) FROM of_text WHERE lake.system.truncate(1, u) IN ('A', 'X')",
        "SELECT kept.system.truncate(10, number) FROM kept.db.lasting",
    ):
        assert sorted(row[0] for row in session.sql(query).collect()) == [10, 10, 20]


def test_the_catalog_tells_which_functions_there_are(session: Any) -> None:
    names = ("lake.system.bucket", "lake.SYSTEM.Days", "lake.system.nope", "lake.db.bucket", "abs")
    assert [session.catalog.functionExists(name) for name in names] == [True, True, False, False, True]
    assert session.catalog.functionExists("truncate", "lake.system")


def test_texts_in_a_list_and_by_name_call_functions_too(session: Any, table: str) -> None:
    frame = session.table(table)
    rows = frame.selectExpr(["id", "lake.system.truncate(10, id) AS tens"]).collect()
    assert sorted(tuple(row) for row in rows) == [(11, 10), (12, 10), (23, 20)]
    assert [row.id for row in frame.filter(condition="lake.system.truncate(10, id) = 20").collect()] == [23]
