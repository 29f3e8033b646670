"""Conditions that planning took for those of another column: rows were lost. Each is compared with plain Spark over the same
rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from spark_runs.spark_session import CONNECT

CASE = "spark.sql.caseSensitive"
ZONE = "spark.sql.session.timeZone"


def _rows(frame: Any) -> list[str]:
    return sorted(str(tuple(row)) for row in frame.collect())


@contextmanager
def _set(session: Any, name: str, value: str) -> Iterator[None]:
    before = session.conf.get(name)
    session.conf.set(name, value)
    try:
        yield
    finally:
        session.conf.set(name, before)


@pytest.fixture(scope="module")
def facts(session: Any) -> Iterator[Any]:
    """`lake.db.taken`, a file for each k, and the same rows in Spark's view `taken_plain`."""
    session.sql("CREATE TABLE lake.db.taken (k INT, g INT, v INT, arr ARRAY<INT>, ts TIMESTAMP) PARTITIONED BY (k)")
    session.sql(
        "INSERT INTO lake.db.taken SELECT CAST(id AS INT), CAST(id % 7 AS INT), CAST((id * 7) % 20 AS INT), "
        "array(CAST(id AS INT), 1), timestamp_micros(1711756800000000 + id * 3600000000) FROM range(20)"
    )
    rows = session.sql("SELECT * FROM lake.db.taken").collect()
    session.createDataFrame(rows, session.table("lake.db.taken").schema).createOrReplaceTempView("taken_plain")
    yield session
    session.sql("DROP TABLE lake.db.taken")


@pytest.mark.connect
@pytest.mark.parametrize(
    "query",
    [
        "SELECT b FROM (SELECT * EXCEPT (v, arr, ts), v AS b, v AS c FROM {t} UNION ALL SELECT v, v, * EXCEPT (v, arr, ts) "
        "FROM {t}) WHERE b = 5",
        "SELECT k FROM (SELECT posexplode(arr), k, g FROM {t} UNION ALL SELECT k, g, posexplode(arr) FROM {t}) WHERE k = 1",
        "SELECT k FROM (SELECT stack(1, 1, 2), k, g FROM {t} UNION ALL SELECT g, v, stack(1, k, v) FROM {t}) WHERE k = 5",
        "SELECT k FROM (SELECT inline(array(struct(1, 2))), k, g FROM {t} UNION ALL SELECT g, v, inline(array(struct(k, v))) "
        "FROM {t}) WHERE k = 3",
        "SELECT a FROM (SELECT count(*) AS n, k AS a FROM {t} GROUP BY k UNION ALL SELECT v, g FROM {t}) WHERE a = 5",
    ],
)
def test_an_item_of_several_columns_moves_those_after_it(facts: Any, query: str) -> None:
    found = _rows(facts.sql(query.format(t="lake.db.taken")))
    assert found == _rows(facts.sql(query.format(t="taken_plain")))
    assert found


@pytest.mark.connect
@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, K FROM (SELECT v AS K, * FROM {t}) q WHERE k = 5",
        "WITH c AS (SELECT * FROM {t}) SELECT k FROM (WITH C AS (SELECT * FROM c WHERE v = 1) SELECT * FROM c) q",
        "SELECT t.g FROM {t} t JOIN (SELECT k AS G, v AS g FROM {t}) u ON t.k = u.G WHERE u.g = 7",
    ],
)
def test_where_case_tells_names_apart_no_condition_is_taken_for_anothers(facts: Any, query: str) -> None:
    with _set(facts, CASE, "true"):
        found = _rows(facts.sql(query.format(t="lake.db.taken")))
        assert found == _rows(facts.sql(query.format(t="taken_plain")))
    assert found


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM {t} WHERE Cased.x = 2",
        "UPDATE {t} SET id = NULL WHERE Cased.x = 2",
        "MERGE INTO {t} USING (SELECT 2 AS q) u ON Cased.x = 2 WHEN MATCHED THEN DELETE",
        "MERGE INTO {t} USING (SELECT 2 AS q) u ON Cased.x = q WHEN MATCHED THEN DELETE",
    ],
)
def test_a_struct_named_as_its_table_but_for_case_is_the_struct(session: Any, statement: str) -> None:
    with _set(session, CASE, "true"):
        session.sql("CREATE TABLE lake.db.cased (id INT, x INT, Cased STRUCT<x: INT>) PARTITIONED BY (x)")
        try:
            session.sql(
                "INSERT INTO lake.db.cased SELECT CAST(id AS INT), CAST(id % 5 AS INT), struct(CAST(id % 3 AS INT)) FROM range(15)"
            )
            assert len(session.sql("SELECT id FROM lake.db.cased WHERE Cased.x = 2").collect()) == 5
            session.sql(statement.format(t="lake.db.cased"))
            found = session.sql("SELECT id FROM lake.db.cased").collect()
            assert sorted(row.id for row in found if row.id is not None) == [n for n in range(15) if n % 3 != 2]
        finally:
            session.sql("DROP TABLE lake.db.cased")


