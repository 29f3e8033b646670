"""The views that a statement makes of its DataFrames: put into Spark's catalog without a command, and gone after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from floeberg.errors import InvalidInput
from floeberg.spark.host.calls import gateway, statement_views
from floeberg.spark.host.views import temporary_views
from spark_runs.spark_session import CONNECT

pytestmark = pytest.mark.skipif(CONNECT, reason="there PySpark makes them")


@pytest.fixture(scope="module")
def tables(session: Any) -> Iterator[Any]:
    session.sql("CREATE TABLE lake.db.seen_a (id INT, s STRING)")
    session.sql("CREATE TABLE lake.db.seen_b (k BIGINT, d DOUBLE, x INT)")
    session.sql("INSERT INTO lake.db.seen_a VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    session.sql("INSERT INTO lake.db.seen_b VALUES (1, 0.5, 7), (3, 1.5, 8)")
    yield session
    for name in ("a", "b"):
        session.sql(f"DROP TABLE lake.db.seen_{name}")


QUERIES = (
    "SELECT * FROM lake.db.seen_a a JOIN lake.db.seen_b b ON a.id = b.k",
    "SELECT x.id, y.id FROM lake.db.seen_a x JOIN lake.db.seen_a y ON x.id = y.id + 1",
    "SELECT s FROM lake.db.seen_a WHERE id IN (SELECT k FROM lake.db.seen_b WHERE d > 1) OR EXISTS (SELECT 1 FROM "
    "lake.db.seen_b WHERE x = id + 5)",
    "WITH v AS (SELECT * FROM lake.db.seen_b) SELECT v.*, seen_a.s FROM v LEFT JOIN lake.db.seen_a ON k = id",
)


def _rows(frame: Any) -> list[str]:
    return sorted(str(row) for row in frame.collect())


@pytest.mark.parametrize("query", QUERIES)
def test_views_without_a_command_give_the_rows_of_those_with_one(
    tables: Any, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tables.sql(query)
    with monkeypatch.context() as patch:
        for module in (gateway, statement_views):
            patch.setattr(module, "is_classic", lambda _: False)
        patch.setattr(statement_views, "_VIEWS", {})
        expected = tables.sql(query)
        assert (_rows(found), found.columns, found.schema) == (_rows(expected), expected.columns, expected.schema)
    assert not [name for name in temporary_views(tables) if name.startswith(gateway.FORMATTED)]


def test_no_command_is_run_for_a_view(tables: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tables.sql(QUERIES[0])
    monkeypatch.setattr(statement_views, "original", None)
    assert len(tables.sql(QUERIES[0]).collect()) == 2


def test_results_of_two_statements_are_joined_by_their_own_columns(tables: Any) -> None:
    one, other = (tables.sql("SELECT id, s FROM lake.db.seen_a") for _ in range(2))
    assert one.join(other, one.id == other.id + 1).select(one.id, other.id).count() == 2


def test_a_cached_frame_stays_cached_when_a_statement_reads_it(tables: Any) -> None:
    frame = tables.range(5).cache()
    try:
        assert frame.count() == 5
        assert (
            tables.sql("SELECT count(*) FROM {f} f JOIN lake.db.seen_a a ON f.id = a.id", f=frame).collect()[0][0] == 3
        )
        assert frame.storageLevel.useMemory
    finally:
        frame.unpersist()


def test_where_spark_refuses_a_copy_its_own_method_makes_the_view(tables: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(statement_views._VIEWS, tables, (None, None))
    assert len(tables.sql(QUERIES[0]).collect()) == 2


def test_a_frame_of_the_user_keeps_a_name_that_statements_use(tables: Any) -> None:
    frame = tables.createDataFrame([(1, "own"), (3, "own")], "id INT, u STRING")
    query = "SELECT a.id, x.u FROM lake.db.seen_a a JOIN {floeberg_0} x ON a.id = x.id"
    assert _rows(tables.sql(query, floeberg_0=frame)) == ["Row(id=1, u='own')", "Row(id=3, u='own')"]


def test_a_change_refuses_a_frame_under_the_name_of_its_target(tables: Any) -> None:
    frame = tables.createDataFrame([(2,)], "id INT")
    with pytest.raises(InvalidInput, match="floeberg_target"):
        tables.sql("DELETE FROM lake.db.seen_a WHERE id IN (SELECT id FROM {floeberg_target})", floeberg_target=frame)
    assert tables.table("lake.db.seen_a").count() == 3
