from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from floeberg.catalogs.row_pointer import RowPointer
from floeberg.commit.append import Append
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.summary import SummaryBuilder
from floeberg.commit.workspace import Workspace
from floeberg.errors import CommitConflict, InvalidInput, RefNotFound, UnsupportedFeature, ValidationConflict
from floeberg.spec.snapshots.manifest_entry import EntryStatus
from floeberg.testing.table_builder import TableBuilder

VERSIONS = pytest.mark.parametrize("version", [1, 2, 3])


def manifests(builder: TableBuilder):
    return Workspace(builder.table._pointer).manifests(builder.table.current_snapshot, builder.table.metadata)


@VERSIONS
@pytest.mark.parametrize("merge", [True, False])
def test_an_append_adds_rows_and_nothing_else(version, merge):
    builder = TableBuilder(partition_by=["p"], format_version=version).append((1, 0, "a"))
    committed = builder.table._commit(Append(files=builder.data_files((2, 0, "b"), (3, 1, "c")), merge=merge))
    assert builder.rows() == [(1, 0, "a"), (2, 0, "b"), (3, 1, "c")]
    (snapshot,) = committed.snapshots
    assert snapshot.operation == "append"
    assert snapshot.parent_snapshot_id == builder.table.snapshots[0].snapshot_id
    assert len(manifests(builder)) == 2


def test_sequence_numbers_count_up_from_version_2_and_are_inherited():
    builder = TableBuilder(format_version=2).append((1,)).append((2,)).append((3,))
    assert [snapshot.sequence_number for snapshot in builder.table.snapshots] == [1, 2, 3]
    assert sorted((e.data_sequence_number, e.file_sequence_number) for e in builder.live()) == [(1, 1), (2, 2), (3, 3)]
    assert builder.table.metadata.last_sequence_number == 3
    old = TableBuilder(format_version=1).append((1,))
    assert old.table.current_snapshot.sequence_number == 0
    assert old.table.metadata.last_sequence_number == 0


def test_row_ids_go_on_where_the_table_stands():
    builder = TableBuilder(format_version=3).append((1,), (2,)).append((3,), (4,), (5,))
    first, second = builder.table.snapshots
    assert (first.first_row_id, first.added_rows) == (0, 2)
    assert (second.first_row_id, second.added_rows) == (2, 3)
    assert builder.table.metadata.next_row_id == 5
    assert sorted(e.data_file.first_row_id for e in builder.live()) == [0, 2]


def test_row_ids_that_a_file_had_elsewhere_are_not_taken_over():
    builder = TableBuilder(format_version=3).append((1,), (2,))
    foreign = structs.replace(builder.data_file((7,)), first_row_id=0)
    builder.table._commit(Append(files=[foreign]))
    assert sorted(e.data_file.first_row_id for e in builder.live()) == [0, 2]


def test_an_upgraded_table_gives_its_old_rows_ids_at_the_first_commit():
    builder = TableBuilder(format_version=2).append((1,), (2,)).append((3,))
    builder.set({"format-version": "3"})
    assert builder.table.metadata.next_row_id == 0
    builder.append((4,))
    assert builder.table.current_snapshot.added_rows == 4
    spans = sorted((e.data_file.first_row_id, e.data_file.record_count) for e in builder.live())
    assert {row for start, count in spans for row in range(start, start + count)} == {0, 1, 2, 3}


def test_totals_continue_and_changes_are_counted():
    builder = TableBuilder(partition_by=["p"]).append((1, 0), (2, 1)).append((3, 1))
    summary = builder.table.current_snapshot.summary
    assert summary["added-data-files"] == "1"
    assert summary["added-records"] == "1"
    assert summary["changed-partition-count"] == "1"
    assert summary["total-data-files"] == "3"
    assert summary["total-records"] == "3"
    sizes = [e.data_file.file_size_in_bytes for e in builder.live()]
    assert summary["total-files-size"] == str(sum(sizes))
    assert (summary["manifests-created"], summary["manifests-kept"], summary["manifests-replaced"]) == ("1", "1", "0")