def test_keys_of_a_view_are_read_by_the_columns_that_it_shows(session: Any, facts: Any) -> None:
    """The view shows `x` as the INT that it was; the table has a DOUBLE of that name now."""
    session.sql("CREATE TABLE lake.db.retyped (dk INT, x INT)")
    session.sql("INSERT INTO lake.db.retyped VALUES (1, 5)")
    session.sql("CREATE TEMPORARY VIEW of_retyped AS SELECT dk, x FROM lake.db.retyped")
    session.sql("ALTER TABLE lake.db.retyped DROP COLUMN x")
    session.sql("ALTER TABLE lake.db.retyped ADD COLUMN x DOUBLE")
    session.sql("INSERT INTO lake.db.retyped VALUES (2, 5.7), (3, 5.0), (4, 6.5)")
    try:
        for query in (
            "SELECT t.k FROM lake.db.taken t JOIN of_retyped v ON t.k = v.dk WHERE v.x = 5",
            "SELECT k FROM lake.db.taken WHERE k IN (SELECT dk FROM of_retyped WHERE x = 5)",
            "SELECT dk FROM of_retyped WHERE x = 5",
        ):
            assert _rows(session.sql(query)) == ["(2,)", "(3,)"], query
    finally:
        session.sql("DROP VIEW of_retyped")
        session.sql("DROP TABLE lake.db.retyped")


@pytest.mark.skipif(CONNECT, reason="there a view is read under its own settings only")
@pytest.mark.parametrize("inner", ["text", "frame"])
def test_a_condition_of_a_view_with_other_settings_is_not_taken_into_the_view_below(facts: Any, inner: str) -> None:
    made = []
    for name, table in (("ours", "lake.db.taken"), ("plain", "taken_plain")):
        if inner == "text":
            facts.sql(f"CREATE TEMPORARY VIEW {name}_below AS SELECT * FROM {table}")
        else:
            facts.table(table).createOrReplaceTempView(f"{name}_below")
        with _set(facts, ZONE, "+09:00"):
            condition = "ts = TIMESTAMP'2024-03-30 12:00:00'"
            facts.sql(f"CREATE TEMPORARY VIEW {name}_above AS SELECT k FROM {name}_below WHERE {condition}")
        made += [f"{name}_above", f"{name}_below"]
    try:
        with _set(facts, ZONE, "UTC"):
            found = _rows(facts.sql("SELECT * FROM ours_above"))
            assert found == _rows(facts.sql("SELECT * FROM plain_above")) == ["(3,)"]
    finally:
        for name in made:
            facts.sql(f"DROP VIEW {name}")


@pytest.mark.skipif(CONNECT, reason="there a view is read under its own settings only")
def test_a_view_made_case_sensitively_keeps_its_meaning(facts: Any) -> None:
    facts.sql("CREATE TEMPORARY VIEW any_case AS SELECT * FROM lake.db.taken")
    with _set(facts, CASE, "true"):
        facts.sql("CREATE TEMPORARY VIEW by_case AS SELECT k FROM (SELECT v AS K, * FROM any_case) WHERE k = 5")
    try:
        assert _rows(facts.sql("SELECT * FROM by_case")) == ["(5,)"]
    finally:
        facts.sql("DROP VIEW by_case")
        facts.sql("DROP VIEW any_case")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT f.k FROM lake.db.taken f JOIN lake.db.few s ON f.k = s.dk WHERE s.x = (SELECT v FROM lake.db.taken WHERE v > 17)",
        "SELECT count(*) FROM lake.db.taken WHERE k IN (SELECT dk FROM lake.db.few WHERE x = (SELECT v FROM lake.db.taken WHERE "
        "v > 17))",
    ],
)
def test_a_query_of_two_rows_is_an_error_behind_another_join_too(facts: Any, query: str) -> None:
    facts.sql("CREATE TABLE lake.db.few (dk INT, x INT) PARTITIONED BY (dk)")
    facts.sql("INSERT INTO lake.db.few VALUES (1, 1), (2, 2)")
    try:
        with pytest.raises(Exception, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
            facts.sql(query).collect()
    finally:
        facts.sql("DROP TABLE lake.db.few")
