"""What each server does otherwise than our own catalogs: the cell of the contract, and the server's own answer in its place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from catalogs.test_tables import NO_FOLDERS, ODD_NAMES
from floeberg.commit.append import Append
from floeberg.errors import AlreadyExists, BadRequest, CommitUnknown, InvalidInput, NamespaceNotFound
from lakes.catalogs_lake import Lake
from lakes.table_data import append_rows, write_rows

Cell = Callable[[Lake], None]


def a_purge_deletes_every_file_that_the_table_refers_to(lake: Lake) -> None:
    """The server does not ask whose folder a file lies in."""
    owner = lake.catalog.create_table("db.owner", "id int")
    borrower = lake.catalog.create_table("db.borrower", "id int")
    shared = write_rows(owner, [{"id": 2}])
    borrower.commit(Append(files=shared))
    lake.catalog.drop_table("db.borrower", purge=True)
    assert not lake.store.exists(shared[0].file_path)
    assert not lake.catalog.table_exists("db.borrower")


def a_broken_table_is_dropped_without_being_loaded(lake: Lake) -> None:
    """Loading one makes the server read the file again and again, for minutes."""
    table = lake.catalog.create_table("db.t", "id int")
    lake.store.replace(str(table.metadata_location), b'{"format-version": 2')
    lake.catalog.drop_table("db.t")
    assert not lake.catalog.table_exists("db.t")


REFUSED_IN_PATHS = "%/\\"
"""Characters whose escapes Jetty takes for an attack on paths."""


def names_but_for_those_that_the_server_refuses_in_paths(lake: Lake) -> None:
    cat = lake.catalog
    for name in (*ODD_NAMES, *NO_FOLDERS):
        if any(character in name for character in (*REFUSED_IN_PATHS, "\t")) or name in (".", ".."):
            with pytest.raises((BadRequest, InvalidInput, AlreadyExists, NamespaceNotFound)):
                cat.load_table(("db", name))
            continue
        if len(name) > 80:
            with pytest.raises(CommitUnknown, match="status 500"):  # no folder can have that name
                cat.create_table(("db", name), "id int")
            continue
        table = cat.create_table(("db", name), "id int")
        append_rows(table, [{"id": 1}])
        assert lake.reopen().load_table(("db", name)).metadata == table.metadata


def outer_namespaces_are_listed_but_not_there(lake: Lake) -> None:
    """An inner namespace makes its outer ones show in listings, and nothing else."""
    cat = lake.catalog
    cat.create_namespace("a.b.c")
    assert cat.list_namespaces() == [("a",), ("db",)]
    assert cat.list_namespaces("a") == [("a", "b")]
    assert cat.list_namespaces(("a", "b")) == [("a", "b", "c")]
    with pytest.raises(NamespaceNotFound, match=r"Namespace does not exist: a\.b"):
        cat.drop_namespace("a.b")


def a_namespace_has_a_location_besides_its_properties(lake: Lake) -> None:
    cat = lake.catalog
    cat.create_namespace("p", {"owner": "me", "x%_": "1"})
    found = cat.namespace_properties("p")
    assert found.pop("location").endswith("/p")
    assert found == {"owner": "me", "x%_": "1"}
    cat.update_namespace_properties("p", set={"owner": "you", "new": "2"}, remove=["x%_", "never there"])
    kept = lake.reopen().namespace_properties("p")
    assert {key: kept[key] for key in kept if key != "location"} == {"owner": "you", "new": "2"}
    with pytest.raises(InvalidInput, match="at once"):
        cat.update_namespace_properties("p", set={"a": "1"}, remove=["a"])
    with pytest.raises(NamespaceNotFound):
        cat.update_namespace_properties("nope", set={"a": "1"})


DIFFERENCES: dict[str, dict[str, Cell]] = {
    "rest-java": {
        "test_a_purge_leaves_files_that_another_table_owns": a_purge_deletes_every_file_that_the_table_refers_to,
        "test_a_table_whose_metadata_is_broken_can_be_dropped": a_broken_table_is_dropped_without_being_loaded,
        "test_names_of_every_kind_are_kept_apart": names_but_for_those_that_the_server_refuses_in_paths,
        "test_names_that_no_folder_can_have_are_refused_or_given_another_folder": (
            names_but_for_those_that_the_server_refuses_in_paths
        ),
        "test_namespaces_nest_and_outer_ones_come_with_inner_ones": outer_namespaces_are_listed_but_not_there,
        "test_properties_are_kept_where_the_catalog_keeps_them": a_namespace_has_a_location_besides_its_properties,
    }
}
