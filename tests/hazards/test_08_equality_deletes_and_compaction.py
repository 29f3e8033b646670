"""Hazard 8, the metadata part: a compaction that keeps its starting sequence number, and equality deletes that were committed
meanwhile. They apply to the compacted file, so they must neither be lost to the clean-up of old deletes nor let pass."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from floeberg.commit import producer, rewrite_files
from floeberg.commit.append import Append
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.spec.snapshots.manifest_entry import ManifestContent
from floeberg.testing.table_builder import TableBuilder


def compacted(*, data_sequence_number: int | None = None) -> TableBuilder:
    """The compaction reads sequence number 2; an equality delete (3) and an append (4) come before it commits."""
    builder = TableBuilder().append((1,)).append((2,))
    head = builder.table.current_snapshot
    compaction = RewriteFiles(
        removed=builder.data(),
        added=[builder.data_file((1,), (2,))],
        starting_snapshot_id=head.snapshot_id,
        data_sequence_number=head.sequence_number if data_sequence_number is None else data_sequence_number,
    )
    other = builder.second()
    other._commit(RowDelta(added=[builder.equality_deletes((1,))]))
    other._commit(Append(files=[builder.data_file((5,))]))
    builder.table._commit(compaction)
    return builder


def ids(builder: TableBuilder) -> list[int]:
    return [row[0] for row in builder.rows()]


def test_a_later_equality_delete_still_applies_to_the_compacted_file():
    builder = compacted()
    assert ids(builder) == [2, 5]
    assert len(builder.live(ManifestContent.DELETES)) == 1
    assert sorted(entry.data_sequence_number for entry in builder.live()) == [2, 4]


def test_it_applies_after_more_commits_too():
    builder = compacted().append((6,))
    builder.table._commit(Append(files=[builder.data_file((7,))]))
    assert ids(builder) == [2, 5, 6, 7]


def test_files_cannot_claim_an_age_that_they_did_not_read():
    with pytest.raises(InvalidInput, match="cannot keep sequence number"):
        compacted(data_sequence_number=4)


def test_leaving_the_new_files_age_out_of_account_would_bring_the_row_back(monkeypatch):
    real = producer._with_dangling
    monkeypatch.setattr(
        producer,
        "_with_dangling",
        lambda change, data, base: real(replace(change, added_data_sequence_number=None), data, base),
    )
    assert ids(compacted()) == [1, 2, 5]


def moved_to_another_spec(delete_spec: str) -> TableBuilder:
    """A compaction that read sequence number 2 moves rows from partitions of `p` to those of `bucket(1, id)`; an equality
    delete of (1,) comes under the old or the new spec before it commits, for a row that only the old spec's delete reaches."""
    builder = TableBuilder(partition_by=["p"]).append((1, 0), (2, 0)).append((3, 0))
    old = builder.data()
    with builder.table.update_spec() as spec:
        spec.remove_field("p")
        spec.add_field("bucket(1, id)")
    (new,) = builder.data_files((1, 0), (2, 0), (3, 0))
    head = builder.table.current_snapshot
    compaction = RewriteFiles(
        removed=old,
        added=[new],
        starting_snapshot_id=head.snapshot_id,
        data_sequence_number=head.sequence_number,
    )
    of = old[0] if delete_spec == "old" else new
    builder.second()._commit(RowDelta(added=[builder.equality_deletes((1,), of=of)]))
    with suppress(ValidationConflict):
        builder.table._commit(compaction)
    builder.table.refresh()
    return builder


@pytest.mark.parametrize(("delete_spec", "expected"), [("old", [2, 3]), ("new", [1, 2, 3])])
def test_equality_deletes_that_reach_other_rows_under_another_spec_are_a_conflict(delete_spec, expected):
    assert ids(moved_to_another_spec(delete_spec)) == expected


@pytest.mark.parametrize(("delete_spec", "wrong"), [("old", [1, 2, 3]), ("new", [2, 3])])
def test_ignoring_such_deletes_would_bring_a_row_back_or_lose_one(delete_spec, wrong, monkeypatch):
    monkeypatch.setattr(rewrite_files, "equality_deletes_reach_the_same_rows", lambda *_: None)
    assert ids(moved_to_another_spec(delete_spec)) == wrong


def test_equality_deletes_in_the_same_partition_of_one_spec_are_no_conflict():
    builder = TableBuilder(partition_by=["p"]).append((1, 0), (2, 1)).append((3, 0), (4, 1))
    head = builder.table.current_snapshot
    compaction = RewriteFiles(
        removed=builder.data(),
        added=builder.data_files((1, 0), (2, 1), (3, 0), (4, 1)),
        starting_snapshot_id=head.snapshot_id,
        data_sequence_number=head.sequence_number,
    )
    builder.second()._commit(RowDelta(added=[builder.equality_deletes((1,), of=builder.data()[0])]))
    builder.table._commit(compaction)
    assert ids(builder) == [2, 3, 4]
