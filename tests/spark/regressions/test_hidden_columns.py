"""Metadata columns stay hidden from what does not name them, and DataFrames find them."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from floeberg.errors import InvalidInput, UnsupportedFeature


@pytest.fixture(scope="module")
def tables(session: Any) -> Any:
    session.sql("CREATE TABLE lake.db.n (a INT, c INT) TBLPROPERTIES ('format-version' = '3')")
    session.sql("INSERT INTO lake.db.n SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 2), (1, 2), (3, 4)")
    return session


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT count(*) FROM lake.db.n x NATURAL JOIN lake.db.n y WHERE x._pos >= 0 AND y._pos >= 0", [(5,)]),
        ("SELECT count(DISTINCT *), max(_pos) FROM lake.db.n", [(2, 2)]),
        ("SELECT concat_ws(',', *), _pos FROM lake.db.n WHERE _pos = 1", [("1,2", 1)]),
        ("FROM lake.db.n |> WHERE _pos = 2", [(3, 4)]),
        ("FROM lake.db.n |> WHERE _pos = 2 |> UNION ALL TABLE lake.db.n |> WHERE a = 3", [(3, 4), (3, 4)]),
        ("TABLE lake.db.n INTERSECT SELECT * FROM lake.db.n WHERE _pos > 0", [(1, 2), (3, 4)]),
        ("SELECT * FROM lake.db.n PIVOT (max(_pos) FOR c IN (2, 4))", [(1, 1, None), (3, None, 2)]),
        ("SELECT DISTINCT x._pos FROM lake.db.n x ORDER BY x._pos DESC LIMIT 1", [(2,)]),
        ("SELECT _pos FROM lake.db.n x, (SELECT 7 AS _pos) WHERE x._pos = 0", [(7,)]),
        ("SELECT * FROM (lake.db.n x JOIN lake.db.n y ON x._pos = y._pos) AS z WHERE z.a = 3", None),
    ],
)  # fmt: skip
def test_what_does_not_name_a_metadata_column_does_not_see_it(tables: Any, query: str, rows: Any) -> None:
    if rows is None:
        assert tables.sql(query.replace("WHERE z.a = 3", "")).columns == ["a", "c", "a", "c"]
    else:
        assert sorted((tuple(row) for row in tables.sql(query).collect()), key=str) == rows


def test_an_insert_and_a_new_table_take_no_metadata_column_along(tables: Any) -> None:
    tables.sql("CREATE TABLE lake.db.n2 AS SELECT * FROM lake.db.n WHERE _pos = 2")
    tables.sql("INSERT INTO lake.db.n2 SELECT * FROM lake.db.n WHERE _pos = 0")
    assert tables.table("lake.db.n2").columns == ["a", "c"]
    assert tables.table("lake.db.n2").count() == 2


@pytest.mark.connect
def test_a_dataframe_finds_metadata_columns_beside_bound_columns(tables: Any) -> None:
    frame = tables.table("lake.db.n")
    later = frame.where(frame.a < 3).orderBy(frame.c).alias("x")
    assert frame.columns == later.columns == ["a", "c"]
    assert frame.select(frame.a, "_pos", "_row_id").where(frame.a == 3).collect() == [(3, 2, 2)]
    assert sorted(later.select(frame.a, later.c, "x._pos", F.col("_file").isNotNull()).collect()) == [
        (1, 2, 0, True),
        (1, 2, 1, True),
    ]
    assert frame.where("_pos = 2").select("*", "_pos").collect() == [(3, 4, 2)]
    assert frame.where(frame._pos == 1).select(frame["_row_id"]).collect() == [(1,)]
    assert frame.selectExpr("struct(*) AS s", "_pos").where("_pos = 2").collect() == [((3, 4), 2)]
    assert frame.withColumn("p", F.col("_pos") + 1).columns == ["a", "c", "p"]
    assert frame.select(F.col("a").alias("_pos")).distinct().count() == 2


@pytest.mark.connect
def test_elsewhere_an_error_names_sql(tables: Any) -> None:
    frame = tables.table("lake.db.n")
    for fails in (
        lambda: frame.groupBy("_pos").count(),
        lambda: frame.groupBy("a").agg(F.max("_pos")),
        lambda: frame.groupBy("a").max("_pos"),
        lambda: frame.alias("x").join(frame.alias("y"), "a").select("_pos"),
        lambda: frame.select("a").where("_pos = 1"),
    ):
        with pytest.raises(InvalidInput, match=r"_pos: metadata columns are found on .*name them in SQL"):
            fails()
    with pytest.raises(UnsupportedFeature, match="a star inside a Column beside metadata columns"):
        frame.select(F.struct("*"), "_pos")
