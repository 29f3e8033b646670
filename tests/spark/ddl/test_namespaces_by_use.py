"""Namespaces that are made with their first table or view, in the catalogs in which the Java library makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

import floeberg as fb
from floeberg.errors import FloebergError, InvalidInput, NamespaceNotFound

WAYS: dict[str, Callable[[Any, str], object]] = {
    "a table": lambda session, name: session.sql(f"CREATE TABLE {name} (id INT)"),
    "a table of a query": lambda session, name: session.sql(f"CREATE TABLE IF NOT EXISTS {name} AS SELECT 1 AS id"),
    "a written table": lambda session, name: session.range(1).writeTo(name).create(),
    "a saved table": lambda session, name: session.range(1).write.format("iceberg").saveAsTable(name),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("catalog", ["lake", "books"])
def test_the_first_table_makes_its_namespaces(session: Any, catalog: str, way: str) -> None:
    first = way.replace(" ", "_")
    WAYS[way](session, f"{catalog}.{first}.inner.t")
    backend = getattr(session, catalog)
    assert backend.table_exists(f"{first}.inner.t")
    assert backend.namespace_exists(first)
    assert backend.list_namespaces(first) == [(first, "inner")]


def test_a_view_makes_its_namespace_where_the_catalog_keeps_views(session: Any) -> None:
    session.sql("CREATE VIEW books.of_views.v AS SELECT 1 AS id")
    assert [row.id for row in session.sql("SELECT * FROM books.of_views.v").collect()] == [1]
    with pytest.raises(FloebergError, match="view"):
        session.sql("CREATE VIEW lake.of_views.v AS SELECT 1 AS id")
    assert not session.lake.namespace_exists("of_views")


@pytest.mark.parametrize(
    "statement",
    ["REPLACE TABLE lake.missing.t AS SELECT 1 AS id", "CREATE TABLE lake.missing.t (id INT) PARTITIONED BY (bucket(4, x))",
     "INSERT INTO lake.missing.t VALUES (1)", "DROP TABLE lake.missing.t"],
)  # fmt: skip
def test_a_statement_that_makes_no_table_makes_no_namespace(session: Any, statement: str) -> None:
    with pytest.raises(FloebergError):
        session.sql(statement)
    assert not session.lake.namespace_exists("missing")


BRANCH = "books.shop.t.branch_dev"
INTO_A_BRANCH: dict[str, Callable[[Any], object]] = {
    "saved": lambda session: session.range(3).write.mode("overwrite").saveAsTable(BRANCH),
    "written": lambda session: session.range(3).writeTo(BRANCH).createOrReplace(),
    "replaced": lambda session: session.sql(f"CREATE OR REPLACE TABLE {BRANCH} AS SELECT id FROM range(3)"),
    "created": lambda session: session.sql("CREATE TABLE books.shop.t.of_its_own (id BIGINT)"),
    "viewed": lambda session: session.sql("CREATE VIEW books.shop.t.v AS SELECT 1 AS id"),
}


@pytest.mark.parametrize("way", INTO_A_BRANCH)
def test_a_table_is_no_namespace_of_a_table_that_is_named_as_its_branch(session: Any, way: str) -> None:
    session.sql("CREATE TABLE IF NOT EXISTS books.shop.t AS SELECT 9L AS id")
    session.sql("ALTER TABLE books.shop.t CREATE BRANCH IF NOT EXISTS dev")
    with pytest.raises(InvalidInput, match=r"books\.shop\.t is a table, and no namespace"):
        INTO_A_BRANCH[way](session)
    assert not session.books.namespace_exists("shop.t")
    assert [row.id for row in session.table(BRANCH).collect()] == [9]


def test_a_query_that_fails_makes_no_namespace(session: Any) -> None:
    with pytest.raises(PySparkException):
        session.sql("CREATE TABLE books.failing.t AS SELECT id, raise_error('no rows') AS x FROM range(3)")
    assert not session.books.namespace_exists("failing")


def test_a_strict_catalog_and_one_in_memory_ask_for_the_namespace(session: Any, tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/strict.db"
    strict = fb.catalog("strict", type="sql", uri=uri, warehouse=str(tmp_path), properties={"jdbc.strict-mode": "true"})
    fb.attach(session, strict)
    fb.attach(session, fb.catalog("scratch", type="memory"))
    for catalog in ("strict", "scratch"):
        with pytest.raises(NamespaceNotFound, match=f"CREATE NAMESPACE {catalog}.missing"):
            session.sql(f"CREATE TABLE {catalog}.missing.t (id INT)")
    assert not strict.namespace_exists("missing")
