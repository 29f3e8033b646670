"""Tables: the contract of every catalog, by what it declares."""

from __future__ import annotations

import pytest

from floeberg.catalogs.identifiers import Identifier
from floeberg.commit.append import Append
from floeberg.errors import (
    FileNotFound,
    InvalidInput,
    MetadataCorrupt,
    NamespaceNotFound,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
)
from lakes.catalogs_lake import Lake
from lakes.table_data import append_rows, write_rows

ODD_NAMES = [
    "with space",
    "a.b",
    "100%",
    "x'y\"z",
    "ümläut-日本-🧊",
    "back\\slash",
    "se;mi",
    "-- drop",
    "`tick`",
    "data",
    "metadata",
]
NO_FOLDERS = ["a/b", "..", ".", "tab\there", "n" * 250 + "/", "日" * 100]


def test_a_table_is_created_loaded_listed_and_dropped(lake: Lake) -> None:
    cat = lake.catalog
    table = cat.create_table(
        "db.t", "id bigint NOT NULL, ts timestamp", partition_by=["day(ts)"], sort_by=["id desc"],
        properties={"a": "b"}, format_version=3,
    )  # fmt: skip
    assert table.name == "lake.db.t"
    assert table.identifier == Identifier(("db",), "t")
    again = lake.reopen().load_table(("db", "t"))
    assert again.metadata == table.metadata
    assert again.metadata_location == table.metadata_location
    assert (again.format_version, again.properties) == (3, {"a": "b", **lake.server_properties})
    assert [str(field.transform) for field in again.spec.fields] == ["day"]
    assert again.sort_order.is_sorted
    assert cat.list_tables("db") == [Identifier(("db",), "t")]
    assert cat.table_exists("db.t")
    cat.drop_table("db.t")
    assert not cat.table_exists("db.t")
    assert cat.list_tables("db") == []
    with pytest.raises(TableNotFound, match=r"lake\.db\.t"):
        cat.load_table("db.t")
    with pytest.raises(TableNotFound, match=r"lake\.db\.t"):
        again.refresh()


def test_a_table_is_created_once(lake: Lake) -> None:
    first = lake.catalog.create_table("db.t", "id int")
    before = lake.files()
    with pytest.raises(TableAlreadyExists, match=r"lake\.db\.t"):
        lake.catalog.create_table("db.t", "other string")
    assert lake.catalog.create_table("db.t", "other string", if_not_exists=True).metadata == first.metadata
    assert lake.files() == before


def test_what_is_not_there_is_said_by_name(lake: Lake) -> None:
    cat = lake.catalog
    for purge in (False, True):
        with pytest.raises(TableNotFound, match=r"lake\.db\.nope"):
            cat.drop_table("db.nope", purge=purge)
        cat.drop_table("db.nope", purge=purge, if_exists=True)
    assert not cat.table_exists("db.nope")
    assert not cat.table_exists("nope.nope")
    with pytest.raises(InvalidInput, match="names no namespace"):
        cat.load_table("t")


def test_changes_are_seen_by_others_after_a_refresh(lake: Lake) -> None:
    mine = lake.catalog.create_table("db.t", "id int")
    theirs = lake.reopen().load_table("db.t")
    append_rows(mine, [{"id": 1}, {"id": 2}])
    with mine.update_schema() as update:
        update.add_column("s", "string")
    assert theirs.current_snapshot is None
    theirs.refresh()
    assert theirs.metadata == mine.metadata
    assert [entry.metadata_file for entry in theirs.metadata.metadata_log][-1] != theirs.metadata_location
    assert len(theirs.metadata.metadata_log) == 2


def test_a_commit_on_an_old_state_is_replayed_on_the_new_one(lake: Lake) -> None:
    mine = lake.catalog.create_table("db.t", "id int")
    theirs = lake.reopen().load_table("db.t")
    with theirs.update_properties() as update:
        update.set({"theirs": "1"})
    with mine.update_properties() as update:
        update.set({"mine": "1"})
    assert dict(mine.properties) == {"theirs": "1", "mine": "1", **lake.server_properties}


def test_a_table_that_took_the_name_of_another_is_not_taken_for_it(lake: Lake) -> None:
    mine = lake.catalog.create_table("db.t", "id int")
    other = lake.reopen()
    other.drop_table("db.t")
    new = other.create_table("db.t", "id int")
    with pytest.raises(TableNotFound, match="another one now"):
        mine.refresh()
    with pytest.raises(TableNotFound, match="another one now"), mine.update_properties() as update:
        update.set({"lost": "yes"})
    assert "lost" not in new.refresh().properties


