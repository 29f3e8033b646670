"""The SQL catalog: one database for Java, PyIceberg and us; addresses; passwords; lost answers."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import floeberg as fb
from floeberg.api.catalog import Catalog
from floeberg.catalogs.factory import open_catalog
from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.memory import MemoryRows
from floeberg.catalogs.pointed import PointedCatalog, folder_name
from floeberg.catalogs.sql_uri import database_url, shown_url
from floeberg.effects.system import system_effects
from floeberg.errors import (
    CatalogError,
    CommitUnknown,
    FileNotFound,
    FloebergError,
    InvalidInput,
    Throttled,
    Unavailable,
    UnsupportedFeature,
)
from floeberg.storage.registry import StoreRegistry
from golden_collection.golden_files import shared_files
from lakes.table_data import append_rows
from servers.postgres_server import PASSWORD

SENTINEL = "s3ntinel-pw"


def sqlite_catalog(folder: Path, **properties: str) -> Catalog:
    return fb.catalog(
        "lake", type="jdbc", uri=f"sqlite:///{folder}/lake.db", warehouse=str(folder / "w"), properties=properties
    )


def columns(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "lake.db") as connection:
        found = [row[1] for row in connection.execute("PRAGMA table_info(iceberg_tables)")]
    connection.close()
    return found


def test_a_new_database_has_the_tables_of_the_java_catalog(tmp_path: Path) -> None:
    with sqlite_catalog(tmp_path) as cat:
        cat.create_namespace("db.inner", {"k": "v"})
        table = cat.create_table("db.inner.t", "id int")
        first = table.metadata_location
        with table.update_properties() as update:
            update.set({"a": "b"})
    connection = sqlite3.connect(tmp_path / "lake.db")
    assert connection.execute("SELECT * FROM iceberg_tables").fetchall() == [
        ("lake", "db.inner", "t", table.metadata_location, first, "TABLE")
    ]
    assert sorted(connection.execute("SELECT * FROM iceberg_namespace_properties").fetchall()) == [
        ("lake", "db.inner", "exists", "true"),
        ("lake", "db.inner", "k", "v"),
    ]
    connection.close()
    assert str(first).rpartition("/")[2].startswith("00000-")
    assert str(table.metadata_location).rpartition("/")[2].startswith("00001-")


def test_a_v0_database_stays_v0_until_v1_is_asked_for(tmp_path: Path) -> None:
    with sqlite_catalog(tmp_path, **{"jdbc.schema-version": "V0"}) as cat:
        cat.create_namespace("db")
        cat.create_table("db.t", "id int")
        assert "iceberg_type" not in columns(tmp_path)
    with sqlite_catalog(tmp_path) as cat:
        assert cat.list_tables("db") == [Identifier(("db",), "t")]
        assert "iceberg_type" not in columns(tmp_path)
        with pytest.raises(UnsupportedFeature, match=r"jdbc\.schema-version=V1"):
            cat.create_view("db.v", "SELECT 1", "a int")
    with sqlite_catalog(tmp_path, **{"jdbc.schema-version": "v1"}) as cat:
        assert "iceberg_type" in columns(tmp_path)
        assert cat.list_tables("db") == [Identifier(("db",), "t")]
        append_rows(cat.load_table("db.t"), [{"id": 1}])
        cat.create_view("db.v", "SELECT 1 AS a", "a int")
        assert cat.list_tables("db") == [Identifier(("db",), "t")]
        cat.rename_table("db.t", "db.u")
        cat.drop_table("db.u")
    with pytest.raises(InvalidInput, match="V0 or V1"):
        sqlite_catalog(tmp_path, **{"jdbc.schema-version": "V7"})


def test_catalogs_of_other_names_share_a_database_and_see_only_their_own(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/lake.db"
    one = fb.catalog("one", type="sql", uri=uri, warehouse=str(tmp_path / "1"))
    two = fb.catalog("two", type="sql", uri=uri, warehouse=str(tmp_path / "2"))
    one.create_namespace("db", {"who": "one"})
    one.create_table("db.t", "id int")
    assert two.list_namespaces() == []
    two.create_namespace("db")
    assert two.list_tables("db") == []
    assert two.namespace_properties("db") == {}


def test_missing_tables_are_made_unless_the_operator_forbids_it(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="init-catalog-tables is false"):
        sqlite_catalog(tmp_path, **{"jdbc.init-catalog-tables": "false"})
    sqlite_catalog(tmp_path).close()
    sqlite_catalog(tmp_path, **{"jdbc.init-catalog-tables": "false"}).close()


def test_texts_that_other_catalogs_could_not_hold_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    cat = sqlite_catalog(tmp_path)
    cat.create_namespace("db")
    for call in (
        lambda: cat.create_table(("db", "n" * 256), "id int"),
        lambda: cat.create_namespace(("n" * 256,)),
        lambda: cat.create_namespace(("a.b",)),
        lambda: cat.create_table(("a.b", "t"), "id int"),
        lambda: cat.update_namespace_properties("db", set={"k": "v" * 1001}),
        lambda: cat.create_namespace("other", {"k" * 256: "v"}),
    ):
        with pytest.raises((UnsupportedFeature, fb.errors.NamespaceNotFound)):
            call()
    with pytest.raises(InvalidInput, match="NUL"):
        cat.update_namespace_properties("db", set={"k": "a\0b"})
    assert not (tmp_path / "w").exists()
    assert cat.list_namespaces() == [("db",)]


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("sqlite:///x.db", "sqlite:///x.db"),
        ("jdbc:sqlite:/abs/x.db", "sqlite:////abs/x.db"),
        ("jdbc:sqlite:file:/abs/x.db?cache=shared", "sqlite:////abs/x.db"),
        ("jdbc:sqlite::memory:", "sqlite:///%3Amemory%3A"),
        (f"postgresql://u:{SENTINEL}@h:5/d", "postgresql+psycopg://u:***@h:5/d"),
        (f"postgres://u:{SENTINEL}@h/d", "postgresql+psycopg://u:***@h/d"),
        (f"jdbc:postgresql://h:5/d?user=u&password={SENTINEL}", "postgresql+psycopg://u:***@h:5/d"),
        (f"postgresql://h/d?user=u&password={SENTINEL}", "postgresql+psycopg://u:***@h/d"),
        (f"postgresql://h/d?sslpassword={SENTINEL}", "postgresql+psycopg://h/d?sslpassword=***"),
        (
            "jdbc:postgresql://h/d?ssl=true&currentSchema=s",
            "postgresql+psycopg://h/d?options=-csearch_path%3Ds&sslmode=require",
        ),
    ],
)
def test_addresses_are_understood_in_both_forms_and_shown_without_passwords(uri: str, shown: str) -> None:
    assert shown_url(database_url("lake", uri, {})) == shown
    assert shown_url(database_url("lake", fb.Secret(uri), {})) == shown


def test_user_and_password_may_come_as_options() -> None:
    url = database_url("lake", "jdbc:postgresql://h/d", {"jdbc.user": "u", "jdbc.password": fb.Secret(SENTINEL)})
    assert (url.username, url.password, SENTINEL in shown_url(url)) == ("u", SENTINEL, False)


@pytest.mark.parametrize(
    ("uri", "options", "kind"),
    [
        (f"mysql://u:{SENTINEL}@h/d", {}, UnsupportedFeature),
        (f"::u:{SENTINEL}@h", {}, InvalidInput),
        (f"postgresql://u:{SENTINEL}@h:port/d", {}, InvalidInput),
        (f"postgresql+nothere://u:{SENTINEL}@h/d", {}, (CatalogError, UnsupportedFeature)),
        (f"postgresql://u:{SENTINEL}@h/d", {"jdbc.useSSL": SENTINEL}, UnsupportedFeature),
        (f"postgresql://u:{SENTINEL}@127.0.0.1:1/d", {}, FloebergError),
        (f"postgresql://127.0.0.1:1/d?user=u&password={SENTINEL}", {}, FloebergError),
    ],
)
def test_a_password_is_in_no_error(
    uri: str, options: dict[str, str], kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(kind) as caught:
        fb.catalog("lake", type="sql", uri=uri, warehouse="/w", properties=options)
    error: BaseException | None = caught.value
    while error is not None:
        assert SENTINEL not in str(error) + repr(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert SENTINEL not in caplog.text


@pytest.mark.postgres
def test_a_password_is_in_no_repr_error_or_log_of_a_living_catalog(
    fresh_postgres: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with fb.catalog("lake", type="sql", uri=fresh_postgres, warehouse=str(tmp_path)) as cat:
        cat.create_namespace("db", {"secret": "hidden-value"})
        table = cat.create_table("db.t", "id int")
        assert PASSWORD not in repr(cat) + repr(cat._backend) + repr(table)
        assert "***" in repr(cat)
    wrong = sa.make_url(fresh_postgres).set(password=f"{PASSWORD}-wrong").render_as_string(hide_password=False)
    with pytest.raises(FloebergError, match="authentication failed") as caught:
        fb.catalog("lake", type="sql", uri=wrong, warehouse=str(tmp_path))
    assert PASSWORD not in str(caught.value) + caplog.text
    assert "hidden-value" not in caplog.text


def test_types_that_come_later_say_so_and_unknown_things_are_refused(tmp_path: Path) -> None:
    for later in ("hive", "glue", "nessie", "HIVE"):
        with pytest.raises(UnsupportedFeature, match="comes later"):
            fb.catalog("lake", type=later, uri="http://x", warehouse="w")
    with pytest.raises(InvalidInput, match="unknown type"):
        fb.catalog("lake", type="sqll")
    with pytest.raises(InvalidInput, match="needs a warehouse"):
        fb.catalog("lake")
    with pytest.raises(InvalidInput, match="needs a uri"):
        fb.catalog("lake", type="sql")
    with pytest.raises(InvalidInput, match="has no database"):
        fb.catalog("lake", warehouse=str(tmp_path), uri="sqlite:///x.db")
    with pytest.raises(InvalidInput, match="unknown option 'warehose'"):
        fb.catalog("lake", warehouse=str(tmp_path), properties={"warehose": "x"})
    with pytest.raises(UnsupportedFeature, match="not supported"):
        fb.catalog("lake", warehouse=str(tmp_path), properties={"s3.typo": "x"})
    fb.catalog("lake", warehouse=str(tmp_path), properties={"io-impl": "os.system", "cache-enabled": "false"})


def test_sqlite_in_memory_is_one_database_for_all_threads() -> None:
    import threading

    cat = fb.catalog("lake", type="sql", uri="sqlite:///:memory:", warehouse="memory://w")
    cat.create_namespace("db")
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.append(cat.list_namespaces()))
    thread.start()
    thread.join()
    assert seen == [[("db",)]]
    cat.close()


def test_a_folder_name_is_a_path_segment_and_no_two_names_share_one() -> None:
    names = ["plain", "a/b", "a%2Fb", "..", ".", "x" * 300, "x" * 301, "a\nb", "日" * 100, "%2E%2E"]
    folders = [folder_name(name) for name in names]
    assert len(set(folders)) == len(names)
    assert all("/" not in one and one not in ("", ".", "..") and len(one.encode()) <= 255 for one in folders)


def test_unique_table_locations_on_request(tmp_path: Path) -> None:
    cat = sqlite_catalog(tmp_path, **{"unique-table-location": "true"})
    cat.create_namespace("db")
    assert cat.create_table("db.t", "id int").location.startswith(f"{tmp_path}/w/db/t-")


@pytest.mark.golden_shared
def test_the_golden_sql_catalogs_open(tmp_path: Path) -> None:
    databases = shared_files("standalone/duckdb/sql-catalogs/*/*")
    found: list[fb.Table] = []
    assert len(databases) == 3
    for path in databases:
        copy = shutil.copy(path, tmp_path)
        (name,) = sqlite3.connect(copy).execute("SELECT catalog_name FROM iceberg_tables").fetchone()
        with fb.catalog(name, type="sql", uri=f"sqlite:///{copy}", warehouse=str(tmp_path / "w")) as cat:
            assert not cat._backend.capabilities.views
            (namespace,) = cat.list_namespaces()
            (identifier,) = cat.list_tables(namespace)
            with pytest.raises(InvalidInput, match="relative path"):
                cat.load_table(identifier)
            recorded = cat._backend.rows.get(identifier, "TABLE")  # type: ignore[attr-defined]
            golden = shared_files("duckdb-iceberg")[0]
            metadata_file = recorded.replace("data/persistent", str(golden))
            if Path(metadata_file).exists():
                found.append(fb.open_table(metadata_file, relocate={"data/persistent": str(golden)}))
            cat.create_table((*namespace, "ours"), "id int")
            assert len(cat.list_tables(namespace)) == 2
    assert [table.current_snapshot is not None for table in found] == [True, True]


class LostAnswers(MemoryRows):
    """Rows whose changes answer with an error, after or without taking effect."""

    def __init__(self, error: type[FloebergError], *, took_effect: bool) -> None:
        super().__init__()
        self.error = error
        self.took_effect = took_effect
        self.fails = False
        self.then: Callable[[], object] = lambda: None

    def _lose(self, change: Callable[[], bool]) -> bool:
        if not self.fails:
            return change()
        self.fails = False
        if self.took_effect:
            change()
        self.then()
        raise self.error("the answer was lost")

    def insert(self, identifier: Identifier, kind: str, location: str) -> bool:
        return self._lose(lambda: super(LostAnswers, self).insert(identifier, kind, location))

    def swap(self, identifier: Identifier, kind: str, *, expected: str, location: str) -> bool:
        return self._lose(lambda: super(LostAnswers, self).swap(identifier, kind, expected=expected, location=location))


def faulty(error: type[FloebergError], *, took_effect: bool) -> tuple[Catalog, LostAnswers, StoreRegistry]:
    rows = LostAnswers(error, took_effect=took_effect)
    effects = system_effects()
    stores = StoreRegistry(effects)
    backend = PointedCatalog("lake", warehouse="memory://w", rows=rows, stores=stores, effects=effects)
    cat = Catalog(backend, table_defaults={"commit.status-check.num-retries": "0", "commit.retry.min-wait-ms": "1"})
    cat.create_namespace("db")
    return cat, rows, stores


def files(stores: StoreRegistry) -> list[str]:
    return [info.location for info in stores.for_location("memory://w").list("memory://w")]


def test_a_lost_answer_to_a_change_that_took_effect_is_a_success() -> None:
    cat, rows, stores = faulty(Unavailable, took_effect=True)
    rows.fails = True
    table = cat.create_table("db.t", "id int")
    rows.fails = True
    append_rows(table, [{"id": 1}])
    rows.fails = True
    view = cat.create_view("db.v", "SELECT 1 AS a", "a int")
    rows.fails = True
    view.update_properties(set={"a": "b"})
    assert len(cat.load_table("db.t").snapshots) == 1
    assert cat.load_view("db.v").properties == {"a": "b"}
    assert len(files(stores)) == 2 + 3 + 2


def test_a_lost_answer_is_settled_by_what_others_built_on_it() -> None:
    cat, rows, _ = faulty(Unavailable, took_effect=True)
    table = cat.create_table("db.t", "id int")

    def others() -> None:
        with cat.load_table("db.t").update_properties() as update:
            update.set({"other": "1"})

    rows.fails, rows.then = True, others
    append_rows(table, [{"id": 1}])
    assert len(table.refresh().snapshots) == 1
    assert table.properties["other"] == "1"


def test_a_lost_answer_is_no_conflict_only_because_the_log_forgot_it() -> None:
    cat, rows, stores = faulty(Unavailable, took_effect=True)
    table = cat.create_table(
        "db.t",
        "id int",
        properties={"write.metadata.previous-versions-max": "1", "commit.status-check.num-retries": "1"},
    )

    def others() -> None:
        other = cat.load_table("db.t")
        for number in range(3):
            with other.update_properties() as update:
                update.set({f"n{number}": "1"})

    rows.fails, rows.then = True, others
    append_rows(table, [{"id": 1}])
    assert len(table.refresh().snapshots) == 1
    assert len([file for file in files(stores) if file.endswith(".metadata.json")]) == 1 + 1 + 3


def test_a_lost_answer_is_a_conflict_when_another_commit_is_proved_to_have_come_first() -> None:
    cat, rows, _ = faulty(Unavailable, took_effect=False)
    table = cat.create_table("db.t", "id int")

    def others() -> None:
        with cat.load_table("db.t").update_properties() as update:
            update.set({"other": "1"})

    rows.fails, rows.then = True, others
    append_rows(table, [{"id": 1}])
    assert len(table.refresh().snapshots) == 1
    assert table.properties["other"] == "1"


def test_a_lost_answer_without_a_trace_is_unknown_and_nothing_is_cleaned_up() -> None:
    cat, rows, stores = faulty(Unavailable, took_effect=False)
    rows.fails = True
    with pytest.raises(CommitUnknown):
        cat.create_table("db.t", "id int")
    assert len(files(stores)) == 1
    table = cat.create_table("db.t", "id int")
    before = files(stores)
    rows.fails = True
    with pytest.raises(CommitUnknown):
        append_rows(table, [{"id": 1}])
    assert len(files(stores)) == len(before) + 4
    rows.fails = True
    with pytest.raises(CommitUnknown):
        cat.create_view("db.v", "SELECT 1 AS a", "a int")


def test_a_refusal_leaves_no_file_and_a_commit_tries_again() -> None:
    cat, rows, stores = faulty(Throttled, took_effect=False)
    rows.fails = True
    with pytest.raises(Throttled):
        cat.create_table("db.t", "id int")
    rows.fails = True
    with pytest.raises(Throttled):
        cat.create_view("db.v", "SELECT 1 AS a", "a int")
    assert files(stores) == []
    table = cat.create_table("db.t", "id int")
    rows.fails = True
    with table.update_properties() as update:
        update.set({"a": "b"})
    assert len(files(stores)) == 2
    assert cat.load_table("db.t").properties["a"] == "b"


def test_a_missing_metadata_file_names_the_table_and_the_way_out(tmp_path: Path) -> None:
    cat = sqlite_catalog(tmp_path)
    cat.create_namespace("db")
    table = cat.create_table("db.t", "id int")
    Path(str(table.metadata_location)).unlink()
    with pytest.raises(FileNotFound, match=r"lake\.db\.t is in the catalog.*drop the table"):
        table.refresh()
    cat.drop_table("db.t")


def test_a_locked_database_is_no_lost_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("floeberg.catalogs.sql_database.LOCK_TIMEOUT_S", 0.05)
    cat = sqlite_catalog(tmp_path)
    cat.create_namespace("db")
    table = cat.create_table("db.t", "id int", properties={"commit.retry.num-retries": "0"})
    blocker = sqlite3.connect(tmp_path / "lake.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    assert cat.load_table("db.t").metadata == table.metadata, "a reader must not need the write lock"
    with pytest.raises(fb.errors.CommitConflict), table.update_properties() as update:
        update.set({"a": "b"})
    blocker.execute("ROLLBACK")
    blocker.close()
    with table.update_properties() as update:
        update.set({"a": "b"})
    assert len(list((tmp_path / "w/db/t/metadata").iterdir())) == 2


def test_a_purge_never_deletes_the_files_of_a_table_that_was_renamed_meanwhile(tmp_path: Path) -> None:
    from floeberg.catalogs import purge

    cat = sqlite_catalog(tmp_path)
    cat.create_namespace("db")
    table = cat.create_table("db.t", "id int")
    append_rows(table, [{"id": 1}])
    original = purge._files_to_delete

    def slowly(*arguments: Any) -> list[str]:
        doomed = original(*arguments)
        if not cat.table_exists("db.renamed"):
            cat.rename_table("db.t", "db.renamed")
            cat.create_table("db.t", "id int")
        return doomed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(purge, "_files_to_delete", slowly)
        cat.drop_table("db.t", purge=True)
    assert not cat.table_exists("db.t")
    assert cat.load_table("db.renamed").scan().to_arrow().to_pylist() == [{"id": 1}]


def test_open_catalog_takes_stores_of_its_caller(tmp_path: Path) -> None:
    effects = system_effects()
    stores = StoreRegistry(effects)
    backend = open_catalog("lake", type="in-memory", effects=effects, stores=stores)
    assert backend.stores is stores
