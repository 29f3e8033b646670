"""Hazard 11: a merge-on-read UPDATE and a DELETE under snapshot isolation leave a row that was deleted. Deletes are checked for
DELETE too, at both isolation levels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floeberg.commit import row_delta
from floeberg.commit.isolation import IsolationLevel
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import ValidationConflict
from floeberg.expr.build import eq
from floeberg.testing.crashes import quiet_setting
from floeberg.testing.decoding import decoded_once
from floeberg.testing.sim_catalogs import FILESYSTEM, ROWS
from floeberg.testing.simulate import run_history
from floeberg.testing.table_builder import TableBuilder


def delete_beside_an_update(isolation: IsolationLevel, version: int, *, first: str) -> tuple[list[tuple], bool]:
    """DELETE WHERE id = 1 and UPDATE … WHERE id = 1 on one state; the rows, and whether both went through."""
    builder = TableBuilder(format_version=version).append((1, 0, "old"), (2, 0, "old"))
    (file,) = builder.data()
    view = builder.view(eq("id", 1), isolation=isolation)
    changes = {
        "delete": RowDelta(added=[builder.deletes(file, 0)], view=view),
        "update": RowDelta(added=[builder.deletes(file, 0), builder.data_file((1, 0, "new"))], view=view),
    }
    second = "update" if first == "delete" else "delete"
    builder.second()._commit(changes[first])
    try:
        builder.table._commit(changes[second])
    except ValidationConflict:
        builder.table.refresh()
        return builder.rows(), False
    return builder.rows(), True


@pytest.mark.parametrize("first", ["update", "delete"])
@pytest.mark.parametrize("isolation", list(IsolationLevel))
@pytest.mark.parametrize("version", [2, 3])
def test_only_one_of_two_changes_of_a_row_goes_through(isolation, version, first):
    rows, both = delete_beside_an_update(isolation, version, first=first)
    assert not both
    assert rows == ([(1, 0, "new")] if first == "update" else []) + [(2, 0, "old")]


def test_without_the_check_the_deleted_row_would_stay(monkeypatch):
    monkeypatch.setattr(row_delta, "no_concurrent_deletes_on", lambda *given, **named: None)
    rows, both = delete_beside_an_update(IsolationLevel.SNAPSHOT, 2, first="update")
    assert both
    assert (1, 0, "new") in rows


@pytest.mark.parametrize("catalog", [FILESYSTEM, ROWS])
@pytest.mark.parametrize("version", [2, 3])
def test_random_updates_and_deletes_keep_to_their_isolation_level(catalog, version):
    setting = replace(
        quiet_setting(catalog, version, partitioned=False), writers=4, kinds=("row_delta", "overwrite_files", "upsert")
    )
    with decoded_once():
        for seed in range(8):
            run_history(f"11-{seed}", setting)
