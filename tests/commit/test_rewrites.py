from __future__ import annotations

from dataclasses import replace

import pytest

from floeberg.commit.delete_files import DeleteFiles
from floeberg.commit.isolation import IsolationLevel
from floeberg.commit.replace_partitions import ReplacePartitions
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.commit.rewrite_manifests import RewriteManifests
from floeberg.commit.row_delta import RowDelta
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.spec.snapshots.manifest_entry import EntryStatus, ManifestContent
from floeberg.testing.table_builder import TableBuilder

VERSIONS = pytest.mark.parametrize("version", [1, 2, 3])


def ids(builder: TableBuilder) -> list[int]:
    return [row[0] for row in builder.rows()]


def manifests(builder: TableBuilder):
    return Workspace(builder.table._pointer).manifests(builder.table.current_snapshot, builder.table.metadata)


def compaction(builder: TableBuilder, *rows: tuple, keep_age: bool = True, removed=None) -> RewriteFiles:
    head = builder.table.current_snapshot
    return RewriteFiles(
        removed=builder.data() if removed is None else removed,
        added=builder.data_files(*rows),
        starting_snapshot_id=head.snapshot_id,
        data_sequence_number=head.sequence_number if keep_age else None,
    )


# replacing partitions


@VERSIONS
def test_the_partitions_of_new_rows_are_replaced(version):
    builder = TableBuilder(partition_by=["p"], format_version=version).append((1, 0), (2, 1), (3, 2))
    (snapshot,) = builder.table._commit(ReplacePartitions(files=builder.data_files((8, 1), (9, 5)))).snapshots
    assert ids(builder) == [1, 3, 8, 9]
    assert (snapshot.operation, snapshot.summary["replace-partitions"]) == ("overwrite", "true")


@VERSIONS
def test_an_unpartitioned_table_is_replaced_whole(version):
    builder = TableBuilder(format_version=version).append((1,)).append((2,))
    builder.table._commit(ReplacePartitions(files=builder.data_files((9,))))
    assert ids(builder) == [9]


def test_nothing_to_write_replaces_nothing():
    builder = TableBuilder().append((1,))
    assert builder.table._commit(ReplacePartitions(files=[])).snapshots == ()
    assert ids(builder) == [1]


def test_append_only_refuses_partitions_that_hold_something():
    builder = TableBuilder(partition_by=["p"]).append((1, 0))
    with pytest.raises(ValidationConflict, match="not empty") as caught:
        builder.table._commit(ReplacePartitions(files=builder.data_files((2, 0)), append_only=True))
    assert caught.value.context["retry_can_help"] is False
    builder.table._commit(ReplacePartitions(files=builder.data_files((2, 1)), append_only=True))
    assert ids(builder) == [1, 2]


def test_partitions_of_nan_and_null_are_partitions_like_others():
    builder = TableBuilder("id bigint, d double", partition_by=["d"]).append((1, float("nan")), (2, None), (3, 0.5))
    builder.table._commit(ReplacePartitions(files=builder.data_files((8, float("nan")), (9, None))))
    assert ids(builder) == [3, 8, 9]


@pytest.mark.parametrize(("p", "conflicts"), [(0, True), (1, False)])
def test_a_replacement_with_a_view_conflicts_with_what_came_into_its_partitions(p, conflicts):
    for isolation in IsolationLevel:
        builder = TableBuilder(partition_by=["p"]).append((1, 0), (2, 1))
        change = ReplacePartitions(files=builder.data_files((8, 0)), view=builder.view(isolation=isolation))
        builder.second().append(builder.arrow([(7, p)]))
        if conflicts and isolation is IsolationLevel.SERIALIZABLE:
            with pytest.raises(ValidationConflict, match="added data files"):
                builder.table._commit(change)
        else:
            builder.table._commit(change)


@pytest.mark.parametrize("isolation", list(IsolationLevel))
def test_a_replacement_with_a_view_conflicts_with_deletes_and_removals_there(isolation):
    for what in ("delete", "remove"):
        builder = TableBuilder(partition_by=["p"]).append((1, 0), (2, 1))
        file = next(f for f in builder.data() if f.partition == (0,))
        change = ReplacePartitions(files=builder.data_files((8, 0)), view=builder.view(isolation=isolation))
        removed = DeleteFiles(removed=[file])
        builder.second()._commit(
            removed if what == "remove" else RowDelta(added=[builder.deletes(file, 0)], view=builder.view())
        )
        with pytest.raises(ValidationConflict):
            builder.table._commit(change)


# rewriting files