def test_dropping_leaves_the_data_files_and_purging_does_not(lake: Lake) -> None:
    table = lake.catalog.create_table("db.kept", "id int")
    append_rows(table, [{"id": 1}])
    data = [file for file in lake.files() if file.endswith(".parquet")]
    lake.catalog.drop_table("db.kept")
    assert [file for file in lake.files() if file.endswith(".parquet")] == data != []

    purged = lake.catalog.create_table("db.purged", "id int, p int", partition_by=["p"])
    append_rows(purged, [{"id": 1, "p": 1}, {"id": 1, "p": 2}])
    append_rows(purged, [{"id": 2, "p": 1}])
    lake.catalog.drop_table("db.purged", purge=True)
    assert lake.files(purged.location) == []
    assert not lake.catalog.table_exists("db.purged")
    assert lake.catalog.list_namespaces("db") == []


def test_a_purge_leaves_what_lies_outside_and_asks_gc_enabled(lake: Lake) -> None:
    table = lake.catalog.create_table("db.t", "id int", properties={"gc.enabled": "false"})
    append_rows(table, [{"id": 1}])
    before = lake.files()
    with pytest.raises(InvalidInput, match=r"gc\.enabled"):
        lake.catalog.drop_table("db.t", purge=True)
    assert lake.files() == before
    assert lake.catalog.table_exists("db.t")
    with table.update_properties() as update:
        update.set({"gc.enabled": "true", "write.data.path": f"{lake.warehouse}/shared"})
    outside = f"{lake.warehouse}/shared2/x.parquet"
    lake.store.write(outside, b"another table's")
    lake.catalog.drop_table("db.t", purge=True)
    assert lake.files() == [outside]


def test_a_purge_leaves_files_that_another_table_owns(lake: Lake) -> None:
    owner = lake.catalog.create_table("db.owner", "id int")
    append_rows(owner, [{"id": 1}])
    borrower = lake.catalog.create_table("db.borrower", "id int")
    shared = write_rows(owner, [{"id": 2}])
    owner._commit(Append(files=shared))
    borrower._commit(Append(files=shared))
    lake.catalog.drop_table("db.borrower", purge=True)
    assert lake.store.exists(shared[0].file_path)
    assert lake.files(borrower.location) == []
    assert owner.refresh().scan().to_arrow().num_rows == 2


def test_names_of_every_kind_are_kept_apart(lake: Lake) -> None:
    cat = lake.catalog
    made = {name: cat.create_table(("db", name), "id int") for name in ODD_NAMES}
    assert {one.name for one in cat.list_tables("db")} == set(ODD_NAMES)
    for name, table in made.items():
        with table.update_properties() as update:
            update.set({"name": name})
    for name, table in made.items():
        assert lake.reopen().load_table(("db", name)).properties["name"] == name
        assert cat.load_table(str(Identifier(("db",), name))).metadata == table.metadata
    assert cat.list_namespaces("db") == []
    assert len({table.location for table in made.values()}) == len(ODD_NAMES)


def test_names_that_no_folder_can_have_are_refused_or_given_another_folder(lake: Lake) -> None:
    cat = lake.catalog
    for name in NO_FOLDERS:
        if not lake.can.any_name:
            with pytest.raises(UnsupportedFeature, match="no single path segment"):
                cat.create_table(("db", name), "id int")
            with pytest.raises(UnsupportedFeature, match="no single path segment"):
                cat.create_namespace(("db", name))
        else:
            table = cat.create_table(("db", name), "id int")
            assert table.location.startswith(f"{lake.warehouse}/db/")
            assert "/../" not in table.metadata_location
            assert cat.load_table(("db", name)).metadata == table.metadata
    if not lake.can.any_name:
        assert lake.files() == []


@pytest.mark.parametrize("name", ["", "db.", ".t", "db..t", "db.`t", ("db", ""), ("db", "nul\0"), ("db", "\ud800"), ()])
def test_what_is_no_name_is_refused(name: object) -> None:
    from floeberg.catalogs.identifiers import to_identifier

    with pytest.raises(InvalidInput):
        to_identifier(name)  # type: ignore[arg-type]


def test_a_table_is_renamed_with_all_it_has_or_not_at_all(lake: Lake) -> None:
    cat = lake.catalog
    table = cat.create_table("db.t", "id int")
    append_rows(table, [{"id": 1}])
    cat.create_namespace("other")
    if not lake.can.rename:
        with pytest.raises(UnsupportedFeature, match="rename"):
            cat.rename_table("db.t", "other.u")
        assert cat.list_tables("other") == []
        return
    cat.create_table("db.there", "id int")
    with pytest.raises(TableAlreadyExists):
        cat.rename_table("db.t", "db.there")
    with pytest.raises(NamespaceNotFound):
        cat.rename_table("db.t", "nope.u")
    with pytest.raises(TableNotFound):
        cat.rename_table("db.nope", "db.u")
    cat.rename_table("db.t", "db.t")
    cat.rename_table("db.t", "other.u")
    assert lake.reopen().load_table("other.u").metadata == table.metadata
    assert not cat.table_exists("db.t")
    with pytest.raises(TableNotFound), table.update_properties() as update:
        update.set({"a": "b"})


