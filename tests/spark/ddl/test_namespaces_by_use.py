"""Namespaces that are made with their first table or view, in the catalogs in which the Java library makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import floeberg as fb
from floeberg.errors import FloebergError, NamespaceNotFound

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


def test_a_strict_catalog_and_one_in_memory_ask_for_the_namespace(session: Any, tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/strict.db"
    strict = fb.catalog("strict", type="sql", uri=uri, warehouse=str(tmp_path), properties={"jdbc.strict-mode": "true"})
    fb.attach(session, strict)
    fb.attach(session, fb.catalog("scratch", type="memory"))
    for catalog in ("strict", "scratch"):
        with pytest.raises(NamespaceNotFound, match=f"CREATE NAMESPACE {catalog}.missing"):
            session.sql(f"CREATE TABLE {catalog}.missing.t (id INT)")
    assert not strict.namespace_exists("missing")
