from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from floeberg.commit.delete_files import DeleteFiles
from floeberg.commit.isolation import IsolationLevel
from floeberg.commit.overwrite import Overwrite
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.expr.build import eq, gt
from floeberg.spec.snapshots.manifest_entry import DataFile, ManifestContent
from floeberg.testing.table_builder import TableBuilder

SNAPSHOT, SERIALIZABLE = IsolationLevel.SNAPSHOT, IsolationLevel.SERIALIZABLE
BOTH = pytest.mark.parametrize("isolation", list(IsolationLevel))
VERSIONS = pytest.mark.parametrize("version", [2, 3])


def table(version: int = 3) -> TableBuilder:
    return TableBuilder(partition_by=["p"], format_version=version).append((1, 0), (2, 0), (3, 1), (4, 1))


def file_of(builder: TableBuilder, p: int) -> DataFile:
    return next(file for file in builder.data() if file.partition == (p,))


def ids(builder: TableBuilder) -> list[int]:
    return [row[0] for row in builder.rows()]


def delta(builder: TableBuilder, p: int, *positions: int, add: tuple = (), where=None, isolation=SERIALIZABLE, **more):
    file = file_of(builder, p)
    added = [builder.deletes(file, *positions), *(builder.data_files(*add) if add else [])]
    return RowDelta(added=added, view=builder.view(where, isolation=isolation), **more)


@VERSIONS
def test_rows_are_deleted_in_place_and_new_ones_come_beside_them(version):
    builder = table(version)
    (snapshot,) = builder.table._commit(delta(builder, 0, 1, add=((9, 0),))).snapshots
    assert ids(builder) == [1, 3, 4, 9]
    assert snapshot.operation == "overwrite"
    summary = snapshot.summary
    kind = "added-dvs" if version == 3 else "added-position-delete-files"
    assert (summary[kind], summary["added-position-deletes"], summary["total-position-deletes"]) == ("1", "1", "1")
    assert summary["total-records"] == "5", "records of files, deleted or not"


@VERSIONS
def test_the_snapshot_says_delete_or_append_when_it_only_does_that(version):
    builder = table(version)
    assert builder.table._commit(delta(builder, 0, 1)).snapshots[0].operation == "delete"
    added = RowDelta(added=builder.data_files((8, 0)), view=builder.view())
    assert builder.table._commit(added).snapshots[0].operation == "append"


def test_equality_deletes_apply_to_older_rows_of_their_partition_only():
    builder = table(2)
    change = RowDelta(
        added=[builder.equality_deletes((1,), of=file_of(builder, 0)), *builder.data_files((1, 0, "new"))]
    )
    builder.table._commit(change)
    assert builder.rows() == [(1, 0, "new"), (2, 0, None), (3, 1, None), (4, 1, None)]
    summary = builder.table.current_snapshot.summary
    assert (summary["added-equality-delete-files"], summary["total-equality-deletes"]) == ("1", "1")


def test_a_new_deletion_vector_takes_the_old_one_in():
    builder = table(3)
    builder.table._commit(delta(builder, 0, 0))
    (old,) = [entry.data_file for entry in builder.live(ManifestContent.DELETES)]
    with pytest.raises(ValidationConflict, match="has a deletion vector already"):
        builder.table._commit(delta(builder, 0, 0, 1))
    builder.table._commit(delta(builder, 0, 0, 1, removed_deletes=[old]))
    assert ids(builder) == [3, 4]
    assert len(builder.live(ManifestContent.DELETES)) == 1
    summary = builder.table.current_snapshot.summary
    assert (summary["added-dvs"], summary["removed-dvs"], summary["total-delete-files"]) == ("1", "1", "1")


def test_the_vectors_of_a_removed_file_go_with_it():
    builder = table(3)
    builder.table._commit(delta(builder, 0, 0))
    builder.table._commit(DeleteFiles(removed=[file_of(builder, 0)]))
    assert builder.live(ManifestContent.DELETES) == []
    assert builder.table.current_snapshot.summary["removed-dvs"] == "1"


def test_deletes_older_than_all_data_are_dropped_when_data_goes():
    builder = TableBuilder().append((1,), (2,))
    builder.table._commit(RowDelta(added=[builder.deletes(builder.data()[0], 0)], view=builder.view()))
    (old,) = builder.data()
    builder.table._commit(Overwrite(added=[builder.data_file((2,))], removed=[old], view=builder.view()))
    builder.table._commit(Overwrite(added=[builder.data_file((2,))], removed=builder.data(), view=builder.view()))
    assert builder.live(ManifestContent.DELETES) == []
    assert ids(builder) == [2]


