from __future__ import annotations

import pytest

from floeberg.commit.append import Append
from floeberg.commit.cherry_pick import CherryPick, Publish
from floeberg.commit.delete_files import DeleteFiles
from floeberg.commit.isolation import IsolationLevel, ReadView
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.overwrite import Overwrite
from floeberg.commit.refs import BeginBranch, CreateRef, RemoveRef, Retention, SetBranchSnapshot
from floeberg.commit.replace_partitions import ReplacePartitions
from floeberg.commit.table_changes import PlainUpdates
from floeberg.errors import (
    InvalidInput,
    RefAlreadyExists,
    RefNotFound,
    SnapshotNotFound,
    ValidationConflict,
)
from floeberg.expr.build import eq
from floeberg.spec.changes.updates import RemoveSnapshots
from floeberg.spec.snapshots.refs import RefType
from floeberg.testing.table_builder import TableBuilder
from lakes.cdc_batches import write_batch


def ids(builder: TableBuilder, **where: object) -> list[int]:
    return [row[0] for row in builder.rows(**where)]


def staged(builder: TableBuilder, operation=Append, wap_id: str = "w", rows=((9, 0),)):
    target = SnapshotTarget(stage_only=True, summary={"wap.id": wap_id})
    return builder.table._commit(operation(files=builder.data_files(*rows), target=target)).snapshots[0]


# branches and tags


def test_branches_and_tags_are_made_moved_and_removed_with_their_retention():
    builder = TableBuilder().append((1,)).append((2,))
    first, second = [snapshot.snapshot_id for snapshot in builder.table.snapshots]
    with builder.table.manage_refs() as refs:
        refs.create_branch("b", first, retention=Retention(min_snapshots_to_keep=3, max_ref_age_ms=9))
        refs.create_tag("t", max_ref_age_ms=5)
    found = builder.table.refs
    assert (found["b"].snapshot_id, found["b"].min_snapshots_to_keep, found["b"].max_ref_age_ms) == (first, 3, 9)
    assert (found["t"].snapshot_id, found["t"].type, found["t"].max_ref_age_ms) == (second, RefType.TAG, 5)
    with builder.table.manage_refs() as refs:
        refs.set_retention("b", Retention(max_snapshot_age_ms=7))
        refs.create_branch("b", second, replace=True)
        refs.rename_branch("b", "c")
        refs.remove_tag("t")
    assert set(builder.table.refs) == {"main", "c"}
    kept = builder.table.refs["c"]
    assert (kept.snapshot_id, kept.min_snapshots_to_keep, kept.max_snapshot_age_ms) == (second, 3, 7)


def test_a_write_keeps_the_retention_of_its_branch():
    builder = TableBuilder().append((1,))
    with builder.table.manage_refs() as refs:
        refs.create_branch("b", retention=Retention(min_snapshots_to_keep=3))
    builder.append((2,), branch="b")
    assert builder.table.refs["b"].min_snapshots_to_keep == 3


@pytest.mark.parametrize(
    ("operation", "error", "message"),
    [
        (CreateRef(name="main", type=RefType.BRANCH), RefAlreadyExists, "is there already"),
        (CreateRef(name="t", type=RefType.BRANCH, replace=True), InvalidInput, "is a tag"),
        (CreateRef(name="x", type=RefType.BRANCH, must_exist=True, replace=True), RefNotFound, "no branch or tag"),
        (CreateRef(name="x", type=RefType.TAG, snapshot_id=5), SnapshotNotFound, "no snapshot 5"),
        (
            CreateRef(name="x", type=RefType.TAG, retention=Retention(min_snapshots_to_keep=1)),
            InvalidInput,
            "tag keeps one",
        ),
        (RemoveRef(name="main"), InvalidInput, "cannot be removed"),
        (RemoveRef(name="x"), RefNotFound, "no branch or tag"),
        (RemoveRef(name="t", type=RefType.BRANCH), InvalidInput, "is a tag"),
        (SetBranchSnapshot(snapshot_id=5), SnapshotNotFound, "no snapshot 5"),
    ],
)
def test_what_references_cannot_do_is_said(operation, error, message):
    builder = TableBuilder().append((1,)).tag("t")
    with pytest.raises(error, match=message):
        builder.table._commit(operation)


