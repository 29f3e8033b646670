"""Texts in double quotes, views of the current place, and views of DataFrames whose arguments the user goes on to change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import functions as F

import floeberg as fb
from floeberg.errors import UnsupportedFeature

DOUBLE_QUOTED = "spark.sql.ansi.doubleQuotedIdentifiers"


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


@pytest.fixture(scope="module")
def tables(session: Any) -> Iterator[Any]:
    """`lake.db.t` and a catalog `shelf` that keeps views."""
    shelf = fb.catalog("shelf", type="memory")
    shelf.create_namespace("db")
    fb.attach(session, shelf)
    session.sql("CREATE TABLE lake.db.t (id INT, s STRING)")
    session.sql("INSERT INTO lake.db.t VALUES (1, 'a'), (2, 's')")
    yield session
    session.sql("USE spark_catalog.default")


@pytest.fixture
def double_quoted(tables: Any) -> Iterator[Any]:
    tables.conf.set(DOUBLE_QUOTED, "true")
    yield tables
    tables.conf.set(DOUBLE_QUOTED, "false")


def test_a_view_of_a_frame_keeps_what_its_methods_were_given(tables: Any) -> None:
    frame = tables.table("lake.db.t")
    added, renamed, chosen = {"x": F.lit(1)}, {"s": "name"}, ["id"]
    frame.withColumns(added).createOrReplaceTempView("added")
    frame.withColumnsRenamed(renamed).createOrReplaceTempView("renamed")
    frame.select(chosen).createOrReplaceTempView("chosen")
    ordered = ["id"]
    first = frame.orderBy(ordered).limit(1)
    added["x"], renamed["s"], chosen[0], ordered[0] = F.lit(2), "other", "s", "s"
    assert _rows(tables.sql("SELECT id, x FROM added")) == [(1, 1), (2, 1)]
    assert _rows(tables.sql("SELECT name FROM renamed")) == [("a",), ("s",)]
    assert _rows(tables.sql("SELECT id FROM chosen")) == [(1,), (2,)]
    ordered[0] = "_pos"
    assert _rows(first.select("id", F.col("_pos") >= 0)) == [(1, True)]


def test_names_in_double_quotes_mean_the_same_in_every_part_of_a_statement(double_quoted: Any) -> None:
    run = double_quoted.sql
    run("""CREATE TABLE lake.db.q AS SELECT "id", "s" FROM "lake"."db"."t" WHERE "s" = 'a'""")
    run("""INSERT INTO "lake"."db"."q" ("id") SELECT "t"."id" + 10 FROM "lake"."db"."t" WHERE "s" = 's'""")
    assert _rows(run("SELECT id FROM lake.db.q")) == [(1,), (12,)]
    run(
        """MERGE INTO "lake"."db"."q" "x" USING "lake"."db"."t" "y" ON "x"."id" = "y"."id"
        WHEN MATCHED AND "y"."s" = 'a' THEN UPDATE SET "s" = "y"."s" || '}' WHEN NOT MATCHED THEN INSERT *"""
    )
    assert _rows(run('SELECT "id" FROM lake.db.q WHERE "s" IS NOT NULL')) == [(1,), (2,)]
    run("""DELETE FROM "lake"."db"."q" WHERE "id" IN (SELECT "id" FROM "lake"."db"."t" WHERE "s" = 's')""")
    assert _rows(run("SELECT id FROM lake.db.q")) == [(1,), (12,)]
    run("DROP TABLE lake.db.q")


def test_a_view_with_names_in_double_quotes_reads_the_same_rows_without_the_setting(double_quoted: Any) -> None:
    query = """SELECT "id" FROM "lake"."db"."t" WHERE "s" = 'a'"""
    double_quoted.sql(f"CREATE OR REPLACE TEMP VIEW quoted AS {query}")
    double_quoted.sql(f"CREATE VIEW shelf.db.quoted AS {query}")
    double_quoted.conf.set(DOUBLE_QUOTED, "false")
    assert _rows(double_quoted.sql("SELECT * FROM quoted")) == [(1,)]
    assert _rows(double_quoted.sql("SELECT * FROM shelf.db.quoted")) == [(1,)]


def test_a_view_gives_the_current_place_of_those_who_read_it(tables: Any) -> None:
    query = "SELECT current_database(), current_catalog() AS c, `current_schema`() AS d FROM lake.db.t WHERE id = 1"
    tables.sql("USE lake.db")
    tables.sql(f"CREATE OR REPLACE TEMP VIEW place AS {query}")
    tables.sql(f"CREATE VIEW shelf.db.place AS {query}")
    for view in ("place", "shelf.db.place"):
        assert _rows(tables.sql(f"SELECT * FROM {view}")) == [("db", "lake", "db")]
    tables.sql("USE spark_catalog.default")
    for view in ("place", "shelf.db.place"):
        assert _rows(tables.sql(f"SELECT * FROM {view}")) == [("default", "spark_catalog", "default")]


def test_a_view_of_a_frame_with_metadata_columns_sees_new_rows(tables: Any) -> None:
    tables.sql("CREATE TABLE lake.db.grows AS SELECT 1 AS id")
    frame = tables.table("lake.db.grows")
    frame.withColumn("p", F.col("_pos")).where("p = 0").createOrReplaceTempView("first_rows")
    frame.filter("_pos = 0").filter(frame.id > 0).select(frame.id, "_pos").createOrReplaceTempView("first_ids")
    frame.filter("_pos = 0").createOrReplaceTempView("firsts")
    tables.sql("INSERT INTO lake.db.grows VALUES (2)")
    assert _rows(tables.sql("SELECT * FROM first_rows")) == [(1, 0), (2, 0)]
    assert _rows(tables.sql("SELECT * FROM first_ids")) == [(1, 0), (2, 0)]
    assert _rows(tables.sql("SELECT * FROM firsts")) == [(1,), (2,)]


@pytest.mark.parametrize(
    "derive",
    [
        lambda frame: frame.where("id IN (SELECT id FROM chosen_ids)"),
        lambda frame: frame.where(F.expr("id = (SELECT max(id) FROM chosen_ids)")),
        lambda frame: frame.where(F.expr("EXISTS (FROM chosen_ids |> WHERE id = 1)")).where("id = 1"),
    ],
)
def test_a_subquery_in_a_view_of_a_frame_keeps_its_meaning(tables: Any, derive: Any) -> None:
    tables.range(1, 2).createOrReplaceTempView("chosen_ids")
    derive(tables.table("lake.db.t")).createOrReplaceTempView("chosen_rows")
    tables.range(5, 6).createOrReplaceTempView("chosen_ids")
    assert _rows(tables.sql("SELECT id FROM chosen_rows")) == [(1,)]


def test_stars_and_patterns_in_columns_leave_out_metadata_columns(tables: Any) -> None:
    frame = tables.table("lake.db.t")
    for star in (F.expr("*"), F.col("*"), "*", frame.colRegex("`.*`")):
        assert frame.select(star, "_pos").columns == ["id", "s", "_pos"]
    assert frame.select(F.expr("* EXCEPT (id)"), "_pos").columns == ["s", "_pos"]
    assert frame.alias("x").select(F.expr("x.*"), "x._pos").columns == ["id", "s", "_pos"]
    assert _rows(frame.select(F.lit("*"), F.col("id") * 2, F.col("_pos") >= 0)) == [("*", 2, True), ("*", 4, True)]
    same = "hash(*) = hash(id, s)"
    assert _rows(frame.filter(f"_pos >= 0 AND {same}").select("id")) == [(1,), (2,)]
    assert _rows(frame.filter(same).select("id", F.col("_pos") >= 0)) == [(1, True), (2, True)]
    for wrong in (
        lambda: frame.withColumn("z", F.expr("struct(*, _pos)")),
        lambda: frame.select(F.expr("struct(*)"), "_pos"),
        lambda: frame.filter(F.expr(same)).select("_pos"),
    ):
        with pytest.raises(UnsupportedFeature, match="star inside a Column"):
            wrong()


@pytest.mark.filterwarnings("ignore:.*escapedStringLiterals:UserWarning")  # it is deprecated, and still heeded
@pytest.mark.parametrize(
    ("setting", "made", "read", "query"),
    [
        ("spark.sql.ansi.enabled", "false", "true", "SELECT CAST(s AS INT) AS x, id FROM {t} WHERE s = 1 OR id > 0"),
        (DOUBLE_QUOTED, "false", "true", 'SELECT id FROM {t} WHERE s = "a" OR "id" = s'),
        ("spark.sql.session.timeZone", "UTC", "Asia/Tokyo", "SELECT hour(timestamp_seconds(id)) AS h, id FROM {t}"),
        ("spark.sql.parser.escapedStringLiterals", "true", "false", r"SELECT '\n' AS x FROM {t} WHERE s RLIKE '\w'"),
    ],
)
def test_a_temporary_view_keeps_the_settings_that_its_text_was_read_by(
    tables: Any, is_connect: bool, setting: str, made: str, read: str, query: str
) -> None:
    tables.createDataFrame([(1, "a"), (2, "s")], "id INT, s STRING").createOrReplaceTempView("plain")
    before = tables.conf.get(setting)
    try:
        tables.conf.set(setting, made)
        tables.sql("CREATE OR REPLACE TEMP VIEW kept AS " + query.format(t="lake.db.t"))
        tables.sql("CREATE OR REPLACE TEMP VIEW expected AS " + query.format(t="plain"))
        tables.conf.set(setting, read)
        if is_connect:
            with pytest.raises(UnsupportedFeature, match=f"made under {setting}={made}"):
                tables.sql("SELECT * FROM kept")
            return
        assert _rows(tables.sql("SELECT * FROM kept")) == _rows(tables.sql("SELECT * FROM expected"))
        assert tables.conf.get(setting) == read
    finally:
        tables.conf.set(setting, before)
        for name in ("kept", "expected", "plain"):
            tables.catalog.dropTempView(name)
