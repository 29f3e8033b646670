"""`format("iceberg")` and `format("floeberg")`: tables by name and by path, read and written."""

from __future__ import annotations

from typing import Any

import pytest

import floeberg as fb
from floeberg.errors import FloebergError, InvalidInput, TableNotFound
from floeberg.spark.host.session import session_of


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def _location(session: Any, name: str) -> str:
    lake = fb.Catalog(session_of(session).backend("lake"))
    return str(lake.load_table(name).location)


@pytest.mark.parametrize("name", [pytest.param("iceberg", marks=pytest.mark.connect), "floeberg"])
def test_rows_go_to_a_table_by_name_and_by_path(session: Any, name: str) -> None:
    table = f"lake.db.by_{name}"
    session.sql(f"CREATE TABLE {table} (id BIGINT, p STRING) PARTITIONED BY (p)")
    rows = session.createDataFrame([(1, "a"), (2, "b")], "id BIGINT, p STRING")
    rows.write.format(name).mode("append").save(table)
    path = _location(session, f"db.by_{name}")
    rows.where("id = 1").write.format(name).mode("append").option("snapshot-property.by", "path").save(path)
    assert _rows(session.read.format(name).load(path)) == [(1, "a"), (1, "a"), (2, "b")]
    assert _rows(session.read.format(name).load(table)) == [(1, "a"), (1, "a"), (2, "b")]
    assert (
        session.sql(f"SELECT summary['by'] FROM {table}.snapshots ORDER BY committed_at DESC").collect()[0][0] == "path"
    )
    rows.where("id = 2").write.format(name).mode("overwrite").save(path)
    assert _rows(session.table(table)) == [(2, "b")]
    with pytest.raises(InvalidInput, match="mode append or overwrite"):
        rows.write.format(name).save(path)


def test_a_table_of_a_sql_catalog_is_not_written_by_its_path(session: Any) -> None:
    session.sql("CREATE TABLE books.db.kept (id BIGINT)")
    books = fb.Catalog(session_of(session).backend("books"))
    with pytest.raises(TableNotFound, match="through its catalog"):
        session.range(1).write.format("iceberg").mode("append").save(str(books.load_table("db.kept").location))


def test_errors_of_the_source_are_ours(session: Any) -> None:
    with pytest.raises(FloebergError):
        session.read.format("iceberg").load("lake.db.nowhere")