@pytest.mark.parametrize(("version", "message"), [(1, "has no delete files"), (2, "need format version 3")])
def test_deletes_must_fit_the_version(version, message):
    builder = TableBuilder(format_version=version).append((1,))
    vectors = TableBuilder(format_version=3).append((1,))
    vector = structs.replace(vectors.deletes(vectors.data()[0], 0), referenced_data_file=builder.data()[0].file_path)
    with pytest.raises(InvalidInput, match=message):
        builder.table._commit(RowDelta(added=[vector], view=builder.view()))


def test_position_delete_files_that_meet_an_upgrade_conflict_and_a_new_plan_helps():
    builder = table(2)
    change = delta(builder, 0, 0)
    with builder.second().update_properties() as update:
        update.set({"format-version": "3"})
    with pytest.raises(ValidationConflict, match="takes deletion vectors") as caught:
        builder.table._commit(change)
    assert caught.value.context["retry_can_help"] is True
    builder.table.refresh()
    builder.table._commit(delta(builder, 0, 0))
    assert ids(builder) == [2, 3, 4]


def test_position_deletes_need_the_snapshot_they_were_planned_on():
    builder = table()
    with pytest.raises(InvalidInput, match="planned on"):
        builder.table._commit(replace(delta(builder, 0, 0), view=None))


def test_one_vector_a_file_and_none_for_a_file_that_goes():
    builder = table()
    file = file_of(builder, 0)
    first, second = builder.deletes(file, 0), builder.deletes(file, 1)
    with pytest.raises(InvalidInput, match="two deletion vectors"):
        builder.table._commit(RowDelta(added=[first, second], view=builder.view()))
    with pytest.raises(InvalidInput, match="removed and has rows deleted"):
        builder.table._commit(RowDelta(added=[first], removed_data=[file], view=builder.view()))
    with pytest.raises(InvalidInput, match="must name its data file"):
        builder.table._commit(RowDelta(added=[structs.replace(first, referenced_data_file=None)], view=builder.view()))


def test_deletes_of_a_file_that_was_never_there_are_refused():
    builder = table()
    ghost = structs.replace(file_of(builder, 0), file_path="memory://warehouse/db/t/data/ghost.parquet")
    with pytest.raises(ValidationConflict, match="not in the table"):
        builder.table._commit(RowDelta(added=[builder.deletes(ghost, 0)], view=builder.view()))


# conflicts: what the other did meanwhile, and whether it stands in the way


@BOTH
@VERSIONS
def test_two_changes_of_rows_of_one_file_conflict(isolation, version):
    builder = table(version)
    mine, theirs = (delta(builder, 0, position, isolation=isolation) for position in (0, 1))
    (winner,) = builder.second()._commit(theirs).snapshots
    with pytest.raises(ValidationConflict) as caught:
        builder.table._commit(mine)
    assert caught.value.context["snapshot_id"] == winner.snapshot_id
    assert caught.value.context["retry_can_help"] is True
    builder.table.refresh()
    assert ids(builder) == [1, 3, 4]


@BOTH
@VERSIONS
def test_changes_of_rows_of_different_files_and_ranges_do_not_conflict(isolation, version):
    builder = table(version)
    mine = delta(builder, 0, 0, where=eq("p", 0), isolation=isolation)
    builder.second()._commit(delta(builder, 1, 0, where=eq("p", 1)))
    builder.table._commit(mine)
    assert ids(builder) == [2, 4]


def test_what_a_serializable_change_read_is_judged_by_the_metrics_of_the_file_that_was_deleted_from():
    builder = TableBuilder(format_version=3).append((1,), (2,)).append((10,), (11,))
    low, high = sorted(builder.data(), key=lambda file: file.lower_bounds[1])
    mine = RowDelta(added=[builder.deletes(low, 0)], view=builder.view(eq("id", 1)))
    wide = RowDelta(added=[builder.deletes(low, 0)], view=builder.view(gt("id", 0)))
    builder.second()._commit(RowDelta(added=[builder.deletes(high, 0)], view=builder.view(eq("id", 10))))
    with pytest.raises(ValidationConflict, match="deleted rows"):
        builder.table._commit(wide)
    builder.table._commit(mine)
    assert ids(builder) == [11, 2]


