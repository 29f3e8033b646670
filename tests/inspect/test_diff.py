"""What changed between two snapshots."""

from __future__ import annotations

from floeberg.commit.append import Append
from floeberg.commit.delete_files import DeleteFiles
from floeberg.inspect.diff import schema_changes, snapshot_diff
from floeberg.inspect.source import Source
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import FileContent
from floeberg.spec.types import INT, LONG, STRING, NestedField, StructType
from golden_collection.golden_tables import open_golden
from lakes.scan_tables import add_deletes, data_file, equality_delete, new_table


def test_files_that_came_and_went_are_counted_by_kind() -> None:
    table = new_table()
    kept, gone = data_file(table, "kept", rows=3), data_file(table, "gone", rows=4)
    table._commit(Append(files=[kept, gone]))
    before = table.current_snapshot
    table._commit(DeleteFiles(removed=[gone]))
    table._commit(Append(files=[data_file(table, "new", rows=5)]))
    add_deletes(table, equality_delete(table, "e", "id", rows=2))
    after = table.current_snapshot
    assert after is not None
    found = snapshot_diff(Source(table.metadata, table._pointer.store_for), before, after)
    added, removed = found.counts(FileContent.DATA)
    assert (added.files, added.records, removed.files, removed.records) == (1, 5, 1, 4)
    added, removed = found.counts(FileContent.EQUALITY_DELETES)
    assert (added.files, added.records, removed.files) == (1, 2, 0)
    back = snapshot_diff(Source(table.metadata, table._pointer.store_for), after, before) if before else found
    assert back.added.equals(found.removed)
    assert back.removed.equals(found.added)


def test_from_nothing_everything_is_new() -> None:
    table = open_golden("deletion_vectors")
    assert table.current_snapshot is not None
    found = snapshot_diff(Source(table.metadata, table._pointer.store_for), None, table.current_snapshot)
    assert found.added.height == table.inspect.files().num_rows
    assert found.removed.height == 0
    assert found.schema == ("added c1 int", "added c2 int")


def test_the_vectors_of_one_puffin_file_are_different_files() -> None:
    table = open_golden("deletion_vectors")
    assert table.current_snapshot is not None
    found = snapshot_diff(Source(table.metadata, table._pointer.store_for), table.snapshots[2], table.current_snapshot)
    added, removed = found.counts(FileContent.POSITION_DELETES)
    assert (added.files, removed.files) == (2, 1)


def test_schema_changes_are_told_by_field_id() -> None:
    old = Schema(
        NestedField(1, "a", INT, required=True),
        NestedField(2, "b", STRING),
        NestedField(3, "c", StructType((NestedField(4, "d", INT),))),
    )
    new = Schema(
        NestedField(1, "id", LONG),
        NestedField(3, "c", StructType((NestedField(4, "d", INT, doc="deep"), NestedField(5, "e", STRING)))),
    )
    assert list(schema_changes(old, new)) == [
        "renamed a to id",
        "changed id from int to long",
        "made id optional",
        "changed the comment of c.d",
        "added c.e string",
        "dropped b string",
    ]
