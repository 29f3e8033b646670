"""What each server does otherwise than our own catalogs: the cell of the contract, and the server's own answer in its place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from catalogs.test_concurrency import together
from catalogs.test_tables import NO_FOLDERS, ODD_NAMES
from floeberg.api.catalog import Catalog
from floeberg.commit.append import Append
from floeberg.errors import (
    AlreadyExists,
    BadRequest,
    CatalogError,
    CommitUnknown,
    InvalidInput,
    NamespaceNotFound,
    TableAlreadyExists,
    TableNotFound,
)
from lakes.catalogs_lake import Lake
from lakes.table_data import append_rows, write_rows

Cell = Callable[[Lake], None]


def a_purge_deletes_every_file_that_the_table_refers_to(lake: Lake) -> None:
    """The server does not ask whose folder a file lies in."""
    owner = lake.catalog.create_table("db.owner", "id int")
    borrower = lake.catalog.create_table("db.borrower", "id int")
    shared = write_rows(owner, [{"id": 2}])
    borrower._commit(Append(files=shared))
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
    assert found.pop("location").rstrip("/").endswith("/p")
    assert found == {"owner": "me", "x%_": "1"}
    cat.update_namespace_properties("p", set={"owner": "you", "new": "2"}, remove=["x%_", "never there"])
    kept = lake.reopen().namespace_properties("p")
    assert {key: kept[key] for key in kept if key != "location"} == {"owner": "you", "new": "2"}
    with pytest.raises(InvalidInput, match="at once"):
        cat.update_namespace_properties("p", set={"a": "1"}, remove=["a"])
    with pytest.raises(NamespaceNotFound):
        cat.update_namespace_properties("nope", set={"a": "1"})


def commits_are_replayed_and_the_server_adds_properties(lake: Lake) -> None:
    mine = lake.catalog.create_table("db.t", "id int")
    theirs = lake.reopen().load_table("db.t")
    with theirs.update_properties() as update:
        update.set({"theirs": "1"})
    with mine.update_properties() as update:
        update.set({"mine": "1"})
    assert mine.properties.items() >= {"theirs": "1", "mine": "1", "nessie.commit.ref": "main"}.items()


def a_location_is_the_servers_choice(lake: Lake) -> None:
    table = lake.catalog.create_table("db.t", "id int", location=f"{lake.warehouse}/some/where")
    append_rows(table, [{"id": 1}])
    assert table.location.startswith(f"{lake.warehouse}/db/t_")


def a_purge_is_forbidden_by_what_the_server_sets(lake: Lake) -> None:
    table = lake.catalog.create_table("db.t", "id int")
    append_rows(table, [{"id": 1}])
    with pytest.raises(InvalidInput, match=r"gc\.enabled is false"):
        lake.catalog.drop_table("db.t", purge=True)
    assert lake.catalog.table_exists("db.t")
    lake.catalog.drop_table("db.t")
    assert [file for file in lake.files(table.location) if file.endswith(".parquet")] != []


def the_server_takes_another_format_version_and_says_nothing(lake: Lake) -> None:
    with pytest.raises(CatalogError, match="took format version 2 where 3 was asked for"):
        lake.catalog.create_table("db.t", "id int", format_version=3)
    made = lake.catalog.create_table("db.u", "id int", partition_by=["id"], sort_by=["id desc"], properties={"a": "b"})
    again = lake.reopen().load_table("db.u")
    assert (again.properties["a"], again.format_version, again.location) == ("b", 2, made.location)
    lake.catalog.drop_table("db.u")
    with pytest.raises(TableNotFound, match=r"lake\.db\.u"):
        again.refresh()


def metadata_are_not_a_file_but_an_answer(lake: Lake) -> None:
    """So they can be neither registered again, compressed, nor broken, and have no log."""
    table = lake.catalog.create_table("db.t", "id int", properties={"write.metadata.compression-codec": "gzip"})
    append_rows(table, [{"id": 1}])
    where = str(table.metadata_location)
    assert where.startswith("http://")
    with pytest.raises(InvalidInput, match="has the scheme 'http'"):
        lake.catalog.register_table("db.u", where)
    assert len(table.refresh().metadata.metadata_log) == 0
    lake.catalog.drop_table("db.t")
    assert not lake.catalog.table_exists("db.t")


def a_renamed_table_keeps_its_rows(lake: Lake) -> None:
    cat = lake.catalog
    append_rows(cat.create_table("db.t", "id int"), [{"id": 1}])
    cat.create_table("db.there", "id int")
    with pytest.raises(TableAlreadyExists):
        cat.rename_table("db.t", "db.there")
    with pytest.raises(TableNotFound):
        cat.rename_table("db.nope", "db.u")
    cat.rename_table("db.t", "db.u")
    assert lake.reopen().load_table("db.u").scan().to_arrow().num_rows == 1
    assert not cat.table_exists("db.t")


def names_but_for_backticks_and_paths(lake: Lake) -> None:
    cat = lake.catalog
    made = {name: cat.create_table(("db", name), "id int") for name in ODD_NAMES if name != "`tick`"}
    assert {one.name for one in cat.list_tables("db")} == set(made)
    assert len({table.location for table in made.values()}) == len(made)
    for name in (".", ".."):
        with pytest.raises(BadRequest, match="Parent and self-references are not supported"):
            cat.create_table(("db", name), "id int")


def outer_namespaces_must_be_there(lake: Lake) -> None:
    cat = lake.catalog
    with pytest.raises(NamespaceNotFound, match="namespace 'a' must exist"):
        cat.create_namespace("a.b.c")
    for name in ("a", "a.b", "a.b.c"):
        cat.create_namespace(name)
    assert cat.list_namespaces() == [("a",), ("db",)]
    assert cat.list_namespaces(("a", "b")) == [("a", "b", "c")]
    with pytest.raises(InvalidInput, match="not empty"):
        cat.drop_namespace("a.b")


def every_commit_is_there_without_a_log(lake: Lake) -> None:
    retries = {"commit.retry.num-retries": "100", "commit.retry.min-wait-ms": "1"}
    lake.catalog.create_table("db.t", "id int", properties=retries)

    def work(cat: Catalog, number: int) -> None:
        table = cat.load_table("db.t")
        for turn in range(4):
            with table.update_properties() as update:
                update.set({f"w{number}-{turn}": "1"})

    outcomes = together(lake, 3, work)
    assert outcomes == [None] * 3, repr(outcomes)
    found = lake.reopen().load_table("db.t").properties
    assert {f"w{number}-{turn}" for number in range(3) for turn in range(4)} <= set(found)


def changes_are_seen_and_one_snapshot_is_shown(lake: Lake) -> None:
    """Nessie keeps the history of the whole catalog: a table shows its newest snapshot alone."""
    mine = lake.catalog.create_table("db.t", "id int")
    theirs = lake.reopen().load_table("db.t")
    append_rows(mine, [{"id": 1}])
    append_rows(mine, [{"id": 2}])
    assert theirs.current_snapshot is None
    assert theirs.refresh().scan().to_arrow().num_rows == 2
    assert len(theirs.snapshots) == 1


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
    },
    "rest-nessie": {
        "test_a_commit_on_an_old_state_is_replayed_on_the_new_one": commits_are_replayed_and_the_server_adds_properties,
        "test_a_location_of_its_own_is_kept_or_refused_before_anything_is_made": a_location_is_the_servers_choice,
        "test_a_purge_leaves_files_that_another_table_owns": a_purge_is_forbidden_by_what_the_server_sets,
        "test_a_purge_leaves_what_lies_outside_and_asks_gc_enabled": a_purge_is_forbidden_by_what_the_server_sets,
        "test_dropping_leaves_the_data_files_and_purging_does_not": a_purge_is_forbidden_by_what_the_server_sets,
        "test_a_table_is_created_loaded_listed_and_dropped": the_server_takes_another_format_version_and_says_nothing,
        "test_defaults_and_overrides_of_the_catalog_go_into_new_tables": (
            the_server_takes_another_format_version_and_says_nothing
        ),
        "test_a_table_is_registered_by_its_metadata_file": metadata_are_not_a_file_but_an_answer,
        "test_a_table_whose_metadata_is_broken_can_be_dropped": metadata_are_not_a_file_but_an_answer,
        "test_metadata_files_are_compressed_and_cleaned_up_as_the_table_asks": metadata_are_not_a_file_but_an_answer,
        "test_a_table_is_renamed_with_all_it_has_or_not_at_all": a_renamed_table_keeps_its_rows,
        "test_changes_are_seen_by_others_after_a_refresh": changes_are_seen_and_one_snapshot_is_shown,
        "test_names_of_every_kind_are_kept_apart": names_but_for_backticks_and_paths,
        "test_names_that_no_folder_can_have_are_refused_or_given_another_folder": names_but_for_backticks_and_paths,
        "test_namespaces_nest_and_outer_ones_come_with_inner_ones": outer_namespaces_must_be_there,
        "test_properties_are_kept_where_the_catalog_keeps_them": a_namespace_has_a_location_besides_its_properties,
        "test_every_commit_of_many_writers_is_there": every_commit_is_there_without_a_log,
    },
}
