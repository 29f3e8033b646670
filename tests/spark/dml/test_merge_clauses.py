"""MERGE in its variety: what may stand as a source, which rows match, what clauses do, and what is refused."""

from __future__ import annotations

import os
from typing import Any

import pytest
from pyspark.errors import PySparkException

from floeberg.errors import FloebergError
from lakes.spark_dml_tables import ids, last_summary, make


def pairs(session: Any, table: str, columns: str = "id, name") -> list[tuple[Any, ...]]:
    rows = [tuple(row) for row in session.sql(f"SELECT {columns} FROM {table}").collect()]
    return sorted(rows, key=lambda row: [(value is not None, value) for value in row])


def test_whatever_gives_rows_may_be_the_source(session: Any) -> None:
    query = "SELECT id, concat('s', id) AS name FROM VALUES (2L), (9L) AS v(id)"
    session.sql("DROP TABLE IF EXISTS lake.db.source_table")
    session.sql(f"CREATE TABLE lake.db.source_table AS {query}")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW source_view AS SELECT * FROM lake.db.source_table")
    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW spark_view AS {query}")
    sources = {
        "lake.db.source_table": "lake.db.source_table",
        "source_view AS s": "s",
        "spark_view": "spark_view",
        f"({query}) s": "s",
        "c": "c",
        "(SELECT * FROM VALUES (2L, 's2'), (9L, 's9') AS v(id, name)) AS s": "s",
    }
    for source, alias in sources.items():
        table = make(session, "sources")
        ctes = f"WITH c AS ({query}) " if source == "c" else ""
        session.sql(
            f"{ctes}MERGE INTO {table} t USING {source} ON t.id = {alias}.id WHEN MATCHED THEN UPDATE SET name = {alias}.name "
            f"WHEN NOT MATCHED THEN INSERT (id, name) VALUES ({alias}.id, {alias}.name)"
        )
        changed = [row for row in pairs(session, table) if row[1] is not None and row[1].startswith("s")]
        assert changed == [(2, "s2"), (9, "s9")], source


def test_a_table_may_be_merged_into_itself(session: Any) -> None:
    table = make(session, "itself")
    session.sql(
        f"MERGE INTO {table} t USING (SELECT id + 3 AS id, name FROM {table}) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)"
    )
    names = {1: "n1", 2: "n2", 3: None, 4: "n1", 5: "n2", 6: None, 7: "n4", 8: "n5", 9: "n6"}
    assert pairs(session, table) == sorted(names.items())


def test_null_keys_match_only_where_the_condition_says_so(session: Any) -> None:
    for operator, expected in (("=", [(None, "old"), (None, "src"), (1, "src")]), ("<=>", [(None, "src"), (1, "src")])):
        session.sql("DROP TABLE IF EXISTS lake.db.nulls")
        session.sql("CREATE TABLE lake.db.nulls (id BIGINT, name STRING) USING iceberg")
        session.sql("INSERT INTO lake.db.nulls VALUES (1, 'old'), (NULL, 'old')")
        session.sql(
            f"MERGE INTO lake.db.nulls t USING (SELECT * FROM VALUES (1L, 'src'), (NULL, 'src') AS v(id, name)) s ON t.id {operator} s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        assert pairs(session, "lake.db.nulls") == expected, operator


def test_conditions_that_are_no_equality_and_clauses_whose_condition_is_null(session: Any) -> None:
    table = make(session, "ranges")
    session.sql(
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES (1L, 2L, NULL), (4L, 5L, true) AS v(low, high, flag)) s "
        "ON t.id BETWEEN s.low AND s.high WHEN MATCHED AND s.flag THEN DELETE "
        "WHEN MATCHED AND NOT s.flag THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'null flag'"
    )
    assert pairs(session, table) == [(1, "null flag"), (2, "null flag"), (3, None), (6, "n6")]


def test_an_empty_source_changes_only_what_it_does_not_match(session: Any) -> None:
    table = make(session, "empty")
    before = session.lake.load_table("db.empty").current_snapshot
    merge = f"MERGE INTO {table} t USING (SELECT 1L AS id WHERE false) s ON t.id = s.id"
    session.sql(f"{merge} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)")
    assert session.lake.load_table("db.empty").current_snapshot == before
    session.sql(f"{merge} WHEN NOT MATCHED BY SOURCE AND t.id > 2 THEN DELETE")
    assert ids(session, table) == [1, 2]
    assert last_summary(session, "empty")["rows-deleted"] == "4"


def test_default_in_updates_and_inserts_is_the_columns_own(session: Any) -> None:
    table = "lake.db.defaults"
    session.sql(f"DROP TABLE IF EXISTS {table}")
    session.sql(f"CREATE TABLE {table} (id BIGINT, n INT DEFAULT 7, s STRING) TBLPROPERTIES ('format-version' = '3')")
    session.sql(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 2, 'b')")
    session.sql(
        f"MERGE INTO {table} t USING (SELECT explode(array(1L, 3L, 4L)) AS id) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET n = DEFAULT, s = DEFAULT "
        "WHEN NOT MATCHED AND s.id = 3 THEN INSERT (id, n, s) VALUES (s.id, DEFAULT, 'c') "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )
    session.sql(f"UPDATE {table} SET n = DEFAULT WHERE id = 2")
    assert pairs(session, table, "id, n, s") == [(1, 7, None), (2, 7, "b"), (3, 7, "c"), (4, 7, None)]