def test_if_exists_and_if_not_exists_change_nothing():
    builder = TableBuilder().append((1,)).tag("t")
    before = builder.table.metadata_location
    builder.table._commit(
        CreateRef(name="t", type=RefType.TAG, if_not_exists=True), RemoveRef(name="x", if_exists=True)
    )
    assert builder.table.metadata_location == before


def test_a_tag_never_moves():
    builder = TableBuilder().append((1,)).tag("t").append((2,))
    with pytest.raises(InvalidInput, match="does not move"):
        builder.table._commit(SetBranchSnapshot(snapshot_id=builder.table.current_snapshot.snapshot_id, branch="t"))
    with pytest.raises(InvalidInput, match="does not move"), builder.table.manage_refs() as refs:
        refs.fast_forward("t", "main")


def test_a_branch_of_an_empty_table_begins_with_an_empty_snapshot():
    builder = TableBuilder()
    with builder.table.manage_refs() as refs:
        refs.create_branch("b", retention=Retention(min_snapshots_to_keep=3))
    assert (builder.table.current_snapshot, set(builder.table.refs)) == (None, {"b"})
    assert builder.table.refs["b"].min_snapshots_to_keep == 3
    builder.append((1,), branch="b")
    assert (ids(builder), ids(builder, ref="b")) == ([], [1])
    with pytest.raises(InvalidInput, match="no snapshot for tag 't'"), builder.table.manage_refs() as refs:
        refs.create_tag("t")


def test_the_first_write_makes_a_branch_where_main_is_by_then():
    target = SnapshotTarget(branch="audit", begins_branch=True)
    begun, late = TableBuilder(), TableBuilder()
    files = late.data_files((2,))
    late.append((1,))
    begun.table._commit(BeginBranch(name="audit"), Append(files=begun.data_files((2,)), target=target))
    late.table._commit(BeginBranch(name="audit"), Append(files=files, target=target))
    assert (ids(begun), ids(begun, ref="audit"), len(begun.table.snapshots)) == ([], [2], 1)
    assert (ids(late), sorted(ids(late, ref="audit"))) == ([1], [1, 2])
    with pytest.raises(RefNotFound, match="create it first"):
        begun.table._commit(Append(files=begun.data_files((3,)), target=SnapshotTarget(branch="other")))


def test_a_change_that_begins_a_branch_sees_what_main_got_meanwhile():
    builder = TableBuilder().append((1,))
    target = SnapshotTarget(branch="audit", begins_branch=True)
    change = Overwrite(added=builder.data_files((2,)), view=ReadView(starting_snapshot_id=None), target=target)
    with pytest.raises(ValidationConflict):
        builder.table._commit(BeginBranch(name="audit"), change)


# moving a branch


def test_a_rollback_goes_back_in_the_history_and_nowhere_else():
    builder = TableBuilder().append((1,)).append((2,))
    first, second = [snapshot.snapshot_id for snapshot in builder.table.snapshots]
    with builder.table.manage_refs() as refs:
        refs.rollback_to_snapshot(first)
    assert ids(builder) == [1]
    with pytest.raises(ValidationConflict, match="not in the branch's history") as caught:
        builder.table._commit(SetBranchSnapshot(snapshot_id=second, must_be_ancestor=True))
    assert caught.value.context["retry_can_help"] is False
    with builder.table.manage_refs() as refs:
        refs.set_current_snapshot(second)
    assert ids(builder) == [1, 2]
    assert [entry.snapshot_id for entry in builder.table.metadata.snapshot_log] == [first, second, first, second]


def test_a_rollback_to_a_time_takes_the_newest_snapshot_before_it():
    builder = TableBuilder().append((1,)).append((2,))
    time_ms = builder.table.snapshots[1].timestamp_ms
    with builder.table.manage_refs() as refs:
        refs.rollback_to_timestamp(time_ms + 1)
    assert ids(builder) == [1, 2]
    with pytest.raises(SnapshotNotFound, match="is older than"), builder.table.manage_refs() as refs:
        refs.rollback_to_timestamp(0)


