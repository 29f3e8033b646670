"""A temporary view of a table's DataFrame goes on with the newest rows while every column that it needs is the same field with
the same name and type, and is an error otherwise: it never shows the values of another column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from floeberg.errors import InvalidInput
from spark_runs.spark_rows import spark_rows

TABLE = "lake.db.evolved"
CHANGES = {
    "renamed": ["RENAME COLUMN v TO u"],
    "dropped": ["DROP COLUMN v"],
    "another type": ["ALTER COLUMN v TYPE BIGINT"],
    "swapped": ["RENAME COLUMN v TO tmp", "RENAME COLUMN w TO v", "RENAME COLUMN tmp TO w"],
    "made anew": ["DROP COLUMN v", "ADD COLUMN v INT"],
    "swapped inside": ["RENAME COLUMN v.x TO tmp", "RENAME COLUMN v.y TO x", "RENAME COLUMN v.tmp TO y"],
}
ADDED = {
    "added": ["ADD COLUMN x INT"],
    "added first": ["ADD COLUMN x INT FIRST"],
    "moved": ["ALTER COLUMN w FIRST"],
}
Make = Callable[[Any], Any]
WITHOUT_V: dict[str, Make] = {
    "a column": lambda df: df.select("id"),
    "a bound column": lambda df: df.filter(df.id > 0).select(df.id),
    "an expression": lambda df: df.withColumn("next", df.id + 1).selectExpr("next - 1 AS id"),
    "a drop": lambda df: df.drop("v", "w"),
    "places": lambda df: df.toDF("a", "b", "c").selectExpr("a AS id"),
    "another v": lambda df: df.withColumn("v", df.id).selectExpr("v AS id"),
    "an alias": lambda df: df.alias("q").select("q.id"),
    "a v that is not used": lambda df: df.selectExpr("id", "v AS z").select("id"),
    "a metadata column": lambda df: df.select("id", "_pos").where("_pos = 0").drop("_pos"),
    "a metadata column in a condition": lambda df: df.filter("_pos = 0").select("id"),
    "a metadata column beside a bound one": lambda df: df.filter(df.id > 0).select(df.id, "_pos").select("id"),
    "a metadata column in an expression": lambda df: df.selectExpr("id + _pos AS id"),
    "a metadata column added": lambda df: df.withColumn("p", df["_pos"]).selectExpr("id + p AS id"),
}
WITH_V: dict[str, Make] = {
    "all": lambda df: df,
    "all filtered": lambda df: df.filter(df.id > 0),
    "the column": lambda df: df.select("v"),
    "the bound column": lambda df: df.select(df.v),
    "a condition": lambda df: df.filter("v IS NOT NULL").select("id"),
    "an expression": lambda df: df.selectExpr("id", "struct(v) AS s").select("s"),
    "an alias of the same name": lambda df: df.selectExpr("id AS v", "hash(v) AS z"),
    "places": lambda df: df.toDF("a", "b", "c").select("b"),
    "a metadata column": lambda df: df.select("v", "_pos"),
    "a metadata column in a condition": lambda df: df.filter("_pos = 0"),
    "a metadata column added": lambda df: df.withColumn("p", df["_pos"]),
}

WITH_METADATA = {
    "a metadata column": "v, _pos",
    "a metadata column in a condition": "id, v, w",
    "a metadata column added": "id, v, w, _pos",
}
"""What some of them select."""


@pytest.fixture
def table(session: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The table with a struct `v` for changes inside one, else an int."""
    inside = request.node.callspec.params["change"] == "swapped inside"
    session.sql(f"CREATE TABLE {TABLE} (id INT, v {'STRUCT<x: INT, y: INT>' if inside else 'INT'}, w INT)")
    session.sql(f"INSERT INTO {TABLE} VALUES (1, {'struct(10, 20)' if inside else 10}, 100)")
    yield session
    for number in range(len(WITHOUT_V) + len(WITH_V)):
        session.catalog.dropTempView(f"evolved_{number}")
    session.sql(f"DROP TABLE {TABLE}")


def make_views(session: Any, kinds: dict[str, Make]) -> dict[str, str]:
    """A view of each kind; the names of the views by kind."""
    names = {kind: f"evolved_{number}" for number, kind in enumerate(kinds)}
    for kind, make in kinds.items():
        make(session.table(TABLE)).createOrReplaceTempView(names[kind])
    return names


def change_table(session: Any, change: str) -> None:
    for text in (CHANGES | ADDED)[change]:
        session.sql(f"ALTER TABLE {TABLE} {text}")
    session.sql(f"INSERT INTO {TABLE} (id) VALUES (2)")


@pytest.mark.connect
@pytest.mark.parametrize("change", CHANGES)
def test_views_that_need_no_changed_column_show_the_newest_rows(table: Any, change: str) -> None:
    views = make_views(table, WITHOUT_V)
    change_table(table, change)
    shown = {kind: spark_rows(table.sql(f"SELECT * FROM {name}")) for kind, name in views.items()}
    assert shown == {kind: ["1", "2"] for kind in views}
    filtered = {kind: spark_rows(table.table(name).where("id = 2")) for kind, name in views.items()}
    assert filtered == {kind: ["2"] for kind in views}


@pytest.mark.connect
@pytest.mark.parametrize("change", ADDED)
def test_views_go_on_after_columns_were_added(table: Any, change: str) -> None:
    """Those without metadata columns show what the same steps do over a DataFrame of Spark's own with the same rows."""
    views = make_views(table, {**WITHOUT_V, **{f"v: {kind}": make for kind, make in WITH_V.items()}})
    change_table(table, change)
    shown = {kind: spark_rows(table.sql(f"SELECT * FROM {name}")) for kind, name in views.items()}
    plain = table.createDataFrame([(1, 10, 100), (2, None, None)], "id INT, v INT, w INT")
    for kind, make in WITH_V.items():
        if kind in WITH_METADATA:
            expected = spark_rows(table.sql(f"SELECT {WITH_METADATA[kind]} FROM {TABLE}"))
        else:
            expected = spark_rows(make(plain))
        assert shown[f"v: {kind}"] == expected, kind
    assert {kind: shown[kind] for kind in WITHOUT_V} == {kind: ["1", "2"] for kind in WITHOUT_V}


@pytest.mark.connect
@pytest.mark.parametrize("change", CHANGES)
def test_a_view_that_needs_a_changed_column_is_an_error(table: Any, change: str) -> None:
    views = make_views(table, WITH_V)
    change_table(table, change)
    for name in views.values():
        with pytest.raises(InvalidInput, match=rf"view {name}: column 'v' was .* replace the view"):
            table.sql(f"SELECT * FROM {name}")


@pytest.mark.parametrize("change", ["renamed"])
def test_a_view_has_its_columns_back_when_the_change_is_undone(table: Any, change: str) -> None:
    (name,) = make_views(table, {"the column": WITH_V["the column"]}).values()
    change_table(table, change)
    table.sql(f"ALTER TABLE {TABLE} RENAME COLUMN u TO v")
    assert spark_rows(table.sql(f"SELECT * FROM {name}")) == ["10", "None"]
