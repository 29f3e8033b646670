from __future__ import annotations

import pytest

from floeberg.commit.append import Append
from floeberg.commit.delete_files import DeleteFiles
from floeberg.commit.isolation import IsolationLevel
from floeberg.commit.overwrite import Overwrite
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.expr.build import eq, gt, lt
from floeberg.expr.nodes import TRUE
from floeberg.spec.snapshots.manifest_entry import EntryStatus, ManifestContent
from floeberg.testing.table_builder import TableBuilder

SNAPSHOT = IsolationLevel.SNAPSHOT


def partitioned(version: int = 2) -> TableBuilder:
    return TableBuilder(partition_by=["p"], format_version=version).append((1, 0), (2, 0), (3, 1), (4, 1))


def ids(builder: TableBuilder, **where: object) -> list[int]:
    return [row[0] for row in builder.rows(**where)]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_overwrite_by_filter_replaces_whole_files(version):
    builder = partitioned(version)
    committed = builder.table._commit(Overwrite(added=builder.data_files((9, 1)), row_filter=eq("p", 1)))
    assert ids(builder) == [1, 2, 9]
    (snapshot,) = committed.snapshots
    assert snapshot.operation == "overwrite"
    summary = snapshot.summary
    assert (summary["deleted-data-files"], summary["deleted-records"]) == ("1", "2")
    assert (summary["total-data-files"], summary["total-records"]) == ("2", "3")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_overwrite_by_files_marks_the_removed_ones_deleted(version):
    builder = partitioned(version)
    old = builder.data()[0]
    builder.table._commit(Overwrite(added=builder.data_files((8, 0)), removed=[old], view=builder.view()))
    from floeberg.commit.workspace import Workspace

    workspace = Workspace(builder.table._pointer)
    metadata, head = builder.table.metadata, builder.table.current_snapshot
    entries = [e for m in workspace.manifests(head, metadata) for e in workspace.entries(m, metadata)]
    deleted = [e for e in entries if e.status is EntryStatus.DELETED]
    assert [(e.data_file.file_path, e.snapshot_id) for e in deleted] == [(old.file_path, head.snapshot_id)]


def test_an_overwrite_says_what_was_meant_even_when_it_finds_nothing():
    builder = partitioned()
    operations = {
        "overwrite": Overwrite(added=builder.data_files((9, 7)), row_filter=eq("p", 7)),
        "delete": Overwrite(row_filter=eq("p", 8)),
        "append": Overwrite(added=builder.data_files((9, 6))),
    }
    for operation, change in operations.items():
        assert builder.table._commit(change).snapshots[0].operation == operation


def test_a_filter_that_cuts_a_file_is_refused_and_nothing_changes():
    builder = partitioned()
    before = builder.table.metadata_location
    with pytest.raises(InvalidInput, match="some but not all"):
        builder.table._commit(Overwrite(row_filter=eq("id", 1)))
    assert builder.table.refresh().metadata_location == before


def test_metrics_decide_where_partitions_do_not():
    builder = TableBuilder().append((1,), (2,)).append((10,), (11,))
    builder.table._commit(Overwrite(row_filter=gt("id", 5)))
    assert ids(builder) == [1, 2]


def test_partition_and_metrics_decide_together():
    builder = TableBuilder(partition_by=["p"]).append((1, 0)).append((9, 0)).append((9, 1))
    builder.table._commit(DeleteFiles(row_filter=eq("p", 0) & gt("id", 5)))
    assert ids(builder) == [1, 9]
    assert builder.rows()[1][1] == 1


def test_deletes_of_a_range_go_with_its_rows():
    builder = partitioned()
    file = next(f for f in builder.data() if f.partition == (1,))
    builder.table._commit(RowDelta(added=[builder.deletes(file, 0)], view=builder.view()))
    assert len(builder.live(ManifestContent.DELETES)) == 1
    builder.table._commit(Overwrite(added=builder.data_files((9, 1)), row_filter=eq("p", 1)))
    assert builder.live(ManifestContent.DELETES) == []
    assert builder.table.current_snapshot.summary["removed-position-delete-files"] == "1"
    assert ids(builder) == [1, 2, 9]


def test_added_files_can_be_held_to_the_filter():
    builder = partitioned()
    with pytest.raises(InvalidInput, match="outside the overwritten range"):
        builder.table._commit(
            Overwrite(added=builder.data_files((9, 2)), row_filter=eq("p", 1), added_must_match_filter=True)
        )
    builder.table._commit(
        Overwrite(added=builder.data_files((9, 1)), row_filter=eq("p", 1), added_must_match_filter=True)
    )