def test_partition_summaries_are_written_up_to_the_limit():
    builder = TableBuilder(partition_by=["p"], properties={"write.summary.partition-limit": "2"})
    builder.append((1, 0), (2, 1))
    summary = builder.table.current_snapshot.summary
    assert summary["partition-summaries-included"] == "true"
    assert summary["partitions.p=0"].startswith("added-data-files=1,added-records=1")
    builder.append((1, 0), (2, 1), (3, 2))
    assert not [key for key in builder.table.current_snapshot.summary if key.startswith("partition")]


def test_an_unpartitioned_table_has_no_partition_named_by_nothing():
    builder = TableBuilder(properties={"write.summary.partition-limit": "2"}).append((1,))
    assert "partitions." not in builder.table.current_snapshot.summary


def test_unknown_totals_stay_unknown():
    builder = TableBuilder().append((1,))
    summary = SummaryBuilder(builder.table.metadata).build({"total-records": "no number"}, {})
    assert not [key for key in summary if key.startswith("total-")]


def test_the_files_of_an_append_are_added_once_even_when_named_twice():
    builder = TableBuilder()
    file = builder.data_file((1,))
    builder.table._commit(Append(files=[file, file]))
    assert builder.rows() == [(1, None, None)]
    with pytest.raises(InvalidInput, match="added twice"):
        builder.table._commit(Append(files=[file, structs.replace(file, record_count=9)]))


def test_an_append_takes_no_delete_files():
    builder = TableBuilder().append((1,))
    with pytest.raises(InvalidInput, match="holds deletes"):
        builder.table._commit(Append(files=[builder.deletes(builder.data()[0], 0)]))


def test_manifests_of_small_commits_are_joined_at_the_count_that_the_table_sets():
    builder = TableBuilder(properties={"commit.manifest.min-count-to-merge": "3"})
    for number in range(2):
        builder.append((number,))
    assert len(manifests(builder)) == 2
    builder.append((2,))
    (joined,) = manifests(builder)
    entries = Workspace(builder.table._pointer).entries(joined, builder.table.metadata)
    assert sorted(e.status for e in entries) == [EntryStatus.EXISTING, EntryStatus.EXISTING, EntryStatus.ADDED]
    assert sorted(e.data_sequence_number for e in entries) == [1, 2, 3]
    assert joined.min_sequence_number == 1
    assert builder.table.current_snapshot.summary["manifests-replaced"] == "2"
    assert builder.rows() == [(0, None, None), (1, None, None), (2, None, None)]


def test_joined_manifests_keep_the_row_ids_of_their_rows():
    builder = TableBuilder(format_version=3, properties={"commit.manifest.min-count-to-merge": "2"})
    builder.append((1,), (2,)).append((3,)).append((4,), (5,))
    assert sorted((e.data_file.first_row_id, e.data_file.record_count) for e in builder.live()) == [
        (0, 2),
        (2, 1),
        (5, 2),
    ]


def test_manifests_are_not_joined_when_the_table_says_no_or_the_append_is_fast():
    off = {"commit.manifest.min-count-to-merge": "2", "commit.manifest-merge.enabled": "false"}
    builder = TableBuilder(properties=off).append((1,)).append((2,)).append((3,))
    assert len(manifests(builder)) == 3
    builder = TableBuilder(properties={"commit.manifest.min-count-to-merge": "2"}).append((1,))
    for number in range(3):
        builder.table._commit(Append(files=[builder.data_file((number,))], merge=False))
    assert len(manifests(builder)) == 4


def test_bins_are_filled_to_the_target_size_from_the_oldest_end():
    builder = TableBuilder(
        properties={"commit.manifest.target-size-bytes": "1", "commit.manifest.min-count-to-merge": "2"}
    )
    builder.append((1,)).append((2,)).append((3,))
    assert len(manifests(builder)) == 3, "each is larger than the target"


def test_manifests_of_many_files_are_cut_at_the_target_size():
    builder = TableBuilder(properties={"commit.manifest.target-size-bytes": "30000"})
    template = builder.data_file((1,))
    files = [structs.replace(template, file_path=f"{template.file_path}-{number}") for number in range(3000)]
    builder.table._commit(Append(files=files))
    found = manifests(builder)
    assert len(found) > 1
    assert sum(manifest.added_files_count for manifest in found) == 3000
    assert all(manifest.manifest_length < 60_000 for manifest in found)


