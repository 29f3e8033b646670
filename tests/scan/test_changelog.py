"""A changelog is planned as files with their deletes before and after each snapshot, copy-on-write or merge-on-read."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from floeberg.api.table import Table
from floeberg.commit.append import Append
from floeberg.commit.overwrite import Overwrite
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.errors import SnapshotNotFound
from floeberg.expr.build import col
from floeberg.scan.changelog import plan_changelog
from floeberg.scan.changelog_tasks import ChangelogTask, ChangeType
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates import RemoveSnapshots
from lakes.scan_tables import (
    add_deletes,
    data_file,
    deletion_vector,
    equality_delete,
    new_table,
    plan,
    position_delete,
    short,
)

Change = tuple[int, str, list[str] | None, list[str] | None]


def changes(table: Table, **options: Any) -> list[Change]:
    found = plan_changelog(table.metadata, store_for=table._pointer.store_for, **options)
    return sorted(
        (task.change_ordinal, short(task.data_file), _names(task.before), _names(task.after)) for task in found.tasks
    )


def _names(deletes: Any) -> list[str] | None:
    return None if deletes is None else sorted(short(delete.file) for delete in deletes)


def snapshot_id(table: Table) -> int:
    current = table.current_snapshot
    assert current is not None
    return current.snapshot_id


def test_added_and_removed_files_are_inserts_and_deletes() -> None:
    table = new_table()
    first = data_file(table, "a")
    table._commit(Append(files=[first, data_file(table, "b")]))
    table._commit(Overwrite(removed=[first], added=[data_file(table, "c")]))
    assert changes(table) == [(0, "a", None, []), (0, "b", None, []), (1, "a", [], None), (1, "c", None, [])]
    ids = [snapshot.snapshot_id for snapshot in table.snapshots]
    tasks = plan_changelog(table.metadata, store_for=table._pointer.store_for, from_snapshot_id=ids[0]).tasks
    assert {task.commit_snapshot_id for task in tasks} == {ids[1]}
    assert {task.change_types for task in tasks} == {(ChangeType.INSERT,), (ChangeType.DELETE,)}


def test_new_deletes_are_changes_of_the_files_they_apply_to_and_no_others() -> None:
    table = new_table(partition_by=["day"])
    one, other = (
        data_file(table, "one", partition=(1,), id=(1, 9)),
        data_file(table, "other", partition=(2,), id=(1, 9)),
    )
    table._commit(Append(files=[one, other]))
    start = snapshot_id(table)
    add_deletes(table, position_delete(table, "p", one, partition=(1,)))
    add_deletes(table, equality_delete(table, "e", "id", partition=(1,), id=(3, 3)))
    add_deletes(table, equality_delete(table, "far", "id", partition=(2,), id=(70, 70)))
    assert changes(table, from_snapshot_id=start) == [(0, "one", [], ["p"]), (1, "one", ["p"], ["e", "p"])]


def test_rows_deleted_in_the_commit_that_adds_them_are_no_inserts() -> None:
    table = new_table()
    table._commit(Append(files=[data_file(table, "old")]))
    start = snapshot_id(table)
    new = data_file(table, "new")
    add_deletes(table, new, position_delete(table, "p", new), equality_delete(table, "e", "id"))
    assert changes(table, from_snapshot_id=start) == [(0, "new", None, ["p"]), (0, "old", [], ["e"])]


def test_a_file_is_removed_with_the_deletes_it_had() -> None:
    table = new_table()
    one = data_file(table, "one")
    table._commit(Append(files=[one]))
    add_deletes(table, position_delete(table, "p", one))
    start = snapshot_id(table)
    table._commit(Overwrite(removed=[one], added=[data_file(table, "two")]))
    assert changes(table, from_snapshot_id=start) == [(0, "one", ["p"], None), (0, "two", None, [])]


def test_a_replaced_deletion_vector_is_a_change_from_the_old_to_the_new() -> None:
    table = new_table(format_version=3)
    one = data_file(table, "one")
    table._commit(Append(files=[one]))
    first = deletion_vector(table, "dv1", one)
    add_deletes(table, first)
    add_deletes(table, deletion_vector(table, "dv2", one, rows=12), removed=[first])
    assert changes(table)[1:] == [(1, "one", [], ["dv1"]), (2, "one", ["dv1"], ["dv2"])]


def test_compaction_changes_no_row_and_is_passed_over() -> None:
    table = new_table()
    files = [data_file(table, "a"), data_file(table, "b")]
    table._commit(Append(files=files))
    start = snapshot_id(table)
    table._commit(RewriteFiles(removed=files, added=[data_file(table, "ab", rows=20)], starting_snapshot_id=start))
    table._commit(Append(files=[data_file(table, "c")]))
    assert changes(table, from_snapshot_id=start) == [(0, "c", None, [])]


def test_files_that_the_filter_rules_out_are_left_out() -> None:
    table = new_table()
    low, high = data_file(table, "low", id=(1, 9)), data_file(table, "high", id=(10, 19))
    table._commit(Append(files=[low, high]))
    table._commit(Overwrite(removed=[low, high], added=[]))
    assert changes(table, where=col("id") > 12) == [(0, "high", None, []), (1, "high", [], None)]
    tasks = plan_changelog(table.metadata, store_for=table._pointer.store_for, where=col("id") > 12).tasks
    assert {str(task.residual) for task in tasks} == {"id > 12"}


def test_a_change_is_read_as_two_scans_of_its_file() -> None:
    table = new_table()
    one = data_file(table, "one")
    table._commit(Append(files=[one]))
    add_deletes(table, position_delete(table, "p", one))
    task: ChangelogTask = plan_changelog(table.metadata, store_for=table._pointer.store_for).tasks[-1]
    assert task.before == ()
    assert task.after is not None
    assert task.reading(task.after).deletes == next(iter(plan(table))).deletes
    assert task.reading(()) == structs.replace(next(iter(plan(table))), deletes=())


def test_an_expired_parent_matters_only_where_something_was_removed() -> None:
    table = new_table()
    first = data_file(table, "a")
    table._commit(Append(files=[first]))
    oldest = snapshot_id(table)
    table._commit(Append(files=[data_file(table, "b")]))
    table._commit(Overwrite(removed=[first], added=[]))
    metadata = apply_updates(table.metadata, [RemoveSnapshots((oldest,))], now_ms=table.metadata.last_updated_ms)
    found = plan_changelog(metadata, store_for=table._pointer.store_for)
    assert [short(task.data_file) for task in found.tasks] == ["b", "a"]
    middle = metadata.snapshots[0].snapshot_id
    metadata = apply_updates(metadata, [RemoveSnapshots((middle,))], now_ms=metadata.last_updated_ms)
    with pytest.raises(SnapshotNotFound, match="expired"):
        plan_changelog(metadata, store_for=table._pointer.store_for)
