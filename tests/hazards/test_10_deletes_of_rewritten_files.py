"""Hazard 10: position deletes commit against files that a rewrite removed: a DELETE does nothing, an UPDATE duplicates. What
deletes refer to must be live when they commit, by default."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from floeberg.commit import row_delta
from floeberg.commit.isolation import IsolationLevel
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import ValidationConflict
from floeberg.expr.build import eq
from floeberg.testing.crashes import quiet_setting
from floeberg.testing.decoding import decoded_once
from floeberg.testing.scheduler import SimulationFailed
from floeberg.testing.sim_catalogs import FILESYSTEM, ROWS
from floeberg.testing.simulate import run_history
from floeberg.testing.table_builder import TableBuilder


def update_beside_a_rewrite(version: int, isolation: IsolationLevel, *, names_files: bool = True) -> list[tuple]:
    builder = TableBuilder(format_version=version).append((1, 0, "old"), (2, 0, "old"))
    (file,) = builder.data()
    deletes = builder.deletes(file, 0)
    if not names_files:
        deletes = structs.replace(deletes, referenced_data_file=None, lower_bounds=None, upper_bounds=None)
    update = RowDelta(
        added=[deletes, builder.data_file((1, 0, "new"))], view=builder.view(eq("id", 1), isolation=isolation)
    )
    start = builder.table.current_snapshot.snapshot_id
    rewrite = RewriteFiles(
        removed=[file], added=[builder.data_file((1, 0, "old"), (2, 0, "old"))], starting_snapshot_id=start
    )
    builder.second()._commit(rewrite)
    try:
        builder.table._commit(update)
    except ValidationConflict:
        builder.table.refresh()
    return builder.rows()


UNTOUCHED = [(1, 0, "old"), (2, 0, "old")]


@pytest.mark.parametrize("isolation", list(IsolationLevel))
@pytest.mark.parametrize("version", [2, 3])
def test_an_update_of_a_file_that_was_rewritten_is_refused(version, isolation):
    assert update_beside_a_rewrite(version, isolation) == UNTOUCHED


@pytest.mark.parametrize("isolation", list(IsolationLevel))
def test_deletes_that_do_not_say_their_file_are_judged_by_partition(isolation):
    assert update_beside_a_rewrite(2, isolation, names_files=False) == UNTOUCHED


def test_without_the_check_the_row_would_be_there_twice(monkeypatch):
    monkeypatch.setattr(row_delta, "data_files_exist", lambda *given, **named: None)
    assert update_beside_a_rewrite(2, IsolationLevel.SERIALIZABLE) == sorted([(1, 0, "new"), *UNTOUCHED])


@pytest.mark.parametrize("catalog", [FILESYSTEM, ROWS])
@pytest.mark.parametrize("version", [2, 3])
def test_interleavings_of_row_deltas_and_rewrites_have_no_anomaly(catalog, version, monkeypatch):
    setting = replace(quiet_setting(catalog, version), writers=4, kinds=("row_delta", "rewrite_files"))
    with decoded_once():
        for seed in range(8):
            run_history(f"10-{seed}", setting)
    monkeypatch.setattr(row_delta, "data_files_exist", lambda *given, **named: None)
    with pytest.raises(SimulationFailed):
        _play(setting)


def _play(setting) -> None:
    with decoded_once():
        for seed in range(100):
            run_history(f"10-{seed}", setting)
