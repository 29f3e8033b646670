"""Columns that their table's name qualifies, on DataFrames of our tables and of Spark's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

import floeberg as fb

PLACES = ("lake.db", "spark_catalog.default")
METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "select": lambda a, b: a.select("qa.id", F.col("QA.g") + 1, "qa.s.id"),
    "select a column of the frame": lambda a, b: a.select(a["qa.id"], a.g),
    "selectExpr": lambda a, b: a.selectExpr("qa.id + 1 AS x", "s.id AS y", "`qa`.g"),
    "select all": lambda a, b: a.where("id > 2").select("qa.*"),
    "where": lambda a, b: a.where("qa.id > 2").where(F.col("qa.g") == 1),
    "where a literal names it": lambda a, b: b.where("name = 'qb.id'"),
    "withColumn": lambda a, b: a.withColumn("z", F.col("qa.id")),
    "withColumns": lambda a, b: a.withColumns({"y": F.expr("qa.g * 2")}),
    "orderBy": lambda a, b: a.orderBy(F.desc("qa.id")).limit(2),
    "groupBy": lambda a, b: a.groupBy("qa.g").agg(F.sum("qa.id").alias("total")),
    "agg of groups alone": lambda a, b: a.groupBy("g").agg(F.sum("qa.id").alias("total")),
    "agg": lambda a, b: a.agg(F.max("qa.id").alias("most")),
    "join by text": lambda a, b: a.join(b, F.expr("qa.id = qb.id")).select("qa.id", "qb.name"),
    "join by Columns": lambda a, b: a.join(b, F.col("qa.id") == F.col("qb.id"), "left").select("qa.g", "qb.name"),
    "join by a name": lambda a, b: a.join(b, "id").select("qa.g", "qb.name"),
    "join by bound columns": lambda a, b: a.join(b, a.id == b.id).select(a.g, b.name, "qb.id"),
    "filtered, then joined": lambda a, b: a.where("id > 1").join(b.where("id < 3"), "id").select("qa.g", "qb.name"),
    "named columns in lists and literals": lambda a, b: a.select(["qa.id", "g"]).where(F.lit("qa.id") == "qa.id"),
    "a struct of that name": lambda a, b: b.select("qb.id"),
    "a member of a struct of that name": lambda a, b: b.select("qb.x"),
}  # fmt: skip


@pytest.fixture(scope="module")
def tables(session: Any) -> Iterator[Callable[[str, str], Any]]:
    for place in PLACES:
        using = "USING iceberg" if place == "lake.db" else "USING parquet"
        session.sql(
            f"CREATE TABLE {place}.qa {using} AS SELECT id, id % 3 AS g, named_struct('id', id * 10) AS s FROM range(6)"
        )
        session.sql(
            f"CREATE TABLE {place}.qb {using} AS SELECT id, concat('n', id) AS name, named_struct('id', 7, 'x', 8) AS qb "
            "FROM range(1, 4)"
        )
    yield lambda place, name: session.table(f"{place}.{name}")
    for name in ("qa", "qb"):
        session.sql(f"DROP TABLE spark_catalog.default.{name}")


@pytest.mark.connect
@pytest.mark.parametrize("method", METHODS)
def test_a_tables_name_qualifies_its_columns_as_in_spark(tables: Callable[[str, str], Any], method: str) -> None:
    ours, theirs = (METHODS[method](tables(place, "qa"), tables(place, "qb")) for place in PLACES)
    assert ours.columns == theirs.columns
    assert sorted(map(str, ours.collect())) == sorted(map(str, theirs.collect()))


@pytest.mark.connect
@pytest.mark.parametrize(
    "refused",
    [
        lambda a, b: a.alias("x").select("qa.id"),
        lambda a, b: a.select("qa.nothing"),
        lambda a, b: a.select("qb.id"),
    ],
)
def test_another_name_qualifies_nothing_as_in_spark(tables: Callable[[str, str], Any], refused: Any) -> None:
    for place in PLACES:
        with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
            refused(tables(place, "qa"), tables(place, "qb")).collect()


@pytest.mark.connect
def test_a_view_of_such_a_dataframe_means_the_same_after_commits(
    tables: Callable[[str, str], Any], session: Any
) -> None:
    for place in PLACES:
        using = "USING iceberg" if place == "lake.db" else "USING parquet"
        session.sql(f"CREATE TABLE {place}.qv {using} AS SELECT id, named_struct('id', 7L) AS qv FROM range(4)")
    views = [tables(place, "qv").where("qv.id > 2") for place in PLACES]
    for number, view in enumerate(views):
        view.createOrReplaceTempView(f"of_qualified_{number}")
    assert [row.id for row in session.table("of_qualified_0").collect()] == [3]
    session.sql("INSERT INTO lake.db.qv SELECT id, named_struct('id', 1L) FROM range(4, 6)")
    assert sorted(row.id for row in session.table("of_qualified_0").collect()) == [3, 4, 5]
    assert [row.id for row in session.table("of_qualified_1").collect()] == [3]
    session.sql("DROP TABLE spark_catalog.default.qv")


def test_a_literal_that_begins_as_the_tables_name_leaves_out_files_as_others_do(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.events (host STRING)")
    for host in ("events.a", "zebra"):
        session.sql(f"INSERT INTO lake.db.events VALUES ('{host}')")
    events = session.table("lake.db.events")
    found = events.where(F.col("host") == "events.a")
    assert [row.host for row in found.collect()] == ["events.a"]
    assert "1 files planned of 2" in fb.explain(found)


def test_metadata_columns_are_found_beside_them(tables: Callable[[str, str], Any]) -> None:
    found = tables("lake.db", "qa").where("qa.id > 4").select("qa.id", "_pos").collect()
    assert [row.id for row in found] == [5]
    assert found[0]["_pos"] >= 0