def test_manifests_are_compressed_as_the_table_says():
    plain = TableBuilder(properties={"write.manifest.compression-codec": "none"}).append((1,))
    packed = TableBuilder(properties={"write.manifest.compression-codec": "zstd"}).append((1,))
    codecs = []
    for builder in (plain, packed):
        (manifest,) = manifests(builder)
        store = builder.table._pointer.store_for(manifest.manifest_path)
        codecs.append(b"zstandard" in store.read(manifest.manifest_path)[:6000])
        assert builder.rows() == [(1, None, None)]
    assert codecs == [False, True]


def test_an_append_to_a_branch_leaves_main_alone():
    builder = TableBuilder(format_version=3).append((1,)).branch("audit").append((2,), branch="audit")
    assert builder.rows() == [(1, None, None)]
    assert builder.rows(ref="audit") == [(1, None, None), (2, None, None)]
    head = builder.table.metadata.snapshot_for_ref("audit")
    assert head.parent_snapshot_id == builder.table.current_snapshot.snapshot_id
    assert head.summary["total-records"] == "2"
    file = builder.data_file((3,))
    with pytest.raises(RefNotFound, match="create it first"):
        builder.table._commit(Append(files=[file], target=SnapshotTarget(branch="nowhere")))
    builder.tag("t")
    with pytest.raises(InvalidInput, match="is a tag"):
        builder.table._commit(Append(files=[file], target=SnapshotTarget(branch="t")))


def test_a_staged_append_is_in_the_table_and_nobody_sees_it():
    builder = TableBuilder().append((1,))
    target = SnapshotTarget(stage_only=True, summary={"wap.id": "w1"})
    (staged,) = builder.table._commit(Append(files=[builder.data_file((2,))], target=target)).snapshots
    assert builder.rows() == [(1, None, None)]
    assert builder.rows(snapshot_id=staged.snapshot_id) == [(1, None, None), (2, None, None)]
    assert builder.table.current_snapshot.snapshot_id != staged.snapshot_id
    assert staged.summary["wap.id"] == "w1"


def test_encrypted_tables_are_neither_read_nor_written():
    builder = TableBuilder().append((1,))
    file = builder.data_file((2,))
    builder.set({"encryption.key-id": "k"})
    with pytest.raises(UnsupportedFeature, match="encrypted"):
        builder.table._commit(Append(files=[file]))
    metadata = builder.table.metadata
    locked = replace(builder.table.current_snapshot, key_id="k1")
    with pytest.raises(UnsupportedFeature, match="encrypted"):
        Workspace(builder.table._pointer).manifests(locked, metadata)


def test_nothing_that_an_attempt_wrote_is_left_when_it_is_rejected(monkeypatch):
    builder = TableBuilder(properties={"commit.retry.num-retries": "1", "commit.retry.min-wait-ms": "1"}).append((1,))

    def refuse(self, base, new):
        raise CommitConflict("always")

    store = builder.table._pointer.store_for(builder.table.location)
    file = builder.data_file((2,))
    before = {info.location for info in store.list(builder.table.location)}
    monkeypatch.setattr(RowPointer, "swap", refuse)
    with pytest.raises(CommitConflict, match=r"gave up after 2 attempts.*num-retries"):
        builder.table._commit(Append(files=[file]))
    assert {info.location for info in store.list(builder.table.location)} == before


@pytest.mark.parametrize("is_planned_before", [True, False])
def test_files_of_a_partition_spec_that_another_commit_removed_are_a_conflict(is_planned_before):
    builder = TableBuilder("id bigint, p int", partition_by=["p"])
    first, files = builder.second(), builder.data_files((1, 0))
    with builder.table.update_spec() as update:
        update.remove_field("p")
        update.add_field("bucket(2, id)")
    builder.append((2, 0))
    builder.table.maintenance.expire_snapshots(clean_expired_metadata=True)
    assert [spec.spec_id for spec in builder.table.refresh().metadata.partition_specs] == [1]
    with pytest.raises(ValidationConflict, match="partition spec 0") as conflict:
        (first if is_planned_before else builder.table)._commit(Append(files=files))
    assert conflict.value.context["retry_can_help"] is True
    assert builder.rows() == [(2, 0)]