def test_only_manifests_that_may_hold_the_files_are_read():
    builder = TableBuilder(partition_by=["p"]).append((1, 0)).append((2, 1)).append((3, 2))
    doomed = next(f for f in builder.data() if f.partition == (1,))
    builder.table._commit(DeleteFiles(removed=[doomed]))
    assert builder.table.current_snapshot.summary["entries-processed"] == "1"
    builder.table._commit(DeleteFiles(row_filter=eq("p", 2)))
    assert builder.table.current_snapshot.summary["entries-processed"] == "1"
    assert ids(builder) == [1]


# conflicts


def test_data_added_meanwhile_in_the_range_conflicts_when_serializable_and_not_in_snapshot_isolation():
    for isolation, conflicts in ((IsolationLevel.SERIALIZABLE, True), (SNAPSHOT, False)):
        builder = partitioned()
        old = next(f for f in builder.data() if f.partition == (1,))
        change = Overwrite(
            added=builder.data_files((5, 1)), removed=[old], view=builder.view(eq("p", 1), isolation=isolation)
        )
        builder.second().append(builder.arrow([(7, 1)]))
        if not conflicts:
            builder.table._commit(change)
            assert ids(builder) == [1, 2, 5, 7]
            continue
        with pytest.raises(ValidationConflict, match="added data files") as caught:
            builder.table._commit(change)
        context = caught.value.context
        added = builder.table.refresh().current_snapshot
        assert context["snapshot_id"] == added.snapshot_id
        assert str(added.snapshot_id) in str(caught.value)
        assert context["retry_can_help"] is True
        assert len(context["files"]) == 1
        assert ids(builder) == [1, 2, 3, 4, 7]


def test_data_added_meanwhile_elsewhere_does_not_conflict():
    builder = partitioned()
    old = next(f for f in builder.data() if f.partition == (1,))
    change = Overwrite(added=builder.data_files((5, 1)), removed=[old], view=builder.view(eq("p", 1)))
    builder.second().append(builder.arrow([(7, 0)]))
    builder.table._commit(change)
    assert ids(builder) == [1, 2, 5, 7]


@pytest.mark.parametrize("isolation", list(IsolationLevel))
@pytest.mark.parametrize("version", [2, 3])
def test_rows_deleted_meanwhile_of_a_replaced_file_conflict_always(isolation, version):
    builder = partitioned(version)
    old = next(f for f in builder.data() if f.partition == (1,))
    change = Overwrite(added=builder.data_files((5, 1)), removed=[old], view=builder.view(isolation=isolation))
    delta = RowDelta(added=[builder.deletes(old, 0)], view=builder.view())
    builder.second()._commit(delta)
    with pytest.raises(ValidationConflict, match="deleted rows of data files that this operation replaces"):
        builder.table._commit(change)


def test_rows_deleted_meanwhile_of_another_partition_do_not_conflict():
    builder = partitioned()
    old = next(f for f in builder.data() if f.partition == (1,))
    other = next(f for f in builder.data() if f.partition == (0,))
    change = Overwrite(added=builder.data_files((5, 1)), removed=[old], view=builder.view(eq("p", 1)))
    builder.second()._commit(RowDelta(added=[builder.deletes(other, 0)], view=builder.view()))
    builder.table._commit(change)
    assert ids(builder) == [2, 5]


@pytest.mark.parametrize("isolation", list(IsolationLevel))
def test_a_file_that_someone_else_replaced_conflicts_and_names_the_snapshot(isolation):
    builder = partitioned()
    old = next(f for f in builder.data() if f.partition == (1,))
    view = builder.view(isolation=isolation)
    mine = Overwrite(added=builder.data_files((5, 1)), removed=[old], view=view)
    theirs = Overwrite(added=builder.data_files((6, 1)), removed=[old], view=view)
    (winner,) = builder.second()._commit(theirs).snapshots
    with pytest.raises(ValidationConflict, match="removed data files that this overwrite replaces") as caught:
        builder.table._commit(mine)
    assert caught.value.context["snapshot_id"] == winner.snapshot_id
    assert caught.value.context["files"] == [old.file_path]