@VERSIONS
def test_a_rewrite_keeps_rows_and_says_replace(version):
    builder = TableBuilder(format_version=version).append((1,), (2,)).append((3,))
    (snapshot,) = builder.table._commit(compaction(builder, (1,), (2,), (3,))).snapshots
    assert ids(builder) == [1, 2, 3]
    assert snapshot.operation == "replace"
    assert (snapshot.summary["added-records"], snapshot.summary["deleted-records"]) == ("3", "3")
    assert snapshot.summary["total-data-files"] == "1"


def test_rewritten_files_keep_the_age_of_the_snapshot_that_was_read():
    builder = TableBuilder().append((1,)).append((2,))
    builder.table._commit(compaction(builder, (1,), (2,)))
    (entry,) = builder.live()
    assert (entry.data_sequence_number, entry.file_sequence_number) == (2, 3)
    builder.table._commit(compaction(builder, (1,), (2,), keep_age=False))
    (entry,) = builder.live()
    assert (entry.data_sequence_number, entry.file_sequence_number) == (4, 4)


def test_an_age_other_than_that_of_the_snapshot_read_is_refused():
    builder = TableBuilder().append((1,)).append((2,))
    for wrong in (1, 3):
        with pytest.raises(InvalidInput, match="cannot keep sequence number"):
            builder.table._commit(replace(compaction(builder, (1,), (2,)), data_sequence_number=wrong))


@pytest.mark.parametrize("keep_age", [True, False])
def test_position_deletes_of_rewritten_files_conflict(keep_age):
    for version in (2, 3):
        builder = TableBuilder(format_version=version).append((1,), (2,))
        change = compaction(builder, (1,), (2,), keep_age=keep_age)
        (old,) = builder.data()
        builder.second()._commit(RowDelta(added=[builder.deletes(old, 0)], view=builder.view()))
        with pytest.raises(ValidationConflict, match="deleted rows of data files that this operation replaces"):
            builder.table._commit(change)


def test_equality_deletes_conflict_only_when_the_age_is_not_kept():
    builder = TableBuilder().append((1,), (2,))
    kept, fresh = (compaction(builder, (1,), (2,), keep_age=keep_age) for keep_age in (True, False))
    builder.second()._commit(RowDelta(added=[builder.equality_deletes((1,))]))
    with pytest.raises(ValidationConflict):
        builder.table._commit(fresh)
    builder.table._commit(kept)
    assert ids(builder) == [2]


def test_a_file_that_is_gone_conflicts_and_appends_do_not():
    builder = TableBuilder().append((1,)).append((2,))
    change = compaction(builder, (1,), (2,))
    builder.second().append(builder.arrow([(3,)]))
    late = compaction(builder, (1,), (2,))
    builder.table._commit(change)
    assert ids(builder) == [1, 2, 3]
    with pytest.raises(ValidationConflict, match="removed data files that this rewrite replaces"):
        builder.table._commit(late)


def test_a_rewrite_adds_no_rows_and_nothing_without_taking_something():
    builder = TableBuilder().append((1,))
    (old,) = builder.data()
    head = builder.table.current_snapshot.snapshot_id
    deletes = builder.deletes(old, 0)
    for removed, added, message in (
        ([], [], "at least one"),
        ([old], builder.data_files((1,), (2,)), "must not add records"),
        ([deletes], builder.data_files((1,)), "only in place of data"),
        ([old], [deletes], "only in place of delete files"),
    ):
        with pytest.raises(InvalidInput, match=message):
            builder.table._commit(RewriteFiles(removed=removed, added=added, starting_snapshot_id=head))


def test_delete_files_are_rewritten_with_the_age_they_had():
    builder = TableBuilder().append((1,), (2,), (3,))
    (file,) = builder.data()
    for position in (0, 1):
        builder.table._commit(RowDelta(added=[builder.deletes(file, position)], view=builder.view()))
    old = [entry.data_file for entry in builder.live(ManifestContent.DELETES)]
    change = RewriteFiles(
        removed=old,
        added=[builder.deletes(file, 0, 1)],
        starting_snapshot_id=builder.table.current_snapshot.snapshot_id,
        deletes_data_sequence_number=3,
    )
    builder.table._commit(change)
    assert [entry.data_sequence_number for entry in builder.live(ManifestContent.DELETES)] == [3]
    assert ids(builder) == [3]


