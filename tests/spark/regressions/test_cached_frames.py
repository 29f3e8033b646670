"""DataFrames of tables in Spark's cache: they are filtered, stay cached, and answer for no later commit."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from floeberg.errors import UnsupportedFeature


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def _is_cached(frame: Any) -> bool:
    return bool(frame.storageLevel.useMemory)


@pytest.fixture(scope="module")
def tables(session: Any) -> Any:
    """`lake.db.t` has a file for each of three rows, `lake.db.deleted` one more, whose row is deleted by its position."""
    for name in ("t", "deleted"):
        session.sql(
            f"CREATE TABLE lake.db.{name} (id INT, s STRING) TBLPROPERTIES ('write.delete.mode'='merge-on-read')"
        )
        for number in range(1, 4):
            session.sql(f"INSERT INTO lake.db.{name} VALUES ({number}, 's{number}')")
    session.sql(
        "INSERT INTO lake.db.deleted SELECT /*+ COALESCE(1) */ id, s FROM VALUES (7, 'x'), (8, 'y') AS v(id, s)"
    )
    session.sql("DELETE FROM lake.db.deleted WHERE id > 6")
    return session


@pytest.mark.parametrize("name", ["t", "deleted"])
def test_a_cached_frame_is_filtered_as_any_other(tables: Any, name: str) -> None:
    table = f"lake.db.{name}"
    frame = tables.table(table).cache()
    assert frame.count() == 3
    for condition in ("id = 2", F.col("id") == 2, "id > 1 AND s = 's2'", "s LIKE 's2%'"):
        assert _rows(frame.where(condition)) == [(2, "s2")], condition
        assert _rows(tables.table(table).where(condition)) == [(2, "s2")], condition
    assert _rows(frame.where("id > 1").where("id = 3").select("s")) == [("s3",)]
    assert _rows(frame.where("id = 2").select("id", F.col("_pos") >= 0)) == [(2, True)]
    frame.unpersist()
    assert _rows(frame.where("id = 2")) == [(2, "s2")]


STATEMENTS = (
    "SELECT * FROM lake.db.t",
    "SELECT t.* FROM lake.db.t",
    "SELECT id, s FROM lake.db.t",
    "TABLE lake.db.t",
    "SELECT * FROM (SELECT * FROM lake.db.t) x",
    "WITH c AS (SELECT * FROM lake.db.t) SELECT * FROM c",
    "FROM lake.db.t |> SELECT *",
    "SELECT * FROM as_it_is",
    "SELECT * FROM upon",
    "SELECT count(*) FROM lake.db.t",
    "SELECT id FROM lake.db.t WHERE id = 1",
    "SELECT * FROM lake.db.deleted",
)


def test_a_cached_frame_stays_cached_whatever_is_read_besides(tables: Any) -> None:
    tables.sql("CREATE TEMP VIEW as_it_is AS SELECT * FROM lake.db.t")
    tables.sql("CREATE TEMP VIEW upon AS SELECT * FROM as_it_is")
    cached = {sql: tables.sql(sql).cache() for sql in STATEMENTS}
    cached["table"] = tables.table("lake.db.t").cache()
    expected = {sql: _rows(frame) for sql, frame in cached.items()}
    for sql in STATEMENTS:
        assert _rows(tables.sql(sql)) == expected[sql], sql
    assert [sql for sql, frame in cached.items() if not _is_cached(frame)] == []
    tables.sql("INSERT INTO lake.db.t VALUES (4, 's4')")
    assert _rows(tables.sql("SELECT * FROM lake.db.t WHERE id > 3")) == [(4, "s4")]
    assert _rows(tables.table("lake.db.t"))[-1] == (4, "s4")
    assert _rows(tables.sql("SELECT * FROM upon"))[-1] == (4, "s4")
    for sql, frame in cached.items():
        assert _rows(frame) == expected[sql], sql
        frame.unpersist()
    tables.sql("DELETE FROM lake.db.t WHERE id = 4")
    for name in ("upon", "as_it_is"):
        tables.catalog.dropTempView(name)


def test_a_view_that_is_made_to_be_cached_shows_later_commits(tables: Any) -> None:
    tables.sql("CACHE TABLE few AS SELECT id FROM lake.db.t WHERE id <> 2")
    assert tables.catalog.isCached("few")
    assert _rows(tables.sql("SELECT * FROM few")) == [(1,), (3,)]
    tables.sql("INSERT INTO lake.db.t VALUES (5, 's5')")
    assert _rows(tables.sql("SELECT * FROM few")) == [(1,), (3,), (5,)]
    tables.sql("CACHE TABLE few")
    tables.sql("DELETE FROM lake.db.t WHERE id = 5")
    assert _rows(tables.table("few")) == [(1,), (3,)]
    tables.sql("UNCACHE TABLE few")
    assert not tables.catalog.isCached("few")
    assert _rows(tables.sql("SELECT * FROM few")) == [(1,), (3,)]
    tables.catalog.cacheTable("few")
    tables.sql("CREATE OR REPLACE TEMP VIEW few AS SELECT s FROM lake.db.t WHERE id = 1")
    assert not tables.catalog.isCached("few")
    assert _rows(tables.sql("SELECT * FROM few")) == [("s1",)]
    tables.sql("DROP VIEW few")


@pytest.mark.parametrize(
    "script",
    [
        "BEGIN EXECUTE IMMEDIATE 'SELECT count(*) FROM counted'; END",
        "BEGIN DECLARE q STRING DEFAULT 'SELECT count(*) FROM count' || 'ed'; EXECUTE IMMEDIATE q; END",
    ],
)
def test_a_script_reads_no_old_rows_of_a_view(tables: Any, script: str) -> None:
    tables.sql("CREATE OR REPLACE TEMP VIEW counted AS SELECT * FROM lake.db.t")
    with pytest.raises(UnsupportedFeature, match="EXECUTE IMMEDIATE"):
        tables.sql(script)
    assert _rows(tables.sql("BEGIN SELECT count(*) FROM counted; END")) == [(3,)]
    tables.catalog.dropTempView("counted")
