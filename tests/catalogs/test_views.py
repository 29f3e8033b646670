"""Views: the contract of every catalog that keeps them. https://iceberg.apache.org/view-spec/"""

from __future__ import annotations

from dataclasses import replace

import pytest

from floeberg.api.view import ViewDefinition
from floeberg.catalogs.identifiers import Identifier
from floeberg.errors import (
    ColumnAlreadyExists,
    InvalidInput,
    NamespaceNotFound,
    TableAlreadyExists,
    UnsupportedFeature,
    ViewAlreadyExists,
    ViewNotFound,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import IntegerType, NestedField, StructType
from floeberg.sql.ddl.types import schema_from_ddl
from lakes.catalogs_lake import Lake


def views(lake: Lake) -> bool:
    """Whether the catalog keeps views; one that does not refuses them before anything is made."""
    if lake.can.views:
        return True
    before = lake.files()
    with pytest.raises(UnsupportedFeature, match="keep views"):
        lake.catalog.create_view("db.v", "SELECT 1", "a int")
    with pytest.raises(UnsupportedFeature, match="keep views"):
        lake.catalog.rename_view("db.v", "db.w")
    with pytest.raises(ViewNotFound):
        lake.catalog.load_view("db.v")
    with pytest.raises(ViewNotFound):
        lake.catalog.drop_view("db.v")
    assert lake.catalog.list_views("db") == []
    assert not lake.catalog.view_exists("db.v")
    assert lake.files() == before
    return False


def test_a_view_is_created_loaded_listed_and_dropped(lake: Lake) -> None:
    if not views(lake):
        return
    cat = lake.catalog
    made = cat.create_view(
        "db.v", {"spark": "SELECT id FROM t", "trino": "SELECT id FROM t"}, "id bigint", properties={"comment": "c"}
    )
    found = lake.reopen().load_view("db.v")
    assert found.metadata == made.metadata
    assert (found.name, found.sql(), found.sql("TRINO")) == ("lake.db.v", "SELECT id FROM t", "SELECT id FROM t")
    assert found.current_version.default_namespace == ("db",)
    assert [field.name for field in found.schema.fields] == ["id"]
    assert dict(found.properties) == {"comment": "c"}
    with pytest.raises(InvalidInput, match="it has: spark, trino"):
        found.sql("duckdb")
    assert cat.list_views("db") == [Identifier(("db",), "v")]
    assert cat.list_tables("db") == []
    cat.drop_view("db.v")
    assert lake.files() == []
    assert not cat.view_exists("db.v")
    with pytest.raises(ViewNotFound, match=r"lake\.db\.v"):
        found.refresh()
    with pytest.raises(ViewNotFound, match=r"lake\.db\.v"):
        cat.drop_view("db.v")
    cat.drop_view("db.v", if_exists=True)


def test_a_replaced_view_keeps_its_history_and_its_column_ids(lake: Lake) -> None:
    if not views(lake):
        return
    view = lake.catalog.create_view("db.v", "SELECT 1 AS a", "a int")
    other = lake.reopen().load_view("db.v")
    view.replace(ViewDefinition(sql="SELECT 1 AS a, 2 AS b", schema=schema_from_ddl("a int, b int")))
    assert len(view.versions) == 2
    assert [field.field_id for field in view.schema.fields] == [1, 2]
    other.replace(ViewDefinition(sql="SELECT 3 AS c", schema=schema_from_ddl("c int")))  # begins at the old version
    assert [one.representations[0].sql for one in other.versions] == [
        "SELECT 1 AS a",
        "SELECT 1 AS a, 2 AS b",
        "SELECT 3 AS c",
    ]
    again = lake.catalog.create_view("db.v", "SELECT 4 AS c", "c int", replace=True, properties={"k": "v"})
    assert (again.metadata.view_uuid, again.sql(), again.properties["k"]) == (
        view.metadata.view_uuid,
        "SELECT 4 AS c",
        "v",
    )
    again.update_properties(set={"k": "w", "x": "y"}, remove=["x2"])
    again.update_properties(remove=["x"])
    assert dict(lake.catalog.load_view("db.v").properties) == {"k": "w"}
    with pytest.raises(InvalidInput, match="no query for spark"):
        again.replace(ViewDefinition(sql={"trino": "SELECT 1"}, schema=schema_from_ddl("a int")))


def test_views_and_tables_share_their_names(lake: Lake) -> None:
    if not views(lake):
        return
    cat = lake.catalog
    cat.create_table("db.t", "id int")
    cat.create_view("db.v", "SELECT 1 AS a", "a int")
    before = lake.files()
    with pytest.raises(TableAlreadyExists):
        cat.create_view("db.t", "SELECT 1", "a int")
    with pytest.raises(TableAlreadyExists):
        cat.create_view("db.t", "SELECT 1", "a int", replace=True)
    with pytest.raises(ViewAlreadyExists):
        cat.create_view("db.v", "SELECT 1", "a int")
    assert cat.create_view("db.v", "SELECT 2", "a int", if_not_exists=True).sql() == "SELECT 1 AS a"
    for create in (cat.create_table, cat.create_or_replace_table):
        with pytest.raises(ViewAlreadyExists):
            create("db.v", "id int")
    with pytest.raises(ViewAlreadyExists):
        cat.create_table("db.v", "id int", if_not_exists=True)
    with pytest.raises(ViewAlreadyExists):
        cat.rename_table("db.t", "db.v")
    with pytest.raises(TableAlreadyExists):
        cat.rename_view("db.v", "db.t")
    with pytest.raises(ViewNotFound):
        cat.load_view("db.t")
    assert lake.files() == before or not lake.is_tidy


def test_two_columns_of_a_view_do_not_have_one_name(lake: Lake) -> None:
    if not views(lake):
        return
    cat = lake.catalog
    one = NestedField(1, "a", IntegerType(), False)
    twice = Schema(one, replace(one, field_id=2))
    within = Schema(NestedField(3, "s", StructType(twice.fields), False))
    for schema in (twice, within):
        with pytest.raises(ColumnAlreadyExists, match="'a'"):
            cat.create_view("db.v", "SELECT 1", schema)
    assert not cat.view_exists("db.v")
    view = cat.create_view("db.v", "SELECT 1 AS a", "a int")
    with pytest.raises(ColumnAlreadyExists, match="'a'"):
        view.replace(ViewDefinition(sql="SELECT 1", schema=twice))
    assert cat.load_view("db.v").sql() == "SELECT 1 AS a"


def test_a_view_is_renamed(lake: Lake) -> None:
    if not views(lake):
        return
    cat = lake.catalog
    view = cat.create_view("db.v", "SELECT 1 AS a", "a int")
    cat.rename_view("db.v", "db.`w.x`")
    assert cat.load_view(("db", "w.x")).metadata == view.metadata
    with pytest.raises(ViewNotFound):
        cat.rename_view("db.v", "db.u")
    with pytest.raises(NamespaceNotFound):
        cat.rename_view(("db", "w.x"), "nope.u")
    with pytest.raises(InvalidInput, match="not empty"):
        cat.drop_namespace("db")


def test_a_view_that_took_the_name_of_another_is_not_taken_for_it(lake: Lake) -> None:
    if not views(lake):
        return
    view = lake.catalog.create_view("db.v", "SELECT 1 AS a", "a int")
    lake.catalog.drop_view("db.v")
    lake.catalog.create_view("db.v", "SELECT 2 AS a", "a int")
    with pytest.raises(ViewNotFound, match="another one now"):
        view.replace(ViewDefinition(sql="SELECT 3 AS a", schema=schema_from_ddl("a int")))


def test_a_view_needs_a_query_and_a_namespace(lake: Lake) -> None:
    if not views(lake):
        return
    with pytest.raises(InvalidInput, match="needs a query"):
        lake.catalog.create_view("db.v", {}, "a int")
    with pytest.raises(NamespaceNotFound):
        lake.catalog.create_view("nope.v", "SELECT 1", "a int")
    assert lake.files() == []