def test_a_folder_in_use_is_not_given_to_a_second_table(pointed: Lake) -> None:
    cat = pointed.catalog
    first = cat.create_table("db.t", "id int")
    append_rows(first, [{"id": 1}])
    cat.rename_table("db.t", "db.u")
    second = cat.create_table("db.t", "id int")
    assert second.location.startswith(f"{first.location}-")
    cat.drop_table("db.t", purge=True)
    assert cat.load_table("db.u").current_snapshot is not None
    assert [file for file in pointed.files() if file.endswith(".parquet")] != []


def test_a_table_is_registered_by_its_metadata_file(lake: Lake) -> None:
    cat = lake.catalog
    table = cat.create_table("db.t", "id int")
    append_rows(table, [{"id": 1}])
    where = table.metadata_location
    assert where is not None
    if not lake.can.register:
        with pytest.raises(UnsupportedFeature, match="register"):
            cat.register_table("db.u", where)
        return
    with pytest.raises(TableAlreadyExists):
        cat.register_table("db.t", where)
    with pytest.raises(FileNotFound):
        cat.register_table("db.u", f"{where}.gone.metadata.json")
    cat.drop_table("db.t")
    assert cat.register_table("db.u", where).metadata == table.metadata
    append_rows(cat.load_table("db.u"), [{"id": 2}])
    assert len(lake.reopen().load_table("db.u").snapshots) == 2


def test_a_location_of_its_own_is_kept_or_refused_before_anything_is_made(lake: Lake) -> None:
    where = f"{lake.warehouse}/some/where else"
    if not lake.can.custom_location:
        with pytest.raises(UnsupportedFeature, match="leave its location out"):
            lake.catalog.create_table("db.t", "id int", location=where)
        with pytest.raises(UnsupportedFeature, match=r"write\.metadata\.path"):
            lake.catalog.create_table("db.t", "id int", properties={"write.metadata.path": where})
        assert lake.files() == []
        return
    table = lake.catalog.create_table("db.t", "id int", location=f"{where}/")
    append_rows(table, [{"id": 1}])
    assert table.location == where
    assert all(file.startswith(f"{where}/") for file in lake.files())
    other = lake.catalog.create_table("db.m", "id int", properties={"write.metadata.path": f"{where}/meta"})
    assert str(other.metadata_location).startswith(f"{where}/meta/")


def test_a_table_whose_metadata_is_broken_can_be_dropped(lake: Lake) -> None:
    table = lake.catalog.create_table("db.t", "id int")
    lake.store.replace(str(table.metadata_location), b'{"format-version": 2')
    with pytest.raises(MetadataCorrupt):
        lake.catalog.load_table("db.t")
    with pytest.raises(MetadataCorrupt):
        lake.catalog.drop_table("db.t", purge=True)
    lake.catalog.drop_table("db.t")
    assert not lake.catalog.table_exists("db.t")


def test_metadata_files_are_compressed_and_cleaned_up_as_the_table_asks(lake: Lake) -> None:
    table = lake.catalog.create_table("db.t", "id int", properties={"write.metadata.compression-codec": "gzip"})
    for number in range(6):
        with table.update_properties() as update:
            update.set({"n": str(number)})
    assert str(table.metadata_location).endswith(".gz.metadata.json")
    with table.update_properties() as update:
        update.set({"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "2"})
    with table.update_properties() as update:
        update.set({"n": "last"})
    assert len(table.metadata.metadata_log) == 2
    kept = {str(table.metadata_location), *(entry.metadata_file for entry in table.metadata.metadata_log)}
    assert lake.reopen().load_table("db.t").metadata == table.metadata
    assert kept <= set(lake.files())


def test_defaults_and_overrides_of_the_catalog_go_into_new_tables(lake: Lake) -> None:
    from floeberg.api.catalog import Catalog

    cat = Catalog(
        lake.catalog._backend,
        table_defaults={"a": "default", "b": "default", "format-version": "3"},
        table_overrides={"c": "override"},
        default_namespace="db",
    )
    table = cat.create_table("t", "id int", properties={"b": "mine", "c": "mine"})
    wanted = {"a": "default", "b": "mine", "c": "override", **lake.server_properties}
    assert (dict(table.properties), table.format_version) == (wanted, 3)
    assert cat.load_table("t").name == "lake.db.t"
    with pytest.raises(InvalidInput, match="format version 2 is asked for, and 3"):
        cat.create_table("u", "id int", format_version=2)
