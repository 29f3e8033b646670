"""Metadata columns are there when they are named, and only there: a star leaves them out, as with the Java runtime."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="module")
def tables(session: Any) -> Any:
    session.sql("CREATE TABLE lake.db.seen (id BIGINT, name STRING) TBLPROPERTIES ('format-version' = '3')")
    session.sql("INSERT INTO lake.db.seen VALUES (1L, 'a')")
    session.sql("CREATE TABLE lake.db.other (id BIGINT, other STRING)")
    session.sql("INSERT INTO lake.db.other VALUES (1L, 'o')")
    return session


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT *, _file FROM lake.db.seen", ["id", "name", "_file"]),
        ("SELECT _pos, * FROM lake.db.seen", ["_pos", "id", "name"]),
        ("SELECT * FROM lake.db.seen WHERE _pos = 0 AND _file IS NOT NULL", ["id", "name"]),
        ("SELECT s.*, s._row_id FROM lake.db.seen s", ["id", "name", "_row_id"]),
        ("SELECT * EXCEPT (name), _file FROM lake.db.seen", ["id", "_file"]),
        ("SELECT *, s._file FROM lake.db.seen s JOIN lake.db.other o ON s.id = o.id", ["id", "name", "id", "other", "_file"]),
        ("SELECT *, a._file, b._row_id FROM lake.db.seen a JOIN lake.db.seen b USING (id)",
         ["id", "name", "name", "_file", "_row_id"]),
        ("SELECT * FROM (SELECT *, _pos FROM lake.db.seen) WHERE _pos = 0", ["id", "name", "_pos"]),
        ("WITH c AS (SELECT *, _row_id AS r FROM lake.db.seen) SELECT * FROM c WHERE r = 0", ["id", "name", "r"]),
        ("SELECT lake.db.seen.*, lake.db.seen._pos FROM lake.db.seen", ["id", "name", "_pos"]),
        ("SELECT *, (SELECT max(_pos) FROM lake.db.seen) AS m FROM lake.db.other o", ["id", "other", "m"]),
        ("SELECT count(*), max(_pos) FROM lake.db.seen", ["count(1)", "max(_pos)"]),
        ("SELECT to_json(struct(id, _pos)) FROM lake.db.seen", ["to_json(struct(id, _pos))"]),
        ("FROM lake.db.seen SELECT *, _spec_id", ["id", "name", "_spec_id"]),
    ],
)  # fmt: skip
def test_a_star_leaves_out_what_is_hidden(tables: Any, query: str, columns: list[str]) -> None:
    frame = tables.sql(query)
    assert frame.columns == columns
    assert len(frame.collect()) == 1


@pytest.mark.connect
def test_rows_are_copied_without_the_columns_that_chose_them(tables: Any) -> None:
    assert tables.sql("SELECT *, _file FROM lake.db.seen").columns == ["id", "name", "_file"]
    tables.sql("CREATE TABLE lake.db.copied AS SELECT * FROM lake.db.seen WHERE _row_id = 0")
    assert tables.table("lake.db.copied").columns == ["id", "name"]
