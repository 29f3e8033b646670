"""A transaction is planned on the state it began with, whatever happens to its table's object meanwhile."""

from __future__ import annotations

import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog
from floeberg.api.table import Table
from floeberg.errors import ValidationConflict


@pytest.fixture(params=[(2, "merge-on-read"), (3, "merge-on-read"), (2, "copy-on-write")])
def table(request: pytest.FixtureRequest) -> Table:
    version, mode = request.param
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    made = lake.create_table(
        "db.t",
        "k bigint, v bigint",
        format_version=version,
        properties={f"write.{kind}.mode": mode for kind in ("delete", "update")},
    )
    made.append(pa.table({"k": [1, 2, 3], "v": [1, 1, 1]}))
    return made


def test_a_row_that_the_table_deleted_does_not_come_back_through_an_open_transaction(table: Table) -> None:
    tx = table.transaction()
    table.delete("k = 1")
    tx.update({"v": 7}, "v = 1")
    with pytest.raises(ValidationConflict), tx:
        pass
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [2, 3]


def test_of_two_open_transactions_on_one_table_the_second_sees_that_the_first_changed_its_rows(table: Table) -> None:
    first, second = table.transaction(), table.transaction()
    with first:
        first.delete("k = 1")
    with pytest.raises(ValidationConflict), second:
        second.update({"v": 7}, "v = 1")
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [2, 3]


def test_a_table_that_moved_on_does_not_hide_from_its_transaction_what_was_added_meanwhile(table: Table) -> None:
    tx = table.transaction()
    table.append(pa.table({"k": [4], "v": [1]}))
    tx.delete("v = 1")
    with pytest.raises(ValidationConflict), tx:
        pass
    assert table.scan().count() == 4


def test_a_transaction_can_change_rows_of_a_branch_that_it_moved_or_made(table: Table) -> None:
    with table.manage_refs() as refs:
        refs.create_branch("next")
    table.append(pa.table({"k": [4], "v": [1]}), branch="next")
    with table.transaction() as tx:
        with tx.manage_refs() as refs:
            refs.fast_forward("main", "next")
        tx.delete("k = 4 or k = 1")
        with tx.manage_refs() as refs:
            refs.create_branch("later")
        tx.append(pa.table({"k": [5], "v": [1]}), branch="later")
        tx.update({"v": 2}, "k = 5 or k = 2", branch="later")
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [2, 3]
    later = table.scan(ref="later").to_arrow().to_pylist()
    assert sorted((row["k"], row["v"]) for row in later) == [(2, 2), (3, 1), (5, 2)]


def test_a_transaction_changes_the_rows_of_the_snapshot_that_it_rolled_back_to(table: Table) -> None:
    start = table.current_snapshot
    assert start is not None
    table.append(pa.table({"k": [4], "v": [1]}))
    with table.transaction() as tx:
        with tx.manage_refs() as refs:
            refs.rollback_to_snapshot(start.snapshot_id)
        tx.delete("k = 3")
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [1, 2]


def replace_rows(table: Table, **properties: str) -> list[int]:
    """The keys after two open transactions deleted the same rows, of which there are none, and inserted them."""
    with table.update_properties() as update:
        update.set(properties)
    first, second = table.transaction(), table.transaction()
    for key, tx in ((10, first), (20, second)):
        with tx:
            tx.delete("v = 5")
            tx.update({"v": 6}, "v = 5")
            tx.append(pa.table({"k": [key], "v": [5]}))
    return sorted(table.refresh().scan().to_arrow()["k"].to_pylist())


def test_of_two_transactions_that_delete_rows_that_are_not_there_and_insert_them_one_is_refused(table: Table) -> None:
    with pytest.raises(ValidationConflict, match="found no such rows"):
        replace_rows(table)
    assert sorted(table.refresh().scan().to_arrow()["k"].to_pylist()) == [1, 2, 3, 10]


def test_under_snapshot_isolation_rows_that_were_added_meanwhile_are_missed(table: Table) -> None:
    levels = {f"write.{kind}.isolation-level": "snapshot" for kind in ("delete", "update")}
    assert replace_rows(table, **levels) == [1, 2, 3, 10, 20]


def test_a_transaction_that_found_nothing_to_change_is_refused_by_nothing(table: Table) -> None:
    tx = table.transaction()
    table.append(pa.table({"k": [4], "v": [5]}))
    before = table.metadata_location
    with tx:
        tx.delete("v = 5")
    assert table.refresh().metadata_location == before
