"""CREATE TABLE LIKE, CACHE TABLE, `spark.catalog`, and what is said of statements that cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from floeberg.errors import FloebergError, InvalidInput, UnsupportedFeature


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_a_table_like_another_has_its_columns_partitions_and_properties(session: Any) -> None:
    session.sql(
        "CREATE TABLE lake.db.model (id BIGINT NOT NULL COMMENT 'key', ts TIMESTAMP, s STRUCT<a: INT, b: ARRAY<STRING>>) "
        "PARTITIONED BY (days(ts), bucket(4, id)) TBLPROPERTIES ('format-version' = '3', 'owner' = 'us')"
    )
    session.sql(
        "INSERT INTO lake.db.model VALUES (1L, TIMESTAMP '2024-01-01 00:00:00', named_struct('a', 1, 'b', array('x')))"
    )
    session.sql("CREATE TABLE books.db.alike LIKE lake.db.model TBLPROPERTIES ('owner' = 'them')")
    model, alike = session.lake.load_table("db.model"), session.books.load_table("db.alike")
    assert alike.schema.same_columns(model.schema)
    assert [str(field) for field in alike.spec.fields] == [str(field) for field in model.spec.fields]
    assert (alike.metadata.format_version, alike.properties["owner"], alike.current_snapshot) == (3, "them", None)
    session.sql("CREATE TABLE IF NOT EXISTS books.db.alike LIKE lake.db.model")
    session.sql("INSERT INTO books.db.alike SELECT * FROM lake.db.model")
    assert session.table("books.db.alike").collect() == session.table("lake.db.model").collect()
    with pytest.raises(FloebergError, match="there already"):
        session.sql("CREATE TABLE books.db.alike LIKE lake.db.model")
    with pytest.raises(UnsupportedFeature, match="AS SELECT"):
        session.sql("CREATE TABLE lake.db.other LIKE default.theirs")


def test_a_cached_table_is_cached_anew_when_it_changes_as_sparks_own_are(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.hot (id BIGINT)")
    session.sql("INSERT INTO lake.db.hot VALUES (1L)")
    session.sql("CACHE TABLE lake.db.hot")
    assert session.catalog.isCached("lake.db.hot")
    assert rows(session.sql("SELECT * FROM lake.db.hot")) == [(1,)]
    session.sql("INSERT INTO lake.db.hot VALUES (2L)")
    assert rows(session.sql("SELECT * FROM lake.db.hot")) == [(1,), (2,)]
    assert session.catalog.isCached("lake.db.hot")
    session.catalog.cacheTable("lake.db.hot")
    session.catalog.refreshTable("lake.db.hot")
    assert session.catalog.isCached("lake.db.hot")
    session.sql("UNCACHE TABLE lake.db.hot")
    assert not session.catalog.isCached("lake.db.hot")
    session.sql("CACHE LAZY TABLE lake.db.hot")
    session.catalog.uncacheTable("lake.db.hot")
    assert not session.catalog.isCached("lake.db.hot")
    session.sql("UNCACHE TABLE IF EXISTS lake.db.hot")
    session.sql("CACHE TABLE few AS SELECT id FROM lake.db.hot WHERE id > 1")
    session.sql("DELETE FROM lake.db.hot")
    assert rows(session.table("few")) == []
    session.sql("UNCACHE TABLE few")
    session.catalog.dropTempView("few")


@pytest.mark.connect
def test_the_catalog_of_a_session_knows_our_tables(session: Any) -> None:
    session.sql("CREATE NAMESPACE books.shelf COMMENT 'of books'")
    session.sql(
        "CREATE TABLE books.shelf.t (id BIGINT NOT NULL COMMENT 'key', p STRING) PARTITIONED BY (p) COMMENT 'told'"
    )
    session.sql("CREATE VIEW books.shelf.v AS SELECT id FROM books.shelf.t")
    found = session.catalog
    assert found.tableExists("books.shelf.t")
    assert found.tableExists("t", "books.shelf")
    assert not found.tableExists("books.shelf.nothing")
    assert found.databaseExists("books.shelf")
    assert not found.databaseExists("books.nothing")
    assert (found.getDatabase("books.shelf").catalog, found.getDatabase("books.shelf").description) == (
        "books",
        "of books",
    )
    table = found.getTable("books.shelf.t")
    assert (table.name, table.catalog, table.namespace, table.description, table.tableType, table.isTemporary) == (
        "t", "books", ["shelf"], "told", "MANAGED", False
    )  # fmt: skip
    assert found.getTable("books.shelf.v").tableType == "VIEW"
    columns = [
        (one.name, one.dataType, one.nullable, one.isPartition, one.description)
        for one in found.listColumns("books.shelf.t")
    ]
    assert columns == [("id", "bigint", False, False, "key"), ("p", "string", True, True, None)]
    listed = [(one.name, one.tableType) for one in found.listTables("books.shelf") if not one.isTemporary]
    assert listed == [("t", "MANAGED"), ("v", "VIEW")]
    assert [one.name for one in found.listTables("books.shelf", "t*") if not one.isTemporary] == ["t"]
    found.setCurrentCatalog("books")
    try:
        assert {"db", "shelf"} <= {one.name for one in found.listDatabases()}
        found.setCurrentDatabase("shelf")
        assert (found.currentCatalog(), found.currentDatabase()) == ("books", "shelf")
        assert found.tableExists("t")
    finally:
        session.sql("USE spark_catalog")


def test_views_of_a_catalog_are_listed_replaced_renamed_and_dropped(session: Any) -> None:
    session.sql("CREATE TABLE books.db.base (id BIGINT, name STRING)")
    session.sql("INSERT INTO books.db.base VALUES (1L, 'a'), (2L, 'b')")
    session.sql("CREATE VIEW books.db.seen COMMENT 'first' AS SELECT id FROM books.db.base WHERE id > 1")
    session.sql("CREATE VIEW IF NOT EXISTS books.db.seen AS SELECT 1 AS one FROM books.db.base")
    session.sql("CREATE OR REPLACE VIEW books.db.upon (k) TBLPROPERTIES ('a' = 'b') AS SELECT id FROM books.db.seen")
    assert rows(session.sql("SELECT k FROM books.db.upon")) == [(2,)]
    assert rows(session.sql("SHOW VIEWS IN books.db LIKE 's*|u*'")) == [("db", "seen", False), ("db", "upon", False)]
    session.sql("CREATE OR REPLACE VIEW books.db.seen AS SELECT id FROM books.db.base")
    assert rows(session.sql("SELECT k FROM books.db.upon")) == [(1,), (2,)]
    session.sql("ALTER VIEW books.db.seen AS SELECT id FROM books.db.base WHERE id = 1")
    assert rows(session.table("books.db.upon")) == [(1,)]
    session.sql("ALTER VIEW books.db.upon RENAME TO books.db.above")
    assert session.books.load_view("db.above").metadata.properties["a"] == "b"
    with pytest.raises(FloebergError, match="is a table"):
        session.sql("DROP VIEW books.db.base")
    session.sql("DROP VIEW books.db.above")
    session.sql("DROP VIEW IF EXISTS books.db.above")
    with pytest.raises(FloebergError, match=r"books\.db\.above"):
        session.sql("DROP VIEW books.db.above")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ALTER TABLE lake.db.t ADD PARTITION FIELD", "line 1"),
        ("ALTER TABLE lake.db.t\n  RENAME COLUM a TO b", "line 2"),
        ("ALTER TABLE lake.db.t CREATE BRANCH b RETAIN 5 WEEKS", "(?i)line 1.*DAYS"),
        ("CREATE TABLE lake.db.t (id BIGINT,, s STRING)", "line 1"),
        ("CREATE TABLE lake.db.t (id BIGINT) PARTITIONED BY (bucket(id))", "bucket"),
        ("MERGE INTO lake.db.t USING lake.db.u ON t.id = u.id", "(?i)line 1.*WHEN"),
        ("ALTER TABLE lake.db.t WRITE ORDERED", "line 1"),
        ("DROP TABLE lake.db.t CASCADE", "line 1"),
    ],
)  # fmt: skip
def test_a_statement_that_cannot_be_read_says_where_and_what_was_expected(
    session: Any, statement: str, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        session.sql(statement)
