"""Two or more writers at once: one creates, all commits are there, none is lost and none counts twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from floeberg.api.catalog import Catalog
from floeberg.errors import AlreadyExists, CommitConflict, FloebergError, TableNotFound
from lakes.catalogs_lake import KINDS, Lake, make_lake


@pytest.fixture(params=[*KINDS, pytest.param("sqlite-s3", marks=pytest.mark.s3)])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    made = make_lake(request.param, request, tmp_path)
    made.catalog.create_namespace("db")
    return made


def together(lake: Lake, count: int, work: Callable[[Catalog, int], object]) -> list[object]:
    """What each of several threads, with a catalog of its own, gave or raised."""
    catalogs = [lake.reopen() for _ in range(count)]
    barrier = threading.Barrier(count)
    results: list[object] = [None] * count

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(catalogs[number], number)
        except FloebergError as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_of_many_creators_one_succeeds(lake: Lake) -> None:
    codecs = ("none", "gzip")
    results = together(
        lake,
        4,
        lambda cat, n: cat.create_table(
            "db.t", "id int", properties={"who": str(n), "write.metadata.compression-codec": codecs[n % 2]}
        ).properties["who"],
    )
    winners = [one for one in results if isinstance(one, str)]
    assert len(winners) == 1
    assert [one for one in results if not isinstance(one, str | AlreadyExists)] == []
    assert lake.reopen().load_table("db.t").properties["who"] == winners[0]
    named = [file for file in lake.files() if file.endswith(".metadata.json")]
    assert len(named) == 1 or not lake.is_tidy


def test_every_commit_of_many_writers_is_there(lake: Lake) -> None:
    lake.catalog.create_table(
        "db.t", "id int", properties={"commit.retry.num-retries": "100", "commit.retry.min-wait-ms": "1"}
    )
    rounds = 2 if lake.kind.endswith("s3") else 4

    def work(cat: Catalog, number: int) -> None:
        table = cat.load_table("db.t")
        for turn in range(rounds):
            with table.update_properties() as update:
                update.set({f"w{number}-{turn}": "1"})

    assert together(lake, 3, work) == [None] * 3
    table = lake.reopen().load_table("db.t")
    wanted = {f"w{number}-{turn}" for number in range(3) for turn in range(rounds)}
    assert {key for key in table.properties if key[:2] in ("w0", "w1", "w2")} == wanted
    assert len(table.metadata.metadata_log) == 3 * rounds
    files = [entry.metadata_file for entry in table.metadata.metadata_log]
    assert len(set(files)) == len(files)
    assert all(lake.store.exists(file) for file in files)
    metadata_files = {file for file in lake.files() if file.endswith(".metadata.json")}
    assert metadata_files == {*files, table.metadata_location} or not lake.is_tidy, "a rejected attempt left its file"


def test_a_drop_and_commits_at_once_leave_a_whole_table_or_none(lake: Lake) -> None:
    table = lake.catalog.create_table(
        "db.t", "id int", properties={"commit.retry.num-retries": "50", "commit.retry.min-wait-ms": "1"}
    )

    def work(cat: Catalog, number: int) -> str:
        if number == 0:
            cat.drop_table("db.t")
            return "dropped"
        mine = cat.load_table("db.t")
        for turn in range(5):
            with mine.update_properties() as update:
                update.set({f"w{number}-{turn}": "1"})
        return "committed"

    results = together(lake, 2, work)
    assert results[0] == "dropped"
    assert results[1] == "committed" or isinstance(results[1], TableNotFound | CommitConflict)
    if not lake.catalog.table_exists("db.t"):
        assert lake.catalog.list_tables("db") == []
        with pytest.raises(TableNotFound):
            table.refresh()


def test_namespaces_and_views_are_created_once(lake: Lake) -> None:
    results = together(lake, 3, lambda cat, n: cat.create_namespace("new"))
    assert lake.catalog.namespace_exists("new")
    assert all(one is None or isinstance(one, AlreadyExists) for one in results)
    if not lake.can.views:
        return
    results = together(lake, 3, lambda cat, n: cat.create_view("db.v", f"SELECT {n}", "n int").sql())
    assert len([one for one in results if isinstance(one, str)]) == 1
    assert [one for one in results if not isinstance(one, str | AlreadyExists)] == []
