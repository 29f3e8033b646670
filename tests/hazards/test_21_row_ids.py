"""Hazard 21, the metadata half: row ids that are stale after a retry, taken from elsewhere, or beyond a long. They are assigned
when the manifest list is written, from the refreshed next-row-id, and the added entries hold none."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from msgspec import structs

from floeberg.commit import manifests, snapshot_writer
from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.delete_files import DeleteFiles
from floeberg.commit.workspace import Workspace
from floeberg.errors import CommitConflict, InvalidInput
from floeberg.expr.build import eq
from floeberg.spec.snapshots.manifest_entry import EntryStatus
from floeberg.testing.crashes import quiet_setting
from floeberg.testing.decoding import decoded_once
from floeberg.testing.scheduler import SimulationFailed
from floeberg.testing.sim_catalogs import FILESYSTEM, ROWS
from floeberg.testing.simulate import run_history
from floeberg.testing.table_builder import TableBuilder


def row_ids(builder: TableBuilder) -> list[int]:
    files = [entry.data_file for entry in builder.live()]
    return sorted(file.first_row_id + at for file in files for at in range(file.record_count))


def test_ids_are_assigned_again_on_every_attempt_and_never_stored_in_added_entries():
    builder = TableBuilder(format_version=3).append((1,))
    mine = Append(files=[builder.data_file((2,), (3,))])
    builder.second().append(builder.arrow([(7,), (8,), (9,)]))
    (snapshot,) = builder.table._commit(mine).snapshots
    assert (snapshot.first_row_id, snapshot.added_rows) == (4, 2)
    assert row_ids(builder) == [0, 1, 2, 3, 4, 5]
    workspace = Workspace(builder.table._pointer)
    own = [
        m for m in workspace.manifests(snapshot, builder.table.metadata) if m.added_snapshot_id == snapshot.snapshot_id
    ]
    unlisted = [replace(manifest, first_row_id=None) for manifest in own]
    stored = [entry for manifest in unlisted for entry in workspace.entries(manifest, builder.table.metadata)]
    assert [(entry.status, entry.data_file.first_row_id) for entry in stored] == [(EntryStatus.ADDED, None)]


def stale_transaction() -> list[int]:
    """A transaction that rewrites a manifest which it wrote itself, replayed after another commit."""
    builder = TableBuilder(partition_by=["p"], format_version=3).append((1, 0))
    operations = [Append(files=builder.data_files((2, 0), (3, 1))), DeleteFiles(row_filter=eq("p", 0))]
    builder.second().append(builder.arrow([(7, 2), (8, 2)]))
    commit_operations(builder.table._pointer, builder.table._state, operations)
    builder.table.refresh()
    return row_ids(builder)


def test_a_replayed_transaction_gives_no_id_twice():
    ids = stale_transaction()
    assert len(ids) == len(set(ids)) == 3


def test_parts_of_the_attempt_before_would_give_ids_twice(monkeypatch):
    monkeypatch.setattr("floeberg.commit.workspace._entry_key", lambda entry: (entry.status, entry.data_file.identity))
    ids = stale_transaction()
    assert len(ids) > len(set(ids))


def taken_over() -> list[int]:
    builder = TableBuilder(format_version=3).append((1,), (2,))
    foreign = structs.replace(builder.data_file((7,)), first_row_id=1)
    builder.table._commit(Append(files=[foreign]))
    return row_ids(builder)


def test_ids_of_another_table_are_not_taken_over():
    assert taken_over() == [0, 1, 2]


def test_taken_over_they_would_be_there_twice(monkeypatch):
    monkeypatch.setattr(manifests, "structs", SimpleNamespace(replace=lambda file, **changes: file))
    assert taken_over() == [0, 1, 1]


def test_ids_never_wrap_around():
    builder = TableBuilder(format_version=3).append((1,))
    state = builder.table._state
    full = replace(state, metadata=replace(state.metadata, next_row_id=2**63 - 2))
    with pytest.raises(InvalidInput, match="used up"):
        commit_operations(builder.table._pointer, full, [Append(files=[builder.data_file((1,), (2,), (3,))])])


def test_a_snapshot_with_ids_from_before_is_refused_by_the_metadata_too(monkeypatch):
    builder = TableBuilder(format_version=3).append((1,), (2,))
    real = snapshot_writer.assign_first_row_ids
    monkeypatch.setattr(snapshot_writer, "assign_first_row_ids", lambda first, given: real(0, given))

    def stale(**given):
        return Real(**{**given, "first_row_id": 0})

    Real = snapshot_writer.Snapshot
    monkeypatch.setattr(snapshot_writer, "Snapshot", stale)
    with pytest.raises(CommitConflict, match="row id"):
        builder.append((3,))


def play(setting, histories: int = 10) -> None:
    with decoded_once():
        for seed in range(histories):
            run_history(f"21-{seed}", setting)


@pytest.mark.parametrize("catalog", [FILESYSTEM, ROWS])
def test_ids_are_unique_and_stay_over_updates_rewrites_branches_and_an_upgrade(catalog, monkeypatch):
    kinds = (
        "row_delta",
        "overwrite_files",
        "rewrite_files",
        "rewrite_manifests",
        "branch_append",
        "upgrade",
        "transaction",
    )
    setting = replace(quiet_setting(catalog, 2), writers=4, kinds=kinds)
    play(setting)
    monkeypatch.setattr(
        snapshot_writer, "assign_first_row_ids", lambda first, given: (tuple(0 for _ in given), first + 99)
    )
    with pytest.raises(SimulationFailed, match="row id"):
        play(replace(setting, format_version=3, kinds=("merge_append",)))
