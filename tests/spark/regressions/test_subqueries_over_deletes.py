"""A table some of whose files have deletes is a union to Spark, whose optimizer fails on a query that stands in what a SELECT computes
over a union and has columns of its rows (SPARK-59042)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from spark_runs.spark_rows import spark_rows

_EXISTS = "EXISTS (SELECT 1 FROM {o} o WHERE o.n = t.id)"
QUERIES = [
    f"SELECT id, {_EXISTS} FROM {{t}} t",
    f"SELECT id, NOT {_EXISTS} AS e FROM {{t}} t WHERE id > 1",
    "SELECT id, (SELECT max(s) FROM {o} o WHERE o.n = t.id) FROM {t} t",
    "SELECT id, g IN (SELECT n FROM {o} o WHERE o.n < t.id) FROM {t} t",
    f"SELECT CASE WHEN {_EXISTS} THEN 'yes' ELSE 'no' END AS e, count(*) FROM {{t}} t GROUP BY 1",
    f"SELECT count(*) FROM {{t}} t GROUP BY {_EXISTS}",
    f"SELECT e FROM (SELECT {_EXISTS} AS e FROM {{t}} t) WHERE e",
    f"WITH c AS (SELECT * FROM {{t}}) SELECT a.id, b.e FROM c a JOIN (SELECT id, {_EXISTS} AS e FROM c t) b ON a.id = b.id",
    f"FROM {{t}} |> AS t |> EXTEND {_EXISTS} AS e",
    f"SELECT id, {_EXISTS} FROM {{v}} t",
]


@pytest.fixture(scope="module")
def tables(session: Any) -> Iterator[Any]:
    """`deleted` has a file with deletes and one without."""
    properties = ", ".join(f"'write.{verb}.mode' = 'merge-on-read'" for verb in ("delete", "update", "merge"))
    for text in (
        f"CREATE TABLE lake.db.deleted (id INT, g INT) TBLPROPERTIES ('format-version' = '3', {properties})",
        "INSERT INTO lake.db.deleted SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 1), (2, 1), (3, 2)",
        "DELETE FROM lake.db.deleted WHERE id = 2",
        "INSERT INTO lake.db.deleted VALUES (4, 1), (5, 3)",
        "CREATE TABLE lake.db.others (n INT, s STRING)",
        "INSERT INTO lake.db.others VALUES (1, 'a'), (4, 'b'), (4, 'c'), (NULL, 'd')",
        "CREATE TEMPORARY VIEW deleted_view AS SELECT * FROM lake.db.deleted WHERE g < 3",
    ):
        session.sql(text)
    session.createDataFrame([(1, 1), (3, 2), (4, 1), (5, 3)], "id INT, g INT").createOrReplaceTempView("plain_t")
    session.createDataFrame([(1, 1), (3, 2), (4, 1)], "id INT, g INT").createOrReplaceTempView("plain_v")
    yield session
    for name in ("plain_t", "plain_v", "deleted_view"):
        session.catalog.dropTempView(name)


@pytest.mark.parametrize("sql", QUERIES)
def test_a_select_computes_with_subqueries_over_files_with_and_without_deletes(tables: Any, sql: str) -> None:
    found = tables.sql(sql.format(t="lake.db.deleted", v="deleted_view", o="lake.db.others"))
    assert spark_rows(found) == spark_rows(tables.sql(sql.format(t="plain_t", v="plain_v", o="lake.db.others")))


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE lake.db.changed AS t SET g = CASE WHEN EXISTS (SELECT 1 FROM lake.db.others o WHERE o.n = t.id) THEN 7 ELSE g END",
        "MERGE INTO lake.db.changed t USING lake.db.changed u ON t.id = u.id WHEN MATCHED THEN UPDATE SET "
        "g = CASE WHEN EXISTS (SELECT 1 FROM lake.db.others o WHERE o.n = t.id) THEN 7 ELSE t.g END",
    ],
)
def test_values_are_set_by_subqueries_over_files_with_and_without_deletes(tables: Any, change: str, mode: str) -> None:
    modes = f"'write.update.mode' = '{mode}', 'write.merge.mode' = '{mode}'"
    for text in (
        f"CREATE OR REPLACE TABLE lake.db.changed TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read', {modes}) "
        "AS SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 1), (2, 1), (3, 2) AS q (id, g)",
        "DELETE FROM lake.db.changed WHERE id = 2",
        "INSERT INTO lake.db.changed VALUES (4, 1), (5, 3)",
        change,
    ):
        tables.sql(text)
    assert sorted(map(tuple, tables.table("lake.db.changed").collect())) == [(1, 7), (3, 2), (4, 7), (5, 3)]