def test_a_branch_is_fast_forwarded_only_along_its_history():
    builder = TableBuilder().append((1,)).branch("b").append((2,), branch="b")
    with builder.table.manage_refs() as refs:
        refs.fast_forward("main", "b")
    assert ids(builder) == [1, 2]
    builder.append((3,)).append((4,), branch="b")
    with pytest.raises(ValidationConflict, match="diverged"), builder.table.manage_refs() as refs:
        refs.fast_forward("main", "b")
    with builder.table.manage_refs() as refs:
        refs.fast_forward("new", "b")
    assert builder.table.refs["new"].snapshot_id == builder.table.refs["b"].snapshot_id


# publishing and cherry-picking


def test_a_staged_snapshot_is_published_as_it_is_while_nothing_came_between():
    builder = TableBuilder(partition_by=["p"]).append((1, 0))
    snapshot = staged(builder)
    assert builder.table._commit(Publish(wap_id="w")).snapshots == ()
    assert builder.table.current_snapshot.snapshot_id == snapshot.snapshot_id
    assert ids(builder) == [1, 9]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_staged_append_is_replayed_on_what_came_between(version):
    builder = TableBuilder(partition_by=["p"], format_version=version).append((1, 0))
    source = staged(builder)
    builder.append((2, 0))
    (picked,) = builder.table._commit(Publish(wap_id="w")).snapshots
    assert ids(builder) == [1, 2, 9]
    assert picked.operation == "append"
    assert picked.summary["published-wap-id"] == "w"
    assert picked.summary["source-snapshot-id"] == str(source.snapshot_id)
    if version == 3:
        assert len({e.data_file.first_row_id for e in builder.live()}) == 3


def test_nothing_is_published_twice():
    builder = TableBuilder(partition_by=["p"]).append((1, 0))
    source = staged(builder)
    builder.append((2, 0))
    builder.table._commit(Publish(wap_id="w"))
    for again in (Publish(wap_id="w"), CherryPick(snapshot_id=source.snapshot_id)):
        with pytest.raises(ValidationConflict, match=r"picked from it already|published already") as caught:
            builder.table._commit(again)
        assert caught.value.context["retry_can_help"] is False
    with pytest.raises(ValidationConflict, match="history already"):
        builder.table._commit(CherryPick(snapshot_id=builder.table.snapshots[0].snapshot_id))
    other = staged(builder, wap_id="w")
    builder.append((3, 0))
    with pytest.raises(ValidationConflict, match="published already"):
        builder.table._commit(CherryPick(snapshot_id=other.snapshot_id))
    with pytest.raises(SnapshotNotFound, match="no staged snapshot"):
        builder.table._commit(Publish(wap_id="unknown"))


def test_an_id_under_which_several_snapshots_are_staged_publishes_none_of_them():
    builder = TableBuilder(partition_by=["p"])
    staged(builder)
    staged(builder, rows=((10, 0),))
    first, second = builder.table.snapshots
    with pytest.raises(InvalidInput, match=f"{first.snapshot_id}, {second.snapshot_id}.*cherrypick_snapshot"):
        builder.table._commit(Publish(wap_id="w"))
    assert ids(builder) == []
    builder.table._commit(CherryPick(snapshot_id=second.snapshot_id))
    assert ids(builder) == [10]


def test_two_publishers_of_one_snapshot_cannot_both_succeed():
    builder = TableBuilder(partition_by=["p"]).append((1, 0))
    staged(builder)
    builder.append((2, 0))
    builder.second()._commit(Publish(wap_id="w"))
    with pytest.raises(ValidationConflict, match="already"):
        builder.table._commit(Publish(wap_id="w"))
    builder.table.refresh()
    assert ids(builder) == [1, 2, 9]


def test_a_staged_replacement_is_replayed_while_its_partitions_are_untouched():
    builder = TableBuilder(partition_by=["p"]).append((1, 0), (2, 1))
    staged(builder, ReplacePartitions, rows=((9, 0),))
    builder.append((3, 1))
    (picked,) = builder.table._commit(Publish(wap_id="w")).snapshots
    assert ids(builder) == [2, 3, 9]
    assert (picked.operation, picked.summary["replace-partitions"]) == ("overwrite", "true")