@BOTH
@VERSIONS
def test_a_data_file_that_a_compaction_took_away_conflicts(isolation, version):
    builder = table(version)
    mine = delta(builder, 0, 0, isolation=isolation)
    old = file_of(builder, 0)
    start = builder.table.current_snapshot.snapshot_id
    builder.second()._commit(
        RewriteFiles(removed=[old], added=builder.data_files((1, 0), (2, 0)), starting_snapshot_id=start)
    )
    with pytest.raises(ValidationConflict, match="removed data files that this operation deletes rows of") as caught:
        builder.table._commit(mine)
    assert caught.value.context["files"] == [old.file_path]


@BOTH
def test_deletes_that_do_not_name_their_files_conflict_by_partition(isolation):
    builder = table(2).append((5, 0))
    first, second = [file for file in builder.data() if file.partition == (0,)]
    both = builder.deletes_of_several({first.file_path: [0], second.file_path: [0]}, of=first)
    mine = RowDelta(added=[both], view=builder.view(isolation=isolation))
    named = RowDelta(
        added=[both], referenced=[first.file_path, second.file_path], view=builder.view(isolation=isolation)
    )
    other = builder.second()
    other._commit(DeleteFiles(removed=[second]))
    for change in (mine, named):
        with pytest.raises(ValidationConflict, match="removed data files"):
            builder.table._commit(change)
    elsewhere = file_of(builder, 1)
    alone = builder.deletes_of_several({first.file_path: [0], elsewhere.file_path: []}, of=first)
    builder.table._commit(RowDelta(added=[alone], view=builder.view(eq("p", 1), isolation=SNAPSHOT)))


def test_rows_added_meanwhile_conflict_only_in_the_range_and_only_when_serializable():
    for where, isolation, conflicts in (
        (eq("p", 0), SERIALIZABLE, True),
        (eq("p", 1), SERIALIZABLE, False),
        (eq("p", 0), SNAPSHOT, False),
    ):
        builder = table()
        mine = delta(builder, 0, 0, where=where, isolation=isolation)
        builder.second().append(builder.arrow([(7, 0)]))
        if conflicts:
            with pytest.raises(ValidationConflict, match="added data files"):
                builder.table._commit(mine)
        else:
            builder.table._commit(mine)
            assert ids(builder) == [2, 3, 4, 7]


@BOTH
def test_equality_deletes_of_the_same_rows_conflict_with_an_update(isolation):
    builder = table(2)
    update = delta(builder, 0, 0, add=((1, 0, "updated"),), where=eq("id", 1), isolation=isolation)
    elsewhere = delta(builder, 0, 1, add=((2, 0, "updated"),), where=eq("id", 2), isolation=isolation)
    upsert = RowDelta(
        added=[builder.equality_deletes((1,), of=file_of(builder, 0)), *builder.data_files((1, 0, "upserted"))]
    )
    builder.second()._commit(upsert)
    with pytest.raises(ValidationConflict):
        builder.table._commit(update)
    builder.table._commit(elsewhere)
    assert builder.rows()[:2] == [(1, 0, "upserted"), (2, 0, "updated")]


def test_upserts_that_read_nothing_never_conflict():
    builder = table(2)
    mine, theirs = (
        RowDelta(added=[builder.equality_deletes((1,), of=file_of(builder, 0)), *builder.data_files((1, 0, who))])
        for who in ("mine", "theirs")
    )
    builder.second()._commit(theirs)
    builder.table._commit(mine)
    assert builder.rows()[0] == (1, 0, "mine")


@BOTH
def test_rows_that_got_ids_meanwhile_are_not_written_anew_without_them(isolation):
    builder = table(2)
    change = Overwrite(
        added=builder.data_files((1, 0)),
        removed=[file_of(builder, 0)],
        view=builder.view(eq("p", 0), isolation=isolation),
    )
    other = builder.second()
    with other.update_properties() as update:
        update.set({"format-version": "3"})
    other.append(builder.arrow([(7, 1)]))
    with pytest.raises(ValidationConflict, match="row ids"):
        builder.table._commit(change)


def test_a_change_on_a_branch_is_judged_by_that_branch():
    builder = table()
    builder.branch("side")
    from floeberg.commit.operation import SnapshotTarget

    mine = replace(delta(builder, 0, 0), target=SnapshotTarget(branch="side"))
    builder.second()._commit(delta(builder, 0, 1))
    builder.table._commit(mine)
    assert ids(builder) == [1, 3, 4]
    assert [row[0] for row in builder.rows(ref="side")] == [2, 3, 4]
