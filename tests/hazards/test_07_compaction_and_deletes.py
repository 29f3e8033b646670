"""Hazard 7: a compaction brings back rows that were deleted meanwhile, because it validates from the snapshot at commit time.
Validation runs from the snapshot at which the compaction was planned, always."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floeberg.commit import isolation, rewrite_files
from floeberg.commit.history import ConcurrentChanges
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import ValidationConflict
from floeberg.testing.crashes import quiet_setting
from floeberg.testing.decoding import decoded_once
from floeberg.testing.sim_catalogs import FILESYSTEM, ROWS
from floeberg.testing.simulate import run_history
from floeberg.testing.table_builder import TableBuilder


def compact_beside_a_delete(version: int, *, stale_handle: bool) -> list[int]:
    """A compaction that was planned before a delete was committed; what is there afterwards."""
    builder = TableBuilder(format_version=version).append((1,), (2,)).append((3,))
    compaction = RewriteFiles(
        removed=builder.data(),
        added=[builder.data_file((1,), (2,), (3,))],
        starting_snapshot_id=builder.table.current_snapshot.snapshot_id,
    )
    file = next(file for file in builder.data() if file.record_count == 2)
    builder.second()._commit(RowDelta(added=[builder.deletes(file, 0)], view=builder.view()))
    if not stale_handle:
        builder.table.refresh()  # the compaction's own table object has seen the delete: its plan has not
    try:
        builder.table._commit(compaction)
    except ValidationConflict:
        builder.table.refresh()
    return [row[0] for row in builder.rows()]


@pytest.mark.parametrize("stale_handle", [True, False])
@pytest.mark.parametrize("version", [2, 3])
def test_a_deleted_row_stays_deleted(version, stale_handle):
    assert compact_beside_a_delete(version, stale_handle=stale_handle) == [2, 3]


@pytest.mark.parametrize("version", [2, 3])
def test_validating_from_the_state_at_commit_would_bring_it_back(version, monkeypatch):
    def from_commit_time(metadata, workspace, *, branch, starting_snapshot_id):
        return ConcurrentChanges(metadata, (), workspace)

    monkeypatch.setattr(rewrite_files, "concurrent_changes", from_commit_time)
    assert compact_beside_a_delete(version, stale_handle=False) == [1, 2, 3]
    assert isolation.concurrent_changes is not from_commit_time


@pytest.mark.parametrize("catalog", [FILESYSTEM, ROWS])
@pytest.mark.parametrize("version", [2, 3])
def test_interleavings_of_deletes_and_compactions_have_no_anomaly(catalog, version):
    kinds = ("rewrite_files", "row_delta", "overwrite_files", "upsert")
    setting = replace(quiet_setting(catalog, version, partitioned=False), writers=3, kinds=kinds)
    with decoded_once():
        for seed in range(8):
            run_history(f"7-{seed}", setting)