@pytest.mark.parametrize("what", ["added", "removed"])
def test_a_staged_replacement_conflicts_with_changes_of_its_partitions(what):
    builder = TableBuilder(partition_by=["p"]).append((1, 0), (2, 1))
    staged(builder, ReplacePartitions, rows=((9, 0),))
    if what == "added":
        builder.append((3, 0))
    else:
        builder.table._commit(DeleteFiles(row_filter=eq("p", 0)))
    with pytest.raises(ValidationConflict, match="cherry-picked overwrite"):
        builder.table._commit(Publish(wap_id="w"))


@pytest.mark.parametrize("staged_before", [True, False])
def test_a_replacement_of_partitions_conflicts_with_deletes_by_keys_that_tell_no_partition(staged_before):
    builder = TableBuilder("id bigint, p int", partition_by=["p"]).append((1, 0), (2, 1))
    copied = ((1, 0), (9, 0))
    view = ReadView(starting_snapshot_id=builder.table.current_snapshot.snapshot_id, isolation=IsolationLevel.SNAPSHOT)
    if staged_before:
        staged(builder, ReplacePartitions, rows=copied)
    write_batch(builder, [("D", (1, None), (1,))])
    builder.table.refresh()
    validated = ReplacePartitions(files=builder.data_files(*copied), view=view)
    with pytest.raises(ValidationConflict, match="overwrite"):
        builder.table._commit(Publish(wap_id="w") if staged_before else validated)
    assert builder.rows() == [(2, 1)]


def test_other_changes_are_picked_only_as_a_fast_forward():
    builder = TableBuilder(partition_by=["p"]).append((1, 0), (2, 1))
    target = SnapshotTarget(stage_only=True, summary={"wap.id": "d"})
    builder.table._commit(DeleteFiles(row_filter=eq("p", 0), target=target))
    later = builder.second()
    later.append(builder.arrow([(3, 1)]))
    with pytest.raises(ValidationConflict, match="only be published while"):
        builder.table._commit(Publish(wap_id="d"))
    with builder.table.refresh().manage_refs() as refs:
        refs.rollback_to_snapshot(builder.table.snapshots[0].snapshot_id)
        refs.publish("d")
    assert ids(builder) == [2]


def test_a_commit_of_one_branch_is_picked_onto_another():
    builder = TableBuilder(partition_by=["p"]).append((1, 0)).branch("a").branch("b")
    builder.append((2, 0), branch="a").append((3, 0), branch="b")
    source = builder.table.refs["a"].snapshot_id
    builder.table._commit(CherryPick(snapshot_id=source, target=SnapshotTarget(branch="b")))
    assert ids(builder, ref="b") == [1, 2, 3]
    assert ids(builder) == [1]


def test_a_history_that_was_expired_may_have_held_the_snapshot():
    builder = TableBuilder(partition_by=["p"]).append((1, 0)).append((2, 0)).append((3, 0)).append((4, 0))
    source, hidden = [snapshot.snapshot_id for snapshot in builder.table.snapshots[1:3]]
    builder.table._commit(PlainUpdates(given=[RemoveSnapshots((hidden,))]))
    with pytest.raises(ValidationConflict, match="was expired, and it may have been in it"):
        builder.table._commit(CherryPick(snapshot_id=source))
    old = TableBuilder(partition_by=["p"], format_version=1).append((1, 0)).append((2, 0)).append((3, 0)).append((4, 0))
    source, hidden = [snapshot.snapshot_id for snapshot in old.table.snapshots[1:3]]
    old.table._commit(PlainUpdates(given=[RemoveSnapshots((hidden,))]))
    with pytest.raises(ValidationConflict, match="its files are in the branch already"):
        old.table._commit(CherryPick(snapshot_id=source))


def test_an_old_history_that_was_expired_does_not_stop_publishing():
    builder = TableBuilder(partition_by=["p"]).append((1, 0)).append((2, 0))
    staged(builder)
    builder.append((3, 0))
    builder.table._commit(PlainUpdates(given=[RemoveSnapshots((builder.table.snapshots[0].snapshot_id,))]))
    builder.table._commit(Publish(wap_id="w"))
    assert ids(builder) == [1, 2, 3, 9]
