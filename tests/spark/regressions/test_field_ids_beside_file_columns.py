"""Where a query asks for a part of `_metadata`, Spark's optimizer makes the schema of the files from the columns of the relation: without
their field ids a renamed column would be null in older files. Filters on a DataFrame prune files by such a part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException

OLD = [(k, str(k), k) for k in range(5)]
NEW = [(k, str(k), k) for k in range(10, 15)]


@pytest.fixture(scope="module")
def renamed(session: Any) -> Iterator[Any]:
    """A table of two files, before and after a column was renamed and another one dropped."""
    session.sql("CREATE TABLE lake.db.ids (k INT, old STRING, gone INT, x INT)")
    _insert(session, "k, CAST(k AS STRING), -1, k", 0)
    session.sql("ALTER TABLE lake.db.ids RENAME COLUMN old TO s")
    session.sql("ALTER TABLE lake.db.ids DROP COLUMN gone")
    _insert(session, "k, CAST(k AS STRING), k", 10)
    yield session
    session.sql("DROP TABLE lake.db.ids PURGE")


def _insert(session: Any, columns: str, first: int) -> None:
    rows = f"(SELECT CAST(id AS INT) AS k FROM range({first}, {first + 5}))"
    session.sql(f"INSERT INTO lake.db.ids SELECT /*+ COALESCE(1) */ {columns} FROM {rows}")


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row)[:3] for row in frame.collect())


@pytest.mark.parametrize("place", ["table", "read", "load"])
def test_a_filter_that_leaves_out_files_finds_renamed_columns(renamed: Any, place: str) -> None:
    frame = {
        "table": lambda: renamed.table("lake.db.ids"),
        "read": lambda: renamed.read.table("lake.db.ids"),
        "load": lambda: renamed.read.format("iceberg").load("lake.db.ids"),
    }[place]()
    assert rows(frame.where("k < 3")) == OLD[:3]
    assert rows(frame.where(frame.k > 12)) == NEW[3:]
    assert rows(frame.where("k < 3").join(renamed.range(2).withColumnRenamed("id", "k"), "k")) == OLD[:2]


def test_columns_beside_those_of_a_rows_file(renamed: Any) -> None:
    frame = renamed.table("lake.db.ids")
    assert rows(frame.select("*", "_metadata.file_size")) == OLD + NEW
    assert rows(frame.select("k", "s", "x", "_metadata.row_index").where("row_index > 2")) == OLD[3:] + NEW[3:]


def test_results_of_statements_have_no_columns_of_files(renamed: Any) -> None:
    for sql in ("SELECT * FROM lake.db.ids", "SELECT k, s, x FROM lake.db.ids WHERE k < 3"):
        with pytest.raises(AnalysisException, match="_metadata"):
            renamed.sql(sql).select("*", "_metadata.file_size")
    assert rows(renamed.sql("SELECT * FROM lake.db.ids WHERE input_file_name() <> ''")) == OLD + NEW


def test_files_and_rows_left_out_by_a_join(renamed: Any) -> None:
    renamed.createDataFrame([(1,), (2,)], "a INT").createOrReplaceTempView("few")
    assert rows(renamed.sql("SELECT t.* FROM lake.db.ids t JOIN few ON k = a")) == OLD[1:3]
    few, frame = renamed.table("lake.db.ids").where("x IN (1, 2)"), renamed.table("lake.db.ids")
    assert rows(frame.join(few, frame.k == few.x, "semi")) == OLD[1:3]
    renamed.catalog.dropTempView("few")
