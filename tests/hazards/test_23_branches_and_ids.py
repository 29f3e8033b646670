"""Hazard 23: a branch write parented on main, and a snapshot id that is drawn twice. Parent, validation and requirement come
from the branch that is written, and an id that is taken is drawn again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floeberg.commit import producer
from floeberg.commit.append import Append
from floeberg.commit.delete_files import DeleteFiles
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.workspace import Workspace
from floeberg.errors import FloebergError, SnapshotAlreadyExists
from floeberg.expr.build import eq
from floeberg.spec.snapshots.snapshot_list import SnapshotList
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder


def diverged() -> TableBuilder:
    """main has rows 1, 3, 5; the branch has 1, 2, 4."""
    builder = TableBuilder(partition_by=["p"], format_version=3).append((1, 0)).branch("side")
    for number in (2, 3, 4, 5):
        builder.append((number, 0), branch="side" if number % 2 == 0 else "main")
    return builder


def ids(builder: TableBuilder, ref: str = "main") -> list[int]:
    return [row[0] for row in builder.rows(ref=ref)]


def test_branches_grow_from_their_own_heads():
    builder = diverged()
    assert (ids(builder), ids(builder, "side")) == ([1, 3, 5], [1, 2, 4])
    metadata = builder.table.metadata
    for branch, rows in (("main", 3), ("side", 3)):
        head = metadata.snapshot_for_ref(branch)
        assert len(list(metadata.ancestor_ids(head.snapshot_id))) == rows
        assert head.summary["total-records"] == str(rows)
    assert metadata.current_snapshot_id == metadata.refs["main"].snapshot_id


def test_a_change_of_a_branch_touches_that_branch_alone():
    builder = diverged()
    builder.table._commit(DeleteFiles(row_filter=eq("p", 0), target=SnapshotTarget(branch="side")))
    assert (ids(builder), ids(builder, "side")) == ([1, 3, 5], [])


def test_parented_on_main_the_branch_would_show_its_rows(monkeypatch):
    real = producer.branch_head
    monkeypatch.setattr(producer, "branch_head", lambda base, branch, workspace, **how: real(base, "main", workspace))
    assert ids(diverged(), "side") != [1, 2, 4]


# ids


def drawn_twice(builder: TableBuilder, world_ids) -> None:
    """The next snapshot id is one that the table has."""
    world_ids.force_snapshot_id(builder.table.snapshots[0].snapshot_id)


def with_ids():
    process = SimWorld(3).process("w")
    return TableBuilder(effects=process.effects).append((1,)), process.ids


def test_an_id_that_the_table_has_is_drawn_again():
    builder, source = with_ids()
    drawn_twice(builder, source)
    builder.append((2,))
    assert len({snapshot.snapshot_id for snapshot in builder.table.snapshots}) == 2
    assert ids(builder) == [1, 2]


def test_an_id_that_another_commit_took_meanwhile_is_drawn_again():
    builder, source = with_ids()
    rival = builder.second()
    append = Append(files=[builder.data_file((2,))])
    source.force_snapshot_id(4242)
    rival._commit(Append(files=[builder.data_file((3,))]))
    assert rival.current_snapshot.snapshot_id == 4242
    source.force_snapshot_id(4242)
    (mine,) = builder.table._commit(append).snapshots
    assert mine.snapshot_id != 4242
    assert ids(builder) == [1, 2, 3]


def test_a_source_of_ids_that_only_repeats_is_an_error_and_loses_nothing():
    builder, source = with_ids()
    taken = builder.table.snapshots[0].snapshot_id
    source.snapshot_id = lambda: taken
    with pytest.raises(FloebergError, match="no free snapshot id"):
        builder.append((2,))
    assert ids(builder) == [1]


def test_without_the_look_the_commit_would_collide(monkeypatch):
    builder, source = with_ids()
    drawn_twice(builder, source)
    real = SnapshotList.has_id

    def forgetful(self, snapshot_id):
        return False

    def draw(self, key, base):
        monkeypatch.setattr(SnapshotList, "has_id", forgetful)
        try:
            return Real(self, key, base)
        finally:
            monkeypatch.setattr(SnapshotList, "has_id", real)

    Real = Workspace.snapshot_id
    monkeypatch.setattr(Workspace, "snapshot_id", draw)
    with pytest.raises(SnapshotAlreadyExists):
        builder.append((2,))


def test_a_snapshot_of_the_same_id_is_not_taken_for_our_own():
    """After a conflict, another's snapshot that drew our id does not count as our success: the list's name differs."""
    builder, source = with_ids()
    state = builder.table._state
    source.force_snapshot_id(77)
    rival = builder.second()
    rival._commit(Append(files=[builder.data_file((3,))]))
    source.force_snapshot_id(77)
    stale = replace(state, metadata=state.metadata)
    builder.table._state = stale
    builder.table._commit(Append(files=[builder.data_file((2,))]))
    assert ids(builder) == [1, 2, 3]
