"""Transactions over several tables of a catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.catalogs.sql import SqlRows
from floeberg.errors import (
    CommitConflict,
    CommitUnknown,
    InvalidInput,
    TableNotFound,
    Unavailable,
    UnsupportedFeature,
    ValidationConflict,
    WriteRefused,
)

ROWS = pa.table({"id": [1, 2, 3]})


@pytest.fixture(params=["sql", "memory"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[fb.Catalog]:
    given = {"type": "memory"} if request.param == "memory" else {
        "type": "sql", "uri": f"sqlite:///{tmp_path}/lake.db", "warehouse": str(tmp_path / "lake"),
    }  # fmt: skip
    with fb.catalog("lake", **given) as catalog:
        catalog.create_namespace("db")
        for name in ("a", "b"):
            catalog.create_table(f"db.{name}", "id bigint").append(ROWS)
        yield catalog


@pytest.fixture
def sql_lake(tmp_path: Path) -> Iterator[fb.Catalog]:
    with fb.catalog(
        "lake", type="sql", uri=f"sqlite:///{tmp_path}/lake.db", warehouse=str(tmp_path / "lake")
    ) as catalog:
        catalog.create_namespace("db")
        for name in ("a", "b"):
            catalog.create_table(f"db.{name}", "id bigint").append(ROWS)
        yield catalog


def ids(catalog: fb.Catalog, name: str) -> list[int]:
    return sorted(catalog.load_table(f"db.{name}").scan().to_arrow()["id"].to_pylist())


def files_below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_changes_of_several_tables_become_visible_together(lake: fb.Catalog) -> None:
    with lake.transaction() as tx:
        tx.table("db.a").append(pa.table({"id": [4]}))
        tx.table("db.b").delete("id = 2")
        with tx.table("db.b") as b:
            b.append(pa.table({"id": [9]}))
            with b.update_schema() as update:
                update.add_column("x", "string")
        assert tx.table(("db", "b")) is b
        assert (ids(lake, "a"), ids(lake, "b")) == ([1, 2, 3], [1, 2, 3])
    assert (ids(lake, "a"), ids(lake, "b")) == ([1, 2, 3, 4], [1, 3, 9])
    assert "x" in lake.load_table("db.b").schema.ids


def test_an_error_inside_commits_nothing_and_leaves_no_file(sql_lake: fb.Catalog, tmp_path: Path) -> None:
    before = files_below(tmp_path)
    with pytest.raises(ZeroDivisionError), sql_lake.transaction() as tx:  # noqa: PT012
        tx.table("db.a").append(ROWS)
        tx.table("db.b").delete("id = 2")
        1 / 0  # noqa: B018
    assert files_below(tmp_path) == before
    with pytest.raises(TableNotFound), sql_lake.transaction() as tx:  # noqa: PT012
        tx.table("db.a").append(ROWS)
        tx.table("db.none").append(ROWS)
    assert files_below(tmp_path) == before
    with pytest.raises(InvalidInput, match="has ended"):
        tx.table("db.a")


def test_a_conflict_in_one_table_leaves_all_as_they_were(sql_lake: fb.Catalog, tmp_path: Path) -> None:
    with pytest.raises(ValidationConflict), sql_lake.transaction() as tx:  # noqa: PT012
        tx.table("db.a").append(pa.table({"id": [4]}))
        tx.table("db.b").delete("id = 2")
        sql_lake.load_table("db.b").delete("id = 2")
        before = files_below(tmp_path)
    assert (ids(sql_lake, "a"), ids(sql_lake, "b")) == ([1, 2, 3], [1, 3])
    assert files_below(tmp_path) <= before


def test_what_others_committed_meanwhile_is_replayed_upon(lake: fb.Catalog) -> None:
    with lake.transaction() as tx:
        tx.table("db.a").append(pa.table({"id": [4]}))
        tx.table("db.b").append(pa.table({"id": [5]}))
        lake.load_table("db.a").append(pa.table({"id": [6]}))
        lake.load_table("db.b").append(pa.table({"id": [7]}))
    assert (ids(lake, "a"), ids(lake, "b")) == ([1, 2, 3, 4, 6], [1, 2, 3, 5, 7])


def test_an_empty_transaction_and_one_of_a_single_table_commit_what_there_is(lake: fb.Catalog) -> None:
    with lake.transaction():
        pass
    with lake.transaction() as tx:
        tx.table("db.a").append(pa.table({"id": [4]}))
        tx.table("db.b").delete("id = 77")
    assert (ids(lake, "a"), len(lake.load_table("db.b").snapshots)) == ([1, 2, 3, 4], 1)


def test_of_two_transactions_that_find_no_rows_where_the_other_adds_them_one_is_refused(lake: fb.Catalog) -> None:
    with pytest.raises(ValidationConflict, match="found no such rows"), lake.transaction() as first:  # noqa: PT012
        first.table("db.a").delete("id = 9")
        first.table("db.b").append(pa.table({"id": [9]}))
        with lake.transaction() as second:
            second.table("db.b").delete("id = 9")
            second.table("db.a").append(pa.table({"id": [9]}))
    assert (ids(lake, "a"), ids(lake, "b")) == ([1, 2, 3, 9], [1, 2, 3])


@pytest.mark.parametrize("added", [8, 9])
def test_a_table_in_which_no_rows_were_found_is_looked_at_again_when_it_moves_before_the_swap(
    lake: fb.Catalog, monkeypatch: pytest.MonkeyPatch, added: int
) -> None:
    rows = type(lake._backend.rows)
    real, moved = rows.swap_all, []

    def late(self: object, swaps: object) -> bool:
        if not moved:
            moved.append(lake.load_table("db.a").append(pa.table({"id": [added]})))
        return bool(real(self, swaps))

    monkeypatch.setattr(rows, "swap_all", late)
    transaction = lake.transaction()

    def work() -> None:
        with transaction as tx:
            tx.table("db.a").delete("id = 9")
            tx.table("db.b").append(pa.table({"id": [5]}))

    if added == 9:
        with pytest.raises(ValidationConflict):
            work()
    else:
        work()
    assert (ids(lake, "a"), ids(lake, "b")) == ([1, 2, 3, added], [1, 2, 3] if added == 9 else [1, 2, 3, 5])


@pytest.mark.parametrize("outcome", ["refused", "lost", "lost after"])
def test_a_table_that_stays_as_it_is_keeps_its_metadata_file_whatever_the_outcome(
    sql_lake: fb.Catalog, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    with sql_lake.load_table("db.b").update_properties() as update:
        update.set({"commit.status-check.num-retries": "1"})
    real, before = SqlRows.swap_all, sql_lake.load_table("db.a").metadata_location

    def told(self: SqlRows, swaps: object) -> bool:
        if outcome == "lost after":
            real(self, swaps)  # type: ignore[arg-type]
        raise WriteRefused("read-only") if outcome == "refused" else Unavailable("the answer to COMMIT was lost")

    monkeypatch.setattr(SqlRows, "swap_all", told)
    transaction = sql_lake.transaction()

    def work() -> None:
        with transaction as tx:
            tx.table("db.a").delete("id = 9")
            tx.table("db.b").append(pa.table({"id": [5]}))

    if outcome == "lost after":
        work()
    else:
        with pytest.raises(WriteRefused if outcome == "refused" else CommitUnknown):
            work()
    assert sql_lake.load_table("db.a").metadata_location == before
    assert (ids(sql_lake, "a"), 5 in ids(sql_lake, "b")) == ([1, 2, 3], outcome == "lost after")


def test_a_catalog_of_files_says_that_it_cannot(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature, match="SQL catalog"):
        fb.catalog("lake", warehouse=str(tmp_path)).transaction()


@pytest.mark.parametrize("takes_effect", [False, True])
def test_a_lost_answer_is_settled_by_looking_at_the_tables(
    sql_lake: fb.Catalog, monkeypatch: pytest.MonkeyPatch, takes_effect: bool
) -> None:
    real = SqlRows.swap_all

    def lost(self: SqlRows, swaps: object) -> bool:
        if takes_effect:
            real(self, swaps)
        raise Unavailable("the answer to COMMIT was lost")

    for name in ("a", "b"):
        with sql_lake.load_table(f"db.{name}").update_properties() as update:
            update.set({"commit.status-check.num-retries": "1"})
    monkeypatch.setattr(SqlRows, "swap_all", lost)
    transaction = sql_lake.transaction()

    def work() -> None:
        with transaction as tx:
            tx.table("db.a").append(pa.table({"id": [4]}))
            tx.table("db.b").append(pa.table({"id": [5]}))

    if takes_effect:
        work()
        assert (ids(sql_lake, "a"), ids(sql_lake, "b")) == ([1, 2, 3, 4], [1, 2, 3, 5])
    else:
        with pytest.raises(CommitUnknown, match="Nothing was cleaned up"):
            work()
        assert (ids(sql_lake, "a"), ids(sql_lake, "b")) == ([1, 2, 3], [1, 2, 3])


def test_a_refused_write_leaves_nothing_behind(
    sql_lake: fb.Catalog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(self: SqlRows, swaps: object) -> bool:
        raise WriteRefused("the database is read-only")

    monkeypatch.setattr(SqlRows, "swap_all", refused)
    before = files_below(tmp_path)
    with pytest.raises(WriteRefused), sql_lake.transaction() as tx:  # noqa: PT012
        tx.table("db.a").append(ROWS)
        tx.table("db.b").append(ROWS)
    assert files_below(tmp_path) == before


def test_a_transaction_gives_up_when_others_always_come_first(
    lake: fb.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        with lake.load_table(f"db.{name}").update_properties() as update:
            update.set({"commit.retry.num-retries": "1", "commit.retry.min-wait-ms": "1"})
    monkeypatch.setattr(type(lake._backend.rows), "swap_all", lambda self, swaps: False)
    with pytest.raises(CommitConflict, match="gave up after 2 attempts"), lake.transaction() as tx:  # noqa: PT012
        tx.table("db.a").append(ROWS)
        tx.table("db.b").append(ROWS)
    assert (ids(lake, "a"), ids(lake, "b")) == ([1, 2, 3], [1, 2, 3])
