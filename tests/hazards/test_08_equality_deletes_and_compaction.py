"""Hazard 8, the metadata part: a compaction that keeps its starting sequence number, and equality deletes that were committed
meanwhile. They apply to the compacted file, so they must neither be lost to the clean-up of old deletes nor let pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floeberg.commit import producer
from floeberg.commit.append import Append
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import InvalidInput
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
