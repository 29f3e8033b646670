"""Subqueries in expressions read the current rows of temporary views over our tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from floeberg.api.attach import attach, detach
from floeberg.api.catalog import catalog

pytestmark = pytest.mark.connect


def _ids(frame: Any) -> list[Any]:
    return sorted(row[0] for row in frame.collect())


@pytest.mark.parametrize("kind", ["frame", "text", "global"])
def test_a_subquery_over_a_temporary_view_sees_later_commits(session: Any, kind: str) -> None:
    session.sql("CREATE OR REPLACE TABLE lake.db.viewed (id INT)")
    session.sql("INSERT INTO lake.db.viewed VALUES (1)")
    view = {"frame": "by_frame", "text": "by_text", "global": "global_temp.by_global"}[kind]
    if kind == "frame":
        session.table("lake.db.viewed").where("id > 0").createOrReplaceTempView(view)
    else:
        word = "GLOBAL TEMPORARY" if kind == "global" else "TEMPORARY"
        name = view.removeprefix("global_temp.")
        session.sql(f"CREATE OR REPLACE {word} VIEW {name} AS SELECT id FROM lake.db.viewed")
    numbers = session.range(1, 4).withColumnRenamed("id", "n")
    for count in (1, 2, 3):
        if count > 1:
            session.sql(f"INSERT INTO lake.db.viewed VALUES ({count})")
        wanted = list(range(1, count + 1))
        condition = f"n IN (SELECT id FROM {view})"
        assert _ids(numbers.where(condition)) == wanted
        assert _ids(numbers.where(F.expr(condition))) == wanted
        assert _ids(numbers.selectExpr(f"(SELECT max(id) FROM {view}) AS m").distinct()) == [count]
        assert _ids(numbers.select(F.expr(f"(SELECT max(id) FROM {view})")).distinct()) == [count]
        assert _ids(numbers.withColumn("n", F.expr(f"(SELECT max(id) FROM {view})")).distinct()) == [count]
    assert _ids(numbers.selectExpr("(SELECT max(id) FROM lake.db.viewed) AS m").distinct()) == [3]


def test_a_temporary_view_reads_the_table_again_after_the_session_was_detached(spark: Any, tmp_path: Path) -> None:
    with catalog("again", warehouse=str(tmp_path)) as again:
        again.create_namespace("db")
        attach(spark, again)
        try:
            spark.sql("CREATE TABLE again.db.t (id INT)")
            spark.sql("INSERT INTO again.db.t VALUES (1)")
            spark.table("again.db.t").createOrReplaceTempView("again_by_frame")
            spark.sql("CREATE OR REPLACE TEMPORARY VIEW again_by_text AS SELECT id FROM again.db.t")
            detach(spark)
            assert _ids(spark.table("again_by_text")) == [1]
            attach(spark, again)
            spark.sql("INSERT INTO again.db.t VALUES (2)")
            assert _ids(spark.table("again_by_frame")) == [1, 2]
            assert _ids(spark.sql("SELECT * FROM again_by_text")) == [1, 2]
        finally:
            detach(spark)
