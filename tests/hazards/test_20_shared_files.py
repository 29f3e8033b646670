"""Hazard 20: clean-up over shared locations, and aborts that delete source files. A commit removes only manifests and lists that
it wrote itself, purge, expiry and orphan removal only what lies in the table's own folders, and gc.enabled is honoured."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.row_delta import RowDelta
from floeberg.commit.workspace import Workspace
from floeberg.errors import CommitConflict, FloebergError, InvalidInput, ValidationConflict
from floeberg.maintenance.expire import Expiry, expire_snapshots
from floeberg.maintenance.rewrite.arrow_engine import ArrowEngine
from floeberg.maintenance.rewrite.compact import RewriteRequest, rewrite_data_files
from floeberg.storage.guard import Roots
from floeberg.testing.interrupted_engine import InterruptedEngine
from floeberg.testing.sim_catalogs import sim_lake
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


# expiry and orphan removal


def expire(builder: TableBuilder) -> None:
    table = builder.table.refresh()
    expire_snapshots(table._pointer, table._state, Expiry(older_than_ms=2**62, retain_last=1))


def compacted_and_expired() -> TableBuilder:
    """The table that owns a file which another one took over, rewrote, and let its snapshots expire."""
    owner, taker = two_tables()
    taker.append((3,))
    taker.table.maintenance.compact(options={"rewrite-all": "true"})
    expire(taker)
    assert [row[0] for row in taker.rows()] == [1, 2, 3]
    return owner


def test_expiry_after_a_rewrite_leaves_the_files_that_were_taken_over():
    assert [row[0] for row in compacted_and_expired().rows()] == [1, 2]


def test_expiry_of_everything_that_is_not_reached_any_more_would_take_them(monkeypatch):
    monkeypatch.setattr(Roots, "contains", lambda self, location: True)
    with pytest.raises(FloebergError):
        compacted_and_expired().rows()


CLEAN_UPS = {
    "expiry": expire,
    "orphan removal": lambda builder: builder.table.refresh().maintenance.remove_orphans(dry_run=False),
}


@pytest.mark.parametrize("name", CLEAN_UPS)
def test_a_table_that_forbids_it_is_not_cleaned(name):
    owner, taker = two_tables()
    owner.set({"gc.enabled": "FALSE"}).append((3,)).table.overwrite(owner.arrow([(4,)]))
    with pytest.raises(InvalidInput, match=r"gc\.enabled"):
        CLEAN_UPS[name](owner)
    assert [row[0] for row in taker.rows()] == [1, 2]


@pytest.mark.parametrize(("named", "is_lost"), [("gc.enabled", False), ("another name", True)])
def test_expiry_that_did_not_heed_it_would_lose_the_files_of_the_other_table(monkeypatch, named, is_lost):
    owner, taker = two_tables()
    owner.set({"gc.enabled": "false"}).table.overwrite(owner.arrow([(4,)]))
    monkeypatch.setattr("floeberg.maintenance.expire.GC_ENABLED", named)
    refused = pytest.raises(InvalidInput) if not is_lost else nullcontext()
    with refused:
        expire(owner)
    read = pytest.raises(FloebergError) if is_lost else nullcontext()
    with read:
        assert [row[0] for row in taker.rows()] == [1, 2]


def shared_data_path(*, force: bool) -> tuple[TableBuilder, TableBuilder]:
    """Two tables that write to one folder for data. Orphans of one of them are removed there, long after."""
    world = SimWorld(20)
    lake = sim_lake(world.process("writer"))
    shared = {"write.data.path": "s3://lake/shared"}
    one, other = (TableBuilder(in_catalog=lake, name=f"db.{name}", properties=shared) for name in ("one", "other"))
    one.append((1,))
    other.append((2,))
    world.time_ms += 10 * 24 * 60 * 60 * 1000
    one.table.maintenance.remove_orphans(location=shared["write.data.path"], dry_run=False, force=force)
    return one, other


def test_orphans_in_a_folder_outside_the_tables_own_are_only_removed_by_force():
    with pytest.raises(InvalidInput, match="other tables may keep files there"):
        shared_data_path(force=False)
    one, other = shared_data_path(force=True)
    assert [row[0] for row in one.rows()] == [1]
    with pytest.raises(FloebergError):
        other.rows()  # what the refusal is for


def test_orphan_removal_leaves_the_files_that_were_taken_over():
    owner, taker = two_tables()
    taker.table.maintenance.remove_orphans(dry_run=False, older_than=2**50, force=True)
    owner.table.maintenance.remove_orphans(dry_run=False, older_than=2**50, force=True)
    assert [row[0] for row in owner.rows()] == [1, 2]
    assert [row[0] for row in taker.rows()] == [1, 2]


def aborted_rewrite() -> TableBuilder:
    """A rewrite of a file that was taken over, which loses to another rewrite of it; its new files are removed."""
    owner, taker = two_tables()
    table = taker.table.refresh()
    request = RewriteRequest(options={"rewrite-all": "true"})
    others = [lambda: taker.second().maintenance.compact(options={"rewrite-all": "true"})]
    done = rewrite_data_files(
        table._pointer, table._state, InterruptedEngine(ArrowEngine(table._pointer), *others), request
    )
    assert (done.redone_groups, done.rewritten_data_files) == (1, 0)
    return owner


def test_an_aborted_rewrite_keeps_the_files_that_it_read():
    assert [row[0] for row in aborted_rewrite().rows()] == [1, 2]


def test_an_aborted_rewrite_that_removed_what_it_read_would_lose_them(monkeypatch):
    def greedy(self, files):
        for path in {task.data_file.file_path for group in self.read for task in group.tasks}:
            self._engine.pointer.store_for(path).delete(path)

    real = InterruptedEngine.rewrite

    def remembering(self, group, plan):
        self.read = [*getattr(self, "read", []), group]
        return real(self, group, plan)

    monkeypatch.setattr(InterruptedEngine, "rewrite", remembering)
    monkeypatch.setattr(InterruptedEngine, "discard", greedy)
    with pytest.raises(FloebergError):
        aborted_rewrite().rows()