def test_schema_evolution_adds_nested_fields_too(session: Any) -> None:
    table = make(session, "nested_evolution", version=3)
    session.sql(
        f"MERGE WITH SCHEMA EVOLUTION INTO {table} t USING (SELECT 2L AS id, 'two' AS name, "
        "named_struct('a', 20, 'b', 'y', 'c', 2.5D) AS s, array(1, 2) AS more) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    rows = pairs(session, table, "id, s.a, s.b, s.c, to_json(more)")
    assert rows[:2] == [(1, 1, "x", None, None), (2, 20, "y", 2.5, "[1,2]")]


MATCH = "MERGE INTO {t} t USING (SELECT id, name, id AS other FROM {t} WHERE id < 3) s ON t.id = s.id"
REFUSED = [
    MATCH,
    f"{MATCH} WHEN MATCHED THEN UPDATE SET missing = 1",
    f"{MATCH} WHEN MATCHED THEN UPDATE SET name = name",
    f"{MATCH} WHEN MATCHED THEN UPDATE SET name = s.name, name = 'x'",
    f"{MATCH} WHEN MATCHED THEN UPDATE SET s.a = s.name",
    f"{MATCH} WHEN MATCHED THEN UPDATE SET id = NULL",
    f"{MATCH} WHEN MATCHED AND s.other THEN DELETE",
    f"{MATCH} WHEN MATCHED AND nothing.x = 1 THEN DELETE",
    f"{MATCH} WHEN MATCHED THEN UPDATE SET *",
    f"{MATCH} WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET name = 'x'",
    f"{MATCH} WHEN NOT MATCHED THEN INSERT (id, id) VALUES (1, 2)",
    f"{MATCH} WHEN NOT MATCHED THEN INSERT (id, name) VALUES (1)",
    f"{MATCH} WHEN NOT MATCHED THEN INSERT (id, s.a) VALUES (1, 2)",
    f"{MATCH} WHEN NOT MATCHED THEN INSERT (id) VALUES (DEFAULT)",
    "MERGE INTO {t} t USING (VALUES (1L)) AS s(id) ON t.id = s.id WHEN MATCHED THEN DELETE",
    "UPDATE {t} AS u(a, b, c) SET a = 1",
    "MERGE INTO {t} t USING {t} s ON id = id WHEN MATCHED THEN DELETE",
    "MERGE INTO {t} t USING {t} s ON t.id + s.id WHEN MATCHED THEN DELETE",
    "MERGE INTO {t} t USING lake.db.no_such_table s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "UPDATE {t} SET name = 'x' WHERE id",
    "UPDATE {t} SET name = (SELECT id, name FROM {t})",
    "UPDATE {t} SET s.missing = 1",
    "UPDATE {t} SET id = 1 / (id - id)",
    "UPDATE {t} SET s.a = id * 2000000000 WHERE id = 6",
    "DELETE FROM {t} WHERE id / (id - 3) > 1",
    "DELETE FROM {t} WHERE id = (SELECT id FROM {t})",
]


def files_of(table: Any) -> set[str]:
    folder = os.path.join(table.metadata.location.removeprefix("file://"), "data")
    return {os.path.join(place, name) for place, _, names in os.walk(folder) for name in names}


def is_refused(session: Any, statement: str) -> bool:
    try:
        session.sql(statement)
    except Exception:  # Spark's own come as they are, some of them raw from its JVM
        return True
    return False


def test_what_cannot_be_done_is_refused_before_anything_is_written(session: Any) -> None:
    table = make(session, "refusals")
    loaded = session.lake.load_table("db.refusals")
    before = files_of(loaded)
    assert [statement for statement in REFUSED if not is_refused(session, statement.format(t=table))] == []
    assert files_of(loaded) == before
    assert session.lake.load_table("db.refusals").current_snapshot == loaded.current_snapshot


def test_a_job_that_fails_while_it_writes_leaves_no_commit_and_no_files(session: Any) -> None:
    """The inserted rows are made when they are written; files of other tasks are there by then."""
    table = make(session, "failing")
    loaded = session.lake.load_table("db.failing")
    before = files_of(loaded)
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        session.sql(
            f"MERGE INTO {table} t USING (SELECT id FROM range(2, 40)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'x' "
            "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (1 / (s.id - 30), 'new')"
        )
    assert files_of(loaded) == before
    assert session.lake.load_table("db.failing").current_snapshot == loaded.current_snapshot


def test_without_ansi_a_value_that_does_not_fit_still_raises(session: Any) -> None:
    table = "lake.db.without_ansi"
    session.sql(f"DROP TABLE IF EXISTS {table}")
    session.sql(f"CREATE TABLE {table} (id BIGINT, i INT, d DECIMAL(4, 2), l ARRAY<INT>) USING iceberg")
    session.sql(f"INSERT INTO {table} VALUES (1, 1, 1.5, array(1))")
    session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        for statement in (
            f"UPDATE {table} SET i = 3000000000L",
            f"UPDATE {table} SET id = 1e30D",
            f"UPDATE {table} SET d = 123.456",
            f"UPDATE {table} SET l = array(3000000000L)",
            f"INSERT INTO {table} (id, d) VALUES (2, 12345.6)",
            f"MERGE INTO {table} t USING (SELECT 1L AS id, 3000000000L AS i) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET i = s.i",
        ):
            with pytest.raises((FloebergError, PySparkException), match="fit"):
                session.sql(statement)
        session.sql(f"UPDATE {table} SET i = CAST(rand() * 10 AS BIGINT) * 0 + 5L, d = 12.3456")
    finally:
        session.conf.unset("spark.sql.ansi.enabled")
    assert pairs(session, table, "id, i, CAST(d AS STRING)") == [(1, 5, "12.35")]
