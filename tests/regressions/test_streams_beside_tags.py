"""A stream whose snapshot a tag keeps, while the snapshots after it have expired."""

from __future__ import annotations

import pytest

from floeberg.errors import InvalidInput, SnapshotNotFound
from floeberg.scan.streaming import StreamOffset, StreamOptions, StreamPlanner
from floeberg.testing.table_builder import TableBuilder


def planner(builder: TableBuilder, **options: bool) -> StreamPlanner:
    table = builder.table.refresh()
    return StreamPlanner(
        identifier="lake.db.t",
        metadata=table.metadata,
        options=StreamOptions(**options),
        store_for=table._pointer.store_for,
    )


def expire_to_last(builder: TableBuilder) -> None:
    builder.table.refresh().maintenance.expire_snapshots(older_than=2**53, retain_last=1)


def test_snapshots_that_expired_after_a_tagged_one_are_told_from_a_rollback() -> None:
    builder = TableBuilder().append((1,)).tag("kept")
    offset = planner(builder).advance(planner(builder).initial())
    builder.append((2,)).append((3,)).append((4,), (5,))
    expire_to_last(builder)
    with pytest.raises(SnapshotNotFound, match=r"its child has expired.*streaming-on-expired=oldest"):
        planner(builder).advance(offset)
    resumed = planner(builder, resumes_at_oldest=True)
    parts = resumed.between(offset, resumed.advance(offset))
    assert [task.data_file.record_count for part in parts for task in part] == [2]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_tagged_snapshot_that_was_rolled_back_is_an_error_whatever_expired(version: int) -> None:
    builder = TableBuilder(format_version=version).append((1,)).append((2,))
    second = builder.table.current_snapshot
    assert second is not None
    builder.append((3,)).tag("kept")
    offset = planner(builder).advance(planner(builder).initial())
    with builder.table.manage_refs() as refs:
        refs.rollback_to_snapshot(second.snapshot_id)
    expire_to_last(builder)
    for resumes_at_oldest in (False, True):
        with pytest.raises(InvalidInput, match="not in the history"):
            planner(builder, resumes_at_oldest=resumes_at_oldest).advance(offset)


def test_a_snapshot_that_was_rolled_back_and_expired_is_not_taken_for_one_that_expired_alone() -> None:
    builder = TableBuilder().append((1,))
    first = builder.table.current_snapshot
    assert first is not None
    builder.append((2,))
    offset = planner(builder).advance(planner(builder).initial())
    offset = StreamOffset.from_json(offset.to_json())
    builder.append((3,))
    with builder.table.manage_refs() as refs:
        refs.rollback_to_snapshot(first.snapshot_id)
    builder.append((4,))
    builder.table.refresh().maintenance.expire_snapshots(older_than=2**53, retain_last=2)
    assert {one.snapshot_id for one in builder.table.snapshots}.isdisjoint({offset.snapshot_id})
    for resumes_at_oldest in (False, True):
        with pytest.raises(InvalidInput, match="not in the history"):
            planner(builder, resumes_at_oldest=resumes_at_oldest).advance(offset)


def test_a_checkpoint_without_sequence_numbers_stays_as_it_is() -> None:
    builder = TableBuilder().append((1,))
    document = planner(builder).advance(planner(builder).initial()).to_json()
    del document["sequence-number"]
    assert StreamOffset.from_json(document).to_json() == document
    assert planner(builder).advance(StreamOffset.from_json(document)).to_json() == document
