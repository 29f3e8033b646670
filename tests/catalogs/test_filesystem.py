"""The filesystem catalog: publishing versions, freed names, what is left after a drop, and the files of the Java catalog."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import floeberg as fb
from floeberg.api.catalog import Catalog
from floeberg.catalogs.factory import open_catalog
from floeberg.catalogs.versions import HINT, HINT_CHECKSUM
from floeberg.commit.table_changes import ChangeLocation
from floeberg.effects.protocols import Capabilities
from floeberg.effects.system import system_effects
from floeberg.errors import (
    CommitConflict,
    CommitUnknown,
    StorageError,
    TableAlreadyExists,
    TableNotFound,
    Unavailable,
    UnsupportedFeature,
)
from floeberg.spec.metadata.table_metadata_json import write_table_metadata
from floeberg.storage.memory import MemoryStore
from floeberg.storage.registry import FixedStores
from lakes.table_data import append_rows

WAREHOUSE = "memory://w/warehouse"
FOLDER = f"{WAREHOUSE}/db/t/metadata"


class ScriptedStore:
    """A store with an action before or after chosen calls."""

    def __init__(self) -> None:
        self.inner = MemoryStore(system_effects().clock)
        self.before: Callable[[str, str], None] = lambda call, location: None
        self.after: Callable[[str, str], None] = lambda call, location: None

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.inner, name)
        if not callable(attribute):
            return attribute

        def call(location: str, *args: Any, **more: Any) -> Any:
            self.before(name, location)
            result = attribute(location, *args, **more)
            self.after(name, location)
            return result

        return call


@pytest.fixture
def store() -> ScriptedStore:
    return ScriptedStore()


@pytest.fixture
def cat(store: ScriptedStore) -> Catalog:
    catalog = open_it(store)
    catalog.create_namespace("db")
    return catalog


def open_it(store: Any) -> Catalog:
    return Catalog(open_catalog("lake", warehouse=WAREHOUSE, effects=system_effects(), stores=FixedStores(store)))


def once(call: str, ending: str, action: Callable[[], object]) -> Callable[[str, str], None]:
    """Acts at the first such call, and lets the calls of the action itself through."""
    state = {"done": False}

    def hook(name: str, location: str) -> None:
        if not state["done"] and name == call and location.endswith(ending):
            state["done"] = True
            action()

    return hook


def set_property(table: fb.Table, key: str, value: str = "1") -> None:
    with table.update_properties() as update:
        update.set({key: value})


def names(store: ScriptedStore) -> list[str]:
    return sorted(info.location.removeprefix(f"{FOLDER}/") for info in store.inner.list(FOLDER))


def test_versions_count_from_one_and_the_hint_follows(cat: Catalog, store: ScriptedStore) -> None:
    table = cat.create_table("db.t", "id int")
    assert names(store) == ["v1.metadata.json", HINT]
    set_property(table, "a")
    assert names(store) == ["v1.metadata.json", "v2.metadata.json", HINT]
    assert store.read(f"{FOLDER}/{HINT}") == b"2"
    assert store.read(f"{FOLDER}/v2.metadata.json") == write_table_metadata(table.metadata)


def test_a_store_that_cannot_create_if_absent_is_refused(store: ScriptedStore) -> None:
    class Weak(MemoryStore):
        capabilities = Capabilities(create_if_absent=False, atomic_rename=False, list_consistent=True)

    with pytest.raises(UnsupportedFeature, match="use a SQL catalog"):
        open_it(Weak(system_effects().clock))


def test_writers_on_one_base_want_one_name_whatever_codec_they_set(cat: Catalog, store: ScriptedStore) -> None:
    table = cat.create_table("db.t", "id int")
    other = open_it(store).load_table("db.t")
    codec = {"write.metadata.compression-codec": "gzip"}

    def between() -> None:
        set_property(other, "other")

    store.before = once("create", "v2.metadata.json", between)
    with table.update_properties() as update:
        update.set(codec)
    assert dict(table.properties) == {**codec, "other": "1"}
    assert names(store) == ["v1.metadata.json", "v2.metadata.json", "v3.metadata.json", HINT]
    set_property(table, "next")
    assert str(table.metadata_location).endswith("v4.gz.metadata.json")


def test_another_writers_file_of_the_same_version_and_another_codec_is_a_conflict(
    cat: Catalog, store: ScriptedStore
) -> None:
    table = cat.create_table("db.t", "id int")
    store.inner.write(f"{FOLDER}/v2.gz.metadata.json", write_table_metadata(table.metadata))
    set_property(table, "a")
    assert str(table.metadata_location).endswith("v3.metadata.json")
    assert "v2.metadata.json" not in names(store)


def test_a_version_that_was_freed_by_clean_up_and_created_late_is_rejected(cat: Catalog, store: ScriptedStore) -> None:
    clean = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    late = cat.create_table("db.t", "id int", properties=clean)
    other = open_it(store).load_table("db.t")

    def meanwhile() -> None:
        for number in range(5):
            set_property(other, f"n{number}")

    store.before = once("create", "/v2.metadata.json", meanwhile)
    set_property(late, "late")
    assert late.properties["late"] == "1"
    assert {f"n{number}" for number in range(5)} <= set(late.properties), "the late writer hid the others' commits"
    assert names(store) == ["v6.metadata.json", "v7.metadata.json", HINT]


@pytest.mark.parametrize("hint", [b"2", b"1", b"garbage", None])
def test_a_freed_version_is_rejected_though_the_hint_points_at_it(
    cat: Catalog, store: ScriptedStore, hint: bytes | None
) -> None:
    clean = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    late = cat.create_table("db.t", "id int", properties=clean)
    other = open_it(store).load_table("db.t")

    def meanwhile() -> None:
        for number in range(5):
            set_property(other, f"n{number}")
        store.inner.delete(f"{FOLDER}/{HINT}")
        if hint is not None:
            store.inner.write(f"{FOLDER}/{HINT}", hint)

    store.before = once("create", "/v2.metadata.json", meanwhile)
    set_property(late, "late")
    assert {*(f"n{number}" for number in range(5)), "late"} <= set(late.properties)


def test_creators_that_differ_in_the_codec_want_one_name(cat: Catalog, store: ScriptedStore) -> None:
    gzip = {"write.metadata.compression-codec": "gzip"}
    other = open_it(store)
    store.before = once("create", "metadata.json", lambda: other.create_table("db.t", "id int", properties=gzip))
    with pytest.raises(TableAlreadyExists):
        cat.create_table("db.t", "id int")
    assert names(store) == ["v1.metadata.json", HINT]
    assert cat.load_table("db.t").properties == gzip


@pytest.mark.parametrize("hint", [None, b"1", b"5"])
def test_a_late_create_does_not_become_the_first_version_of_an_old_table(
    cat: Catalog, store: ScriptedStore, hint: bytes | None
) -> None:
    clean = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    other = open_it(store)

    def meanwhile() -> None:
        table = other.create_table("db.t", "id int", properties=clean)
        for number in range(4):
            set_property(table, f"n{number}")
        store.inner.delete(f"{FOLDER}/{HINT}")
        if hint is not None:
            store.inner.write(f"{FOLDER}/{HINT}", hint)

    store.before = once("create", "/v1.metadata.json", meanwhile)
    with pytest.raises(TableAlreadyExists):
        cat.create_table("db.t", "other string")
    assert [name for name in names(store) if name != HINT] == ["v4.metadata.json", "v5.metadata.json"]
    assert "n3" in cat.load_table("db.t").properties


def test_a_late_commit_does_not_land_in_the_table_that_took_the_name(cat: Catalog, store: ScriptedStore) -> None:
    late = cat.create_table("db.t", "id int")
    other = open_it(store)

    def meanwhile() -> None:
        other.drop_table("db.t")
        other.create_table("db.t", "id int")

    store.before = once("create", "/v2.metadata.json", meanwhile)
    with pytest.raises(TableNotFound, match="another one now"):
        set_property(late, "late")
    assert "late" not in other.load_table("db.t").properties
    assert str(other.load_table("db.t").metadata_location).endswith("/v1.metadata.json")


def test_a_late_commit_does_not_bring_a_dropped_table_back(cat: Catalog, store: ScriptedStore) -> None:
    late = cat.create_table("db.t", "id int")
    store.before = once("create", "/v2.metadata.json", lambda: open_it(store).drop_table("db.t"))
    with pytest.raises(TableNotFound):
        set_property(late, "late")
    assert cat.list_tables("db") == []


def test_a_commit_that_others_built_on_before_it_was_checked_counts_once(cat: Catalog, store: ScriptedStore) -> None:
    clean = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    table = cat.create_table("db.t", "id int", properties=clean)
    other = open_it(store)

    def meanwhile() -> None:
        set_property(other.load_table("db.t"), "other")

    store.after = once("create", "/v2.metadata.json", meanwhile)
    append_rows(table, [{"id": 1}])
    table.refresh()
    assert len(table.snapshots) == 1
    assert table.properties["other"] == "1"
    assert [name for name in names(store) if name.startswith("v")] == ["v2.metadata.json", "v3.metadata.json", HINT]


def test_an_outcome_that_cannot_be_seen_is_unknown_and_nothing_is_cleaned_up(
    cat: Catalog, store: ScriptedStore
) -> None:
    table = cat.create_table("db.t", "id int", properties={"commit.status-check.num-retries": "0"})

    def fail() -> None:
        def refuse(call: str, location: str) -> None:
            raise Unavailable("no answer")

        store.before = refuse

    store.after = once("create", "/v2.metadata.json", fail)
    with pytest.raises(CommitUnknown):
        append_rows(table, [{"id": 1}])
    store.before = lambda call, location: None
    table.refresh()
    assert table.current_snapshot is not None
    assert store.exists(str(table.current_snapshot.manifest_list))


@pytest.mark.parametrize("took_effect", [True, False])
def test_an_error_that_does_not_say_what_happened_is_settled_by_looking(
    cat: Catalog, store: ScriptedStore, took_effect: bool
) -> None:
    table = cat.create_table("db.t", "id int", properties={"commit.status-check.num-retries": "0"})

    def fail() -> None:
        raise StorageError("connection reset")

    hook = once("create", "/v2.metadata.json", fail)
    if took_effect:
        store.after = hook
        set_property(table, "a")
        assert open_it(store).load_table("db.t").properties == {"a": "1", "commit.status-check.num-retries": "0"}
    else:
        store.before = hook
        with pytest.raises(CommitUnknown, match="may or may not appear"):
            set_property(table, "a")


def test_a_dropped_table_leaves_its_data_and_a_copy_of_its_metadata(tmp_path: Path) -> None:
    with fb.catalog("lake", warehouse=str(tmp_path)) as cat:
        cat.create_namespace("db")
        table = cat.create_table("db.t", "id int")
        append_rows(table, [{"id": 7}])
        cat.drop_table("db.t")
        assert cat.list_tables("db") == cat.list_namespaces("db") == []
        (copy,) = (tmp_path / "db/t/metadata").glob("dropped-*")
        assert fb.open_table(str(copy)).scan().to_arrow().to_pylist() == [{"id": 7}]
        with fb.catalog("other", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path)) as sql:
            sql.create_namespace("db")
            assert sql.register_table("db.t", str(copy)).scan().to_arrow().to_pylist() == [{"id": 7}]
        again = cat.create_table("db.t", "id int")
        assert again.current_snapshot is None
        cat.drop_table("db.t")
        cat.drop_namespace("db")
        assert cat.list_namespaces() == []
        assert copy.exists()


def test_folders_that_the_java_catalog_made_are_namespaces_and_others_are_not(tmp_path: Path) -> None:
    for folder in ("java_empty", "java/inner", "loose", "staged/t/data", ".hidden"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "loose/readme.txt").write_text("x")
    (tmp_path / "staged/t/data/1.parquet").write_text("x")
    (tmp_path / ".hidden/config").write_text("x")
    cat = fb.catalog("lake", warehouse=str(tmp_path))
    cat.create_namespace("ours")
    cat.create_table("ours.t", "id int")
    (tmp_path / "ours/.namespace").unlink()
    assert cat.list_namespaces() == [("java",), ("java_empty",), ("ours",)]
    assert cat.list_namespaces("java") == [("java", "inner")]
    cat.create_table("java_empty.t", "id int")
    assert cat.list_namespaces() == [("java",), ("java_empty",), ("ours",)]
    cat.drop_table("java_empty.t")
    assert ("java_empty",) in cat.list_namespaces()
    cat.create_table("java.inner.t", "id int")
    cat.drop_table("java.inner.t", purge=True)
    cat.drop_namespace("java.inner")
    assert not (tmp_path / "java/inner").exists()


def test_a_stale_checksum_of_a_hadoop_client_is_removed(tmp_path: Path) -> None:
    cat = fb.catalog("lake", warehouse=str(tmp_path))
    cat.create_namespace("db")
    table = cat.create_table("db.t", "id int")
    checksum = tmp_path / "db/t/metadata" / HINT_CHECKSUM
    checksum.write_bytes(b"crc\0stale")
    set_property(table, "a")
    assert not checksum.exists()
    checksum.write_bytes(b"crc\0stale")
    cat.drop_table("db.t")
    assert not checksum.exists()


def test_a_location_cannot_change_where_the_folder_is_the_name(cat: Catalog) -> None:
    table = cat.create_table("db.t", "id int")
    with pytest.raises(UnsupportedFeature, match="location cannot change"):
        table._commit(ChangeLocation(location="memory://w/else/where"))
    with pytest.raises(UnsupportedFeature, match=r"write\.metadata\.path"):
        set_property(table, "write.metadata.path", "memory://w/else")
    assert table.refresh().location == f"{WAREHOUSE}/db/t"


def test_clean_up_deletes_only_metadata_files_inside_the_table(cat: Catalog, store: ScriptedStore) -> None:
    clean = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    table = cat.create_table("db.t", "id int", properties=clean)
    outside = "memory://w/other/metadata/v1.metadata.json"
    inside = f"{WAREHOUSE}/db/t/data/precious.parquet"
    for location in (outside, inside):
        store.inner.write(location, b"x")
    document = write_table_metadata(table.metadata).decode()
    hostile = f'"metadata-log":[{{"timestamp-ms":1,"metadata-file":"{outside}"}},{{"timestamp-ms":2,"metadata-file":"{inside}"}}]'
    assert '"metadata-log":[]' in document
    store.inner.replace(f"{FOLDER}/v1.metadata.json", document.replace('"metadata-log":[]', hostile).encode())
    set_property(cat.load_table("db.t"), "a")
    assert store.exists(outside)
    assert store.exists(inside)


def test_a_head_that_is_always_gone_ends_in_an_error_and_not_in_a_loop(cat: Catalog, store: ScriptedStore) -> None:
    from floeberg.errors import FileNotFound

    table = cat.create_table("db.t", "id int")

    def refuse(call: str, location: str) -> None:
        if call == "read" and location.endswith("v1.metadata.json"):
            raise FileNotFound("gone")

    store.before = refuse
    with pytest.raises(Unavailable, match="try again"):
        table.refresh()


def test_a_conflict_at_every_try_is_reported(cat: Catalog, store: ScriptedStore) -> None:
    table = cat.create_table(
        "db.t", "id int", properties={"commit.retry.num-retries": "2", "commit.retry.min-wait-ms": "1"}
    )
    other = open_it(store).load_table("db.t")
    busy = {"now": False}

    def always(call: str, location: str) -> None:
        if call == "create" and not busy["now"]:
            busy["now"] = True
            set_property(other, "n", location)
            busy["now"] = False

    store.before = always
    with pytest.raises(CommitConflict, match="gave up after 3 attempts"):
        set_property(table, "a")
