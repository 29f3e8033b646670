"""An attempt that was answered by a conflict may still take effect: a proxy sent it twice, the second was refused, and the first
arrived after the table was looked at. The attempts after it find it, add nothing, and remove nothing that it refers to."""

from __future__ import annotations

import pytest

from floeberg.catalogs.base import LoadedTable
from floeberg.catalogs.several_tables import TableOperations, commit_tables
from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.idempotence import AppTransaction
from floeberg.commit.operation import Operation
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.errors import CommitConflict
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder
from lakes.stub_pointer import StubPointer


def built() -> TableBuilder:
    return TableBuilder(effects=SimWorld(1).process("writer").effects).append((1,)).append((2,))


def rewrite(builder: TableBuilder) -> RewriteFiles:
    head = builder.table.metadata.current_snapshot
    assert head is not None
    return RewriteFiles(
        removed=builder.data(), added=[builder.data_file((1,), (2,))], starting_snapshot_id=head.snapshot_id
    )


def append(builder: TableBuilder) -> Append:
    return Append(files=[builder.data_file((3,))])


@pytest.mark.parametrize("after", ["conflict", "unknown"])
@pytest.mark.parametrize("once", [None, AppTransaction(app_id="job", version=7)])
@pytest.mark.parametrize("make", [append, rewrite])
def test_an_earlier_attempt_that_comes_late_is_the_commit(make, once, after) -> None:
    builder = built()
    operation: Operation = make(builder)
    pointer = StubPointer(builder.table._pointer, "conflict late", after)
    committed = commit_operations(pointer, builder.table._state, [operation], once=once)
    table = builder.table.refresh()
    assert committed.skipped is None, "its files are those of the table, and not left over"
    assert [one.snapshot_id for one in committed.snapshots] == [table.metadata.current_snapshot_id]
    assert [row[0] for row in builder.rows()] == ([1, 2, 3] if make is append else [1, 2])
    assert len(table.snapshots) == 3


def test_only_the_files_of_the_attempt_that_took_effect_are_left() -> None:
    builder = built()
    store = builder.table._pointer.store_for(builder.table.location)
    before = {info.location for info in store.list(builder.table.location)}
    pointer = StubPointer(builder.table._pointer, "conflict late", "conflict")
    commit_operations(pointer, builder.table._state, [append(builder)])
    left = [info.location for info in store.list(builder.table.location) if info.location not in before]
    assert sum(location.endswith(".avro") for location in left) == 2, "one manifest and one list"


class LateTables:
    """A catalog whose first commit over several tables is answered by a conflict and takes effect later."""

    def __init__(self, builder: TableBuilder) -> None:
        self._backend = builder.catalog._backend
        self._late = True

    def swap_tables(self, swaps):
        if self._late:
            self._late = False
            self.arrive = lambda: self._backend.swap_tables(swaps)
            raise CommitConflict("the catalog says another came first")
        self.arrive()
        raise CommitConflict("the catalog says another came first")


def test_an_earlier_attempt_over_several_tables_that_comes_late_is_the_commit() -> None:
    builder = built()
    backend = builder.catalog._backend
    other = TableBuilder(in_catalog=builder.catalog, name="db.other").append((5,))
    tables = [
        TableOperations(one.table.identifier, LoadedTable(one.table._pointer, one.table._state), [append(one)])
        for one in (builder, other)
    ]
    assert backend.capabilities.several_tables
    done = commit_tables(LateTables(builder), tables)  # type: ignore[arg-type]
    for one, committed in zip((builder, other), done, strict=True):
        head = one.table.refresh().metadata.current_snapshot_id
        assert [made.snapshot_id for made in committed.snapshots] == [head]
    assert [row[0] for row in builder.rows()] == [1, 2, 3]
    assert [row[0] for row in other.rows()] == [3, 5]