def test_a_rewritten_vector_conflicts_with_a_new_one_and_with_the_loss_of_its_file():
    for what in ("vector", "file"):
        builder = TableBuilder(format_version=3).append((1,), (2,), (3,))
        (file,) = builder.data()
        builder.table._commit(RowDelta(added=[builder.deletes(file, 0)], view=builder.view()))
        (old,) = [entry.data_file for entry in builder.live(ManifestContent.DELETES)]
        head = builder.table.current_snapshot.snapshot_id
        change = RewriteFiles(removed=[old], added=[builder.deletes(file, 0)], starting_snapshot_id=head)
        other = builder.second()
        if what == "vector":
            other._commit(RowDelta(added=[builder.deletes(file, 0, 1)], removed_deletes=[old], view=builder.view()))
        else:
            other._commit(DeleteFiles(removed=[file]))
        with pytest.raises(ValidationConflict):
            builder.table._commit(change)


# rewriting manifests


@VERSIONS
def test_manifests_are_regrouped_and_their_files_stay(version):
    builder = TableBuilder(partition_by=["p"], format_version=version)
    for number in range(4):
        builder.append((number, number % 2))
    before = {e.data_file.file_path: (e.data_sequence_number, e.data_file.first_row_id) for e in builder.live()}
    (snapshot,) = builder.table._commit(RewriteManifests()).snapshots
    (manifest,) = manifests(builder)
    after = {e.data_file.file_path: (e.data_sequence_number, e.data_file.first_row_id) for e in builder.live()}
    assert after == before
    assert snapshot.operation == "replace"
    assert snapshot.summary["manifests-created"] == "1"
    assert snapshot.summary["manifests-replaced"] == "4"
    assert snapshot.summary["entries-processed"] == "4"
    assert snapshot.summary["total-records"] == "4"
    entries = Workspace(builder.table._pointer).entries(manifest, builder.table.metadata)
    assert {entry.status for entry in entries} == {EntryStatus.EXISTING}
    assert [entry.data_file.partition for entry in entries] == [(0,), (0,), (1,), (1,)]


def test_manifests_are_cut_at_their_size_and_chosen_ones_alone_rewritten():
    builder = TableBuilder(partition_by=["p"])
    for number in range(4):
        builder.append((number, number % 2))
    old = {manifest.manifest_path for manifest in manifests(builder)}
    builder.table._commit(RewriteManifests(target_size_bytes=1))
    assert len(manifests(builder)) == 4
    spared = manifests(builder)[0].manifest_path
    builder.table._commit(RewriteManifests(choose=lambda manifest: manifest.manifest_path != spared))
    paths = {manifest.manifest_path for manifest in manifests(builder)}
    assert spared in paths
    assert len(paths) == 2
    assert not paths & old


def test_one_manifest_is_left_alone_and_an_empty_one_is_not():
    builder = TableBuilder().append((1,))
    assert builder.table._commit(RewriteManifests()).snapshots == ()
    assert TableBuilder().table._commit(RewriteManifests()).snapshots == ()


def test_a_rewrite_of_manifests_takes_in_what_was_committed_meanwhile():
    builder = TableBuilder().append((1,)).append((2,))
    change = RewriteManifests()
    other = builder.second()
    other.append(builder.arrow([(3,)]))
    other._commit(DeleteFiles(removed=builder.data()[:1]))
    builder.table._commit(change)
    assert len(builder.rows()) == 2
    assert len(manifests(builder)) == 1


def test_manifests_of_deletes_and_of_other_specs_are_kept_apart():
    builder = TableBuilder(partition_by=["p"]).append((1, 0)).append((2, 0))
    with builder.table.update_spec() as update:
        update.remove_field("p")
    builder.append((3, 0)).append((4, 0))
    file = builder.data()[0]
    for position in (0,):
        builder.table._commit(RowDelta(added=[builder.deletes(file, position)], view=builder.view()))
    builder.table._commit(RewriteManifests())
    found = {(manifest.partition_spec_id, manifest.content) for manifest in manifests(builder)}
    assert len(found) == len(manifests(builder)) == 3
    assert len(builder.rows()) == 3


def test_a_dropped_partition_source_does_not_stop_commits():
    builder = (
        TableBuilder(partition_by=["p"], properties={"write.summary.partition-limit": "9"})
        .append((1, 0))
        .append((2, 1))
    )
    with builder.table.transaction() as tx:
        with tx.update_spec() as update:
            update.remove_field("p")
        with tx.update_schema() as update:
            update.drop_column("p")
    builder.append((3,))
    builder.table._commit(RewriteManifests())
    doomed = next(file for file in builder.data() if file.spec_id == 0)
    builder.table._commit(DeleteFiles(removed=[doomed]))
    assert len(builder.rows()) == 2
