"""A view means what it meant where it was made, is its own scope, keeps its columns, and reads its tables as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import floeberg as fb
from floeberg.errors import InvalidInput, UnsupportedFeature


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


@pytest.fixture(scope="module")
def tables(session: Any) -> Iterator[Any]:
    """`lake.db.t` and a catalog `shelf` that keeps views."""
    shelf = fb.catalog("shelf", type="memory")
    shelf.create_namespace("db")
    fb.attach(session, shelf)
    session.sql("CREATE TABLE lake.db.t (id INT, s STRING)")
    session.sql("INSERT INTO lake.db.t VALUES (1, 'a'), (2, 'b')")
    yield session
    session.sql("USE spark_catalog.default")


@pytest.mark.parametrize(
    "change",
    [
        "CREATE OR REPLACE TEMP VIEW changed AS SELECT 'new' AS x",
        "ALTER VIEW changed AS SELECT 'new' AS x",
        "BEGIN CREATE OR REPLACE TEMP VIEW changed AS SELECT 'new' AS x; END",
    ],
)
def test_a_temporary_view_that_is_replaced_by_what_is_not_ours_no_longer_answers(tables: Any, change: str) -> None:
    tables.sql("CREATE OR REPLACE TEMP VIEW changed AS SELECT id FROM lake.db.t")
    tables.sql(change)
    assert _rows(tables.sql("SELECT * FROM changed")) == [("new",)]
    assert _rows(tables.table("changed")) == [("new",)]


def test_a_renamed_or_altered_temporary_view_keeps_seeing_new_rows(tables: Any) -> None:
    tables.sql("CREATE TABLE lake.db.grows AS SELECT 1 AS id")
    tables.sql("CREATE TEMP VIEW before AS SELECT id FROM lake.db.grows")
    tables.sql("ALTER VIEW before RENAME TO after")
    tables.sql("INSERT INTO lake.db.grows VALUES (2)")
    assert _rows(tables.sql("SELECT * FROM after")) == [(1,), (2,)]
    tables.sql("ALTER VIEW after AS SELECT id * 10 AS tens FROM lake.db.grows")
    tables.sql("INSERT INTO lake.db.grows VALUES (3)")
    assert _rows(tables.sql("SELECT tens FROM after")) == [(10,), (20,), (30,)]
    with pytest.raises(Exception, match="before"):
        tables.sql("SELECT * FROM before")
    tables.sql("DROP VIEW after")


def test_nothing_of_the_query_around_it_changes_what_a_view_reads(tables: Any) -> None:
    tables.sql("CREATE OR REPLACE TEMP VIEW src AS SELECT 1 AS k")
    tables.sql("CREATE OR REPLACE TEMP VIEW joined AS SELECT id FROM lake.db.t JOIN src ON id = k")
    assert _rows(tables.sql("WITH src AS (SELECT 2 AS k) SELECT joined.id FROM joined, src")) == [(1,)]
    tables.sql("CREATE OR REPLACE TEMP VIEW src AS SELECT 2 AS k")  # a temporary view is read as it is now
    assert _rows(tables.sql("SELECT * FROM joined")) == [(2,)]


def test_use_and_later_temporary_views_do_not_change_what_a_view_reads(tables: Any) -> None:
    tables.sql("CREATE DATABASE elsewhere")
    tables.sql("CREATE TABLE default.side USING parquet AS SELECT 1 AS k")
    tables.sql("CREATE TABLE elsewhere.side USING parquet AS SELECT 2 AS k")
    tables.sql("CREATE VIEW shelf.db.placed AS SELECT k FROM side")
    tables.sql("USE lake.db")
    tables.sql("CREATE TEMP VIEW here AS SELECT id FROM t WHERE id = 1")
    tables.sql("USE spark_catalog.elsewhere")
    tables.sql("CREATE TEMP VIEW side AS SELECT 3 AS k")
    tables.sql("CREATE TEMP VIEW t AS SELECT 4 AS id")
    assert _rows(tables.sql("SELECT * FROM shelf.db.placed")) == [(1,)]
    assert _rows(tables.sql("SELECT * FROM here")) == [(1,)]
    for name in ("side", "t", "here"):
        tables.sql(f"DROP VIEW {name}")
    tables.sql("USE spark_catalog.default")
    tables.sql("DROP DATABASE elsewhere CASCADE")
    tables.sql("DROP TABLE default.side")


def test_views_keep_their_columns_when_the_table_evolves(tables: Any) -> None:
    tables.sql("CREATE TABLE lake.db.evolves (a INT, b INT)")
    tables.sql("INSERT INTO lake.db.evolves VALUES (1, 2)")
    tables.sql("CREATE TEMP VIEW starred AS SELECT * FROM lake.db.evolves")
    tables.sql("CREATE VIEW shelf.db.named (x, y) AS SELECT * FROM lake.db.evolves")
    twice = "SELECT * FROM lake.db.evolves l JOIN lake.db.evolves r ON l.a = r.a"
    tables.sql(f"CREATE TEMP VIEW twice (p, q, r, s) AS {twice}")
    tables.table("lake.db.evolves").createOrReplaceTempView("framed")
    tables.sql("ALTER TABLE lake.db.evolves ADD COLUMN c INT FIRST")
    tables.sql("INSERT INTO lake.db.evolves VALUES (9, 5, 6)")
    for view, names in (("starred", ["a", "b"]), ("shelf.db.named", ["x", "y"]), ("framed", ["a", "b"])):
        frame = tables.sql(f"SELECT * FROM {view}")
        assert (frame.columns, _rows(frame)) == (names, [(1, 2), (5, 6)])
        assert _rows(tables.sql(f"SELECT {names[1]} FROM {view} WHERE {names[0]} = 5")) == [(6,)]
    assert _rows(tables.sql("SELECT * FROM twice")) == [(1, 2, 1, 2), (5, 6, 5, 6)]
    tables.sql("ALTER TABLE lake.db.evolves ALTER COLUMN a TYPE BIGINT")
    assert tables.sql("SELECT * FROM starred WHERE a = 5").dtypes == [("a", "int"), ("b", "int")]
    with pytest.raises(InvalidInput, match="was int when it was made"):
        tables.sql("SELECT * FROM framed")
    tables.sql("ALTER TABLE lake.db.evolves DROP COLUMN b")
    with pytest.raises(InvalidInput, match="replace the view"):
        tables.sql("SELECT * FROM starred")


def test_a_view_of_a_tables_frame_its_filters_and_projections_shows_later_commits(tables: Any) -> None:
    tables.sql("CREATE TABLE lake.db.later AS SELECT 1 AS id, 'a' AS s")
    first = tables.sql("SELECT snapshot_id FROM lake.db.later.snapshots").collect()[0][0]
    frame = tables.table("lake.db.later")
    frame.createOrReplaceTempView("whole")
    frame.filter(frame.id > 0).select(frame.s, "id").createOrReplaceTempView("bound")
    more = frame.withColumn("next", frame.id + 1)
    more.where("next > 0").select(more.next).createOrReplaceGlobalTempView("derived")
    tables.read.option("snapshot-id", first).table("lake.db.later").createOrReplaceTempView("pinned")
    tables.sql("INSERT INTO lake.db.later VALUES (2, 'b')")
    assert _rows(tables.sql("SELECT * FROM whole")) == [(1, "a"), (2, "b")]
    assert _rows(tables.sql("SELECT * FROM bound WHERE id = 2")) == [("b", 2)]
    assert _rows(tables.table("bound")) == [("a", 1), ("b", 2)]
    assert _rows(tables.sql("SELECT * FROM global_temp.derived")) == [(2,), (3,)]
    assert _rows(tables.sql("SELECT * FROM pinned")) == [(1, "a")]
    assert _rows(frame) == [(1, "a")]
    for name in ("whole", "bound", "pinned"):
        tables.catalog.dropTempView(name)
    tables.catalog.dropGlobalTempView("derived")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE VIEW shelf.db.over AS SELECT * FROM made_by_us", "temporary view made_by_us"),
        ("CREATE VIEW shelf.db.over AS SELECT * FROM made_by_spark", "temporary view made_by_spark"),
        ("CREATE OR REPLACE TEMP VIEW made_by_us AS SELECT * FROM upon", "read itself"),
        ("ALTER VIEW made_by_us AS SELECT * FROM made_by_us", "read itself"),
        ("EXECUTE IMMEDIATE 'SELECT * FROM made_' || 'by_us'", "no literal"),
        ("CREATE TEMP VIEW formatted AS SELECT * FROM lake.db.t, {x}", "DataFrame"),
    ],
)
def test_views_that_could_not_mean_the_same_later_are_refused(tables: Any, statement: str, message: str) -> None:
    tables.sql("CREATE OR REPLACE TEMP VIEW made_by_us AS SELECT id FROM lake.db.t")
    tables.sql("CREATE OR REPLACE TEMP VIEW made_by_spark AS SELECT 1 AS id")
    tables.sql("CREATE OR REPLACE TEMP VIEW upon AS SELECT * FROM made_by_us")
    given = {"x": tables.range(1)} if "{x}" in statement else {}
    with pytest.raises((InvalidInput, UnsupportedFeature), match=message):
        tables.sql(statement, **given)
    assert _rows(tables.sql("SELECT * FROM upon")) == [(1,), (2,)]
