"""Hazard 20: clean-up over shared locations, and aborts that delete source files. A commit removes only manifests and lists that
it wrote itself, purge only what lies in the table's own folders, and gc.enabled is honoured."""

from __future__ import annotations

import pytest

from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.row_delta import RowDelta
from floeberg.commit.workspace import Workspace
from floeberg.errors import CommitConflict, FloebergError, InvalidInput, ValidationConflict
from floeberg.storage.guard import Roots
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder
from lakes.stub_pointer import StubPointer


def two_tables() -> tuple[TableBuilder, TableBuilder]:
    """A table, and another that took over its data file."""
    owner = TableBuilder(effects=SimWorld(1).process("w").effects, format_version=3).append((1,), (2,))
    taker = TableBuilder(in_catalog=owner.catalog, name="db.taker", format_version=3)
    taker.table._commit(Append(files=owner.data()))
    return owner, taker


def test_a_failed_append_leaves_the_files_it_was_given():
    owner, taker = two_tables()
    more = owner.data_file((3,))
    pointer = StubPointer(taker.table._pointer, "conflict")
    with pytest.raises(CommitConflict):
        commit_operations(pointer, taker.table._state, [Append(files=[more])])
    assert taker.table._pointer.store_for(more.file_path).exists(more.file_path)


def failed_update() -> TableBuilder:
    """A deletion vector that loses its race; the data file is the other table's too."""
    owner, taker = two_tables()
    (shared,) = taker.data()
    mine, theirs = (RowDelta(added=[taker.deletes(shared, at)], view=taker.view()) for at in (0, 1))
    taker.second()._commit(theirs)
    with pytest.raises(ValidationConflict):
        taker.table._commit(mine)
    taker.table.refresh()
    assert [row[0] for row in taker.rows()] == [1]
    return owner


def test_a_failed_update_keeps_the_data_file():
    assert [row[0] for row in failed_update().rows()] == [1, 2]


def test_cleaning_up_what_a_commit_only_refers_to_would_lose_it(monkeypatch):
    real = Workspace.clean_up

    def greedy(self, *, keep):
        for entries in self._entries.values():
            for entry in entries:
                self._pointer.store_for(entry.data_file.file_path).delete(entry.data_file.file_path)
        real(self, keep=keep)

    monkeypatch.setattr(Workspace, "clean_up", greedy)
    with pytest.raises((FloebergError, AssertionError)):
        failed_update().rows()


def test_a_purge_leaves_files_outside_the_tables_folders():
    owner, taker = two_tables()
    taker.append((9,))
    taker.catalog.drop_table("db.taker", purge=True)
    assert [row[0] for row in owner.rows()] == [1, 2]


def test_a_purge_of_everything_that_is_referred_to_would_take_them(monkeypatch):
    owner, taker = two_tables()
    monkeypatch.setattr(Roots, "contains", lambda self, location: True)
    taker.catalog.drop_table("db.taker", purge=True)
    with pytest.raises(FloebergError):
        owner.rows()


def test_a_table_that_forbids_it_is_not_purged():
    owner, _ = two_tables()
    owner.set({"gc.enabled": "false"})
    with pytest.raises(InvalidInput, match=r"gc\.enabled"):
        owner.catalog.drop_table("db.t", purge=True)
    assert [row[0] for row in owner.rows()] == [1, 2]
