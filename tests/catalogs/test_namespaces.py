"""Namespaces: the contract of every catalog, by what it declares."""

from __future__ import annotations

import pytest

from floeberg.errors import (
    InvalidInput,
    NamespaceAlreadyExists,
    NamespaceNotFound,
    TableAlreadyExists,
    UnsupportedFeature,
)
from lakes.catalogs_lake import Lake


def test_a_namespace_is_there_once_it_is_created_and_gone_once_it_is_dropped(lake: Lake) -> None:
    cat = lake.catalog
    assert cat.list_namespaces() == [("db",)]
    assert cat.namespace_exists("db")
    assert not cat.namespace_exists("other")
    cat.drop_namespace("db")
    assert cat.list_namespaces() == []
    assert not lake.reopen().namespace_exists("db")


def test_a_namespace_is_created_once(lake: Lake) -> None:
    with pytest.raises(NamespaceAlreadyExists, match=r"lake\.db"):
        lake.catalog.create_namespace("db")
    lake.catalog.create_namespace("db", if_not_exists=True)


def test_namespaces_nest_and_outer_ones_come_with_inner_ones(lake: Lake) -> None:
    cat = lake.catalog
    cat.create_namespace("a.b.c")
    assert cat.list_namespaces() == [("a",), ("db",)]
    assert cat.list_namespaces("a") == [("a", "b")]
    assert cat.list_namespaces(("a", "b")) == [("a", "b", "c")]
    assert cat.namespace_exists("a.b")
    with pytest.raises(InvalidInput, match="not empty"):
        cat.drop_namespace("a.b")
    cat.create_table("a.b.t", "id int")
    assert cat.list_namespaces("a.b") == [("a", "b", "c")]


def test_what_is_missing_is_said_by_name(lake: Lake) -> None:
    cat = lake.catalog
    for call in (cat.drop_namespace, cat.list_tables, cat.list_views, cat.list_namespaces, cat.namespace_properties):
        with pytest.raises(NamespaceNotFound, match=r"lake\.nope"):
            call("nope")
    cat.drop_namespace("nope", if_exists=True)
    with pytest.raises(NamespaceNotFound, match=r"lake\.nope"):
        cat.create_table("nope.t", "id int")
    assert lake.files() == []


def test_a_namespace_with_a_table_is_not_dropped(lake: Lake) -> None:
    lake.catalog.create_table("db.t", "id int")
    with pytest.raises(InvalidInput, match="not empty"):
        lake.catalog.drop_namespace("db")
    lake.catalog.drop_table("db.t")
    lake.catalog.drop_namespace("db")
    assert lake.catalog.list_namespaces() == []


def test_properties_are_kept_where_the_catalog_keeps_them(lake: Lake) -> None:
    cat = lake.catalog
    if not lake.can.namespace_properties:
        with pytest.raises(UnsupportedFeature, match="namespace properties"):
            cat.create_namespace("p", {"owner": "me"})
        with pytest.raises(UnsupportedFeature, match="namespace properties"):
            cat.update_namespace_properties("db", set={"owner": "me"})
        assert not cat.namespace_exists("p")
        assert cat.namespace_properties("db")["location"].endswith("/db")
        return
    cat.create_namespace("p", {"owner": "me", "x%_": "1"})
    assert cat.namespace_properties("p") == {"owner": "me", "x%_": "1"}
    cat.update_namespace_properties("p", set={"owner": "you", "new": "2"}, remove=["x%_", "never there"])
    assert lake.reopen().namespace_properties("p") == {"owner": "you", "new": "2"}
    with pytest.raises(InvalidInput, match="at once"):
        cat.update_namespace_properties("p", set={"a": "1"}, remove=["a"])
    with pytest.raises(InvalidInput, match="reserved"):
        cat.update_namespace_properties("p", set={"exists": "no"})
    with pytest.raises(NamespaceNotFound):
        cat.update_namespace_properties("nope", set={"a": "1"})
    cat.update_namespace_properties("p", remove=["owner", "new"])
    assert cat.namespace_properties("p") == {}
    assert cat.namespace_exists("p")


def test_a_namespace_says_where_its_tables_go(pointed: Lake) -> None:
    pointed.catalog.create_namespace("elsewhere", {"location": f"{pointed.warehouse}-2/there"})
    table = pointed.catalog.create_table("elsewhere.t", "id int")
    assert table.location == f"{pointed.warehouse}-2/there/t"


def test_names_that_share_a_beginning_are_apart(lake: Lake) -> None:
    cat = lake.catalog
    for name in ("d", "dbx", "db_", "DB"):
        if name == "DB" and lake.kind == "filesystem-local":
            continue
        cat.create_namespace(name)
        assert cat.list_tables(name) == []
    cat.create_table("dbx.t", "id int")
    assert cat.list_tables("db") == []
    cat.drop_namespace("db")
    assert cat.namespace_exists("dbx")


def test_a_name_is_a_table_or_a_namespace_where_both_are_folders(filesystem: Lake) -> None:
    cat = filesystem.catalog
    cat.create_table("db.t", "id int")
    with pytest.raises(TableAlreadyExists):
        cat.create_namespace("db.t")
    with pytest.raises(TableAlreadyExists):
        cat.create_namespace("db.t.deep")
    assert cat.list_namespaces("db") == []
    assert not cat.namespace_exists("db.t.metadata")
    cat.create_namespace("db.n")
    with pytest.raises(NamespaceAlreadyExists, match="a namespace has that name"):
        cat.create_table("db.n", "id int")
    assert cat.list_namespaces("db") == [("db", "n")]