def test_rows_that_a_serializable_overwrite_read_and_someone_removed_conflict():
    for isolation, conflicts in ((IsolationLevel.SERIALIZABLE, True), (SNAPSHOT, False)):
        builder = TableBuilder(partition_by=["p"]).append((1, 0)).append((2, 0)).append((3, 1))
        first, second = [f for f in builder.data() if f.partition == (0,)]
        change = Overwrite(
            added=builder.data_files((5, 0)), removed=[first], view=builder.view(eq("p", 0), isolation=isolation)
        )
        builder.second()._commit(DeleteFiles(removed=[second]))
        if conflicts:
            with pytest.raises(ValidationConflict, match="read"):
                builder.table._commit(change)
        else:
            builder.table._commit(change)


def test_an_overwrite_by_filter_with_a_view_conflicts_with_deletes_and_removals_in_its_range():
    for change_of_other in ("delete", "remove"):
        builder = partitioned()
        file = next(f for f in builder.data() if f.partition == (1,))
        view = builder.view(isolation=SNAPSHOT)
        mine = Overwrite(added=builder.data_files((5, 1)), row_filter=eq("p", 1), view=view)
        other = builder.second()
        if change_of_other == "delete":
            other._commit(RowDelta(added=[builder.deletes(file, 0)], view=builder.view()))
        else:
            other._commit(DeleteFiles(removed=[file]))
        with pytest.raises(ValidationConflict):
            builder.table._commit(mine)
        blind = Overwrite(added=builder.data_files((5, 1)), row_filter=eq("p", 1))
        builder.table._commit(blind)
        assert ids(builder) == [1, 2, 5]


def test_a_blind_overwrite_replaces_what_is_there_when_it_commits():
    builder = partitioned()
    change = Overwrite(added=builder.data_files((5, 1)), row_filter=eq("p", 1))
    builder.second().append(builder.arrow([(7, 1)]))
    builder.table._commit(change)
    assert ids(builder) == [1, 2, 5]


def test_a_missing_file_is_a_conflict_unless_it_may_be_missing():
    builder = partitioned()
    file = builder.data()[0]
    builder.second()._commit(DeleteFiles(removed=[file]))
    with pytest.raises(ValidationConflict, match="not in the table any more"):
        builder.table._commit(DeleteFiles(removed=[file]))
    builder.table._commit(DeleteFiles(removed=[file], missing_is_error=False))


def test_a_delete_by_filter_takes_what_was_added_meanwhile_unless_it_is_serializable():
    builder = partitioned()
    blind, careful = (DeleteFiles(row_filter=eq("p", 1), view=view) for view in (None, builder.view()))
    builder.second().append(builder.arrow([(7, 1)]))
    with pytest.raises(ValidationConflict, match="added data files"):
        builder.table._commit(careful)
    builder.table._commit(blind)
    assert ids(builder) == [1, 2]


def test_a_history_that_was_expired_or_rolled_back_cannot_be_judged():
    builder = partitioned()
    start = builder.table.current_snapshot.snapshot_id
    change = Overwrite(added=builder.data_files((5, 1)), removed=builder.data()[:1], view=builder.view(TRUE))
    other = builder.second()
    other.append(builder.arrow([(7, 5)]))
    other.append(builder.arrow([(8, 5)]))
    from floeberg.commit.table_changes import PlainUpdates
    from floeberg.spec.changes.updates import RemoveSnapshots

    other._commit(PlainUpdates(given=[RemoveSnapshots((start,))]))
    with pytest.raises(ValidationConflict, match=f"since snapshot {start}: snapshot {start} was expired"):
        builder.table._commit(change)

    empty = TableBuilder()
    planned_on_nothing = Overwrite(added=[empty.data_file((1,))], row_filter=lt("id", 5), view=empty.view())
    other = empty.second()
    for number in (20, 21):
        other._commit(Append(files=[empty.data_file((number,))]))
    other._commit(PlainUpdates(given=[RemoveSnapshots((other.snapshots[0].snapshot_id,))]))
    with pytest.raises(ValidationConflict, match="since its beginning"):
        empty.table._commit(planned_on_nothing)


def test_a_rollback_in_between_is_a_conflict():
    builder = partitioned().append((9, 0))
    change = Overwrite(added=builder.data_files((5, 1)), removed=builder.data()[:1], view=builder.view())
    other = builder.second()
    with other.manage_refs() as refs:
        refs.rollback_to_snapshot(other.snapshots[0].snapshot_id)
    with pytest.raises(ValidationConflict, match="rolled back"):
        builder.table._commit(change)
