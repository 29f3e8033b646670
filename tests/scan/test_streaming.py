"""Offsets of a stream over a table: where it begins, how far a batch reads, and what it cannot go on from."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow.compute as pc
import pytest

from floeberg.arrow.scan.changelog import read_changes
from floeberg.arrow.scan.execute import table_reader
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.errors import InvalidInput, SnapshotNotFound, UnsupportedFeature
from floeberg.maintenance.expire import Expiry, expire_snapshots
from floeberg.scan.streaming import StreamOffset, StreamOptions, StreamPlanner
from floeberg.testing.table_builder import TableBuilder


def planner(builder: TableBuilder, **options) -> StreamPlanner:
    table = builder.table.refresh()
    store_for = table._pointer.store_for
    return StreamPlanner(
        identifier="lake.db.t", metadata=table.metadata, options=StreamOptions(**options), store_for=store_for
    )


def read(builder: TableBuilder, start: StreamOffset, **options) -> tuple[StreamOffset, list[int]]:
    """The next batch: its end, and how many rows each of its files has."""
    found = planner(builder, **options)
    end = found.advance(start)
    assert StreamOffset.from_json(end.to_json()) == end
    again = planner(builder, **options)  # in another process
    return end, [task.data_file.record_count for part in again.between(start, end) for task in part]


def expire_to_last(builder: TableBuilder) -> None:
    table = builder.table.refresh()
    expire_snapshots(table._pointer, table._state, Expiry(older_than_ms=2**62, retain_last=1))


def test_a_stream_begins_with_all_live_rows_and_goes_on_with_appends():
    builder = TableBuilder(properties={"write.delete.mode": "merge-on-read"}).append((1,), (2,)).append((3,))
    builder.delete("id = 1")
    expire_to_last(builder)
    offset = planner(builder).initial()
    offset, files = read(builder, offset)
    assert files == [1, 2] or files == [2, 1]
    builder.append((4,)).append((5,), (6,))
    offset, files = read(builder, offset)
    assert files == [1, 2]
    assert read(builder, offset) == (offset, [])


def test_a_long_stream_forgets_the_plans_of_what_it_has_read():
    builder = TableBuilder().append((1,)).append((2,)).append((3,))
    found = planner(builder, max_files=1)
    offset, read_rows = found.initial(), 0
    while (end := found.advance(offset)) != offset:
        read_rows += sum(task.data_file.record_count for part in found.between(offset, end) for task in part)
        offset = end
        found.forget_before(offset)
        assert {snapshot_id for snapshot_id, _ in found.known} <= {offset.snapshot_id}
    assert read_rows == 3


def test_the_plan_of_the_next_batch_is_kept_when_spark_commits_the_last_one():
    builder = TableBuilder().append((1,))
    first = planner(builder).advance(planner(builder).initial())
    builder.append((2,)).append((3,))
    found = planner(builder)
    end = found.advance(first)
    planned = dict(found.known)
    assert len(planned) == 2
    found.forget_before(first)
    assert found.known == planned
    found.forget_before(end)
    assert {snapshot_id for snapshot_id, _ in found.known} == {end.snapshot_id}


def test_an_empty_table_is_waited_for():
    builder = TableBuilder()
    offset, files = read(builder, planner(builder).initial())
    assert (offset.snapshot_id, files) == (None, [])
    builder.append((1,))
    assert read(builder, offset)[1] == [1]


@pytest.mark.parametrize(("limits", "batches"), [({"max_files": 2}, {4}), ({"max_rows": 3}, {4, 5}), ({}, {1})])
def test_limits_split_batches_and_nothing_is_lost_or_twice(limits, batches):
    builder = TableBuilder(partition_by=["p"]).append((1, 0), (2, 0), (3, 1), (4, 2))
    offset, sizes = planner(builder, **limits).initial(), []
    builder.append((5, 0), (6, 1)).append(*((number, 3) for number in range(10, 15))).append((20, 1))
    while True:
        offset, files = read(builder, offset, **limits)
        if not files:
            break
        sizes.append(files)
        assert len(files) <= limits.get("max_files", 99)
        assert len(files) == 1 or sum(files) <= limits.get("max_rows", 99)
    assert sum(map(sum, sizes)) == 12
    assert len(sizes) in batches


def test_compaction_adds_nothing():
    builder = TableBuilder().append((1,)).append((2,))
    offset, _ = read(builder, planner(builder).initial())
    files = builder.data()
    start = builder.table.current_snapshot.snapshot_id
    rewritten = builder.data_file((1,), (2,))
    builder.table._commit(RewriteFiles(removed=files, added=[rewritten], starting_snapshot_id=start))
    end, files = read(builder, offset)
    assert (end.snapshot_id, files) == (builder.table.current_snapshot.snapshot_id, [])


@pytest.mark.parametrize("kind", ["delete", "overwrite"])
def test_deletes_and_overwrites_are_errors_unless_they_are_skipped(kind):
    builder = TableBuilder().append((1,))
    offset, _ = read(builder, planner(builder).initial())
    if kind == "delete":
        builder.delete("id = 1")
    else:
        builder.table.overwrite(builder.arrow([(9,)]))
    builder.append((2,))
    with pytest.raises(UnsupportedFeature, match=f"streaming-skip-{kind}-snapshots"):
        read(builder, offset)
    assert read(builder, offset, **{f"skip_{kind}s": True})[1] == [1]


def test_a_stream_starts_at_a_snapshot_or_a_time():
    builder = TableBuilder().append((1,)).append((2,), (3,))
    second = builder.table.current_snapshot
    builder.append((4,), (5,), (6,))
    start = planner(builder, from_snapshot_id=second.snapshot_id).initial()
    assert sorted(read(builder, start)[1]) == [1, 2, 3]
    late = {"from_timestamp_ms": second.timestamp_ms}
    assert sorted(read(builder, planner(builder, **late).initial(), **late)[1])[-2:] == [2, 3]
    future = {"from_timestamp_ms": 2**62}
    assert read(builder, planner(builder, **future).initial(), **future)[1] == []
    with pytest.raises(SnapshotNotFound):
        planner(builder, from_snapshot_id=7).initial()


def test_a_branch_is_a_stream_of_its_own():
    builder = TableBuilder().append((1,)).branch("b").append((2,), (3,), branch="b")
    assert sorted(read(builder, planner(builder, branch="b").initial(), branch="b")[1]) == [1, 2]


def test_a_snapshot_that_expired_after_it_was_read_is_no_loss_and_an_older_one_is_an_error():
    builder = TableBuilder().append((1,))
    offset, _ = read(builder, planner(builder).initial())
    builder.append((2,), (3,))
    expire_to_last(builder)
    assert read(builder, offset)[1] == [2]
    builder.append((4,))
    expire_to_last(builder)
    with pytest.raises(SnapshotNotFound, match="streaming-on-expired=oldest"):
        read(builder, offset)
    assert read(builder, offset, resumes_at_oldest=True)[1] == [1]
    partly = replace(offset, snapshot_id=builder.table.current_snapshot.parent_snapshot_id, done=False)
    with pytest.raises(SnapshotNotFound, match="has expired"):
        read(builder, partly)


def test_a_rolled_back_snapshot_and_another_table_are_errors():
    builder = TableBuilder().append((1,))
    first = builder.table.current_snapshot
    builder.append((2,))
    offset, _ = read(builder, planner(builder).initial())
    with builder.table.manage_refs() as refs:
        refs.rollback_to_snapshot(first.snapshot_id)
    builder.append((3,))
    with pytest.raises(InvalidInput, match="not in the history"):
        read(builder, offset)
    with pytest.raises(InvalidInput, match="another table"):
        read(builder, replace(offset, table_uuid="other"))
    with pytest.raises(InvalidInput, match="another source"):
        StreamOffset.from_json({"logOffset": 1})


@pytest.mark.parametrize("seed", range(10))
def test_every_row_comes_once_whatever_the_batches_are(seed):
    rng = random.Random(seed)
    builder = TableBuilder(partition_by=["p"]).append((0, 0))
    offset, rows, total = planner(builder).initial(), 0, 1
    for number in range(1, 30):
        if rng.random() < 0.5:
            added = [(number, rng.randrange(3)) for _ in range(rng.randint(1, 4))]
            builder.append(*added)
            total += len(added)
        else:
            offset, files = read(builder, offset, max_files=rng.randint(1, 3))
            rows += sum(files)
    while (step := read(builder, offset))[1]:
        offset, rows = step[0], rows + sum(step[1])
    assert rows == total


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("limit", ["max_files", "max_rows"])
def test_a_copy_by_key_keeps_rows_that_move_between_partitions_whatever_the_batches_are(mode, limit):
    properties = dict.fromkeys(("write.update.mode", "write.delete.mode"), mode)
    builder = TableBuilder("id bigint, p int", partition_by=["p"], properties=properties)
    table = builder.append(*((number, number % 4) for number in range(12))).table.refresh()
    table.update({"p": 9}, where="id = 0")  # to a partition that is new
    table.update({"p": lambda rows: pc.subtract(3, rows.column("p"))}, where="p < 9")  # each one loses and gets rows
    table.update({"p": 2}, where="p IN (0, 3)")
    table.delete("id = 5")
    found, copy = planner(builder, changes=True, **{limit: 1}), {}
    reader = table_reader(table.metadata, table.schema, store_for=table._pointer.store_for)
    offset, batches = found.initial(), 0
    while (end := found.advance(offset)) != offset:
        tasks = [task for part in found.between(offset, end) for task in part]
        changes = read_changes(tasks, reader, table.schema).read_all().to_pylist()
        for change in sorted(changes, key=lambda change: (change["_change_ordinal"], change["_change_type"])):
            copy.pop(change["id"], None)
            if change["_change_type"] == "INSERT":
                copy[change["id"]] = change["p"]
        offset, batches = end, batches + 1
    assert sorted(copy.items()) == sorted(builder.rows())
    assert batches >= 8


def test_batches_part_the_deletes_of_a_snapshot_by_file():
    builder = TableBuilder("id bigint, p int", partition_by=["p"], properties={"write.delete.mode": "merge-on-read"})
    builder.append(*((number, number % 4) for number in range(12)))
    offset, _ = read(builder, planner(builder, changes=True).initial(), changes=True)
    builder.delete("id < 4")
    found = []
    while (step := read(builder, offset, changes=True, max_files=1))[1]:
        offset, files = step
        found.append(files)
    assert found == [[3]] * 4


def test_an_offset_between_changes_in_another_order_is_refused() -> None:
    offset = StreamOffset(table_uuid="u", snapshot_id=7, position=1, done=False, changes=True, ordinal=0)
    assert StreamOffset.from_json(offset.to_json()) == offset
    earlier = {key: value for key, value in offset.to_json().items() if key != "deletes-first"}
    with pytest.raises(InvalidInput, match=r"within the changes of snapshot 7.*begin the stream with a new checkpoint"):
        StreamOffset.from_json(earlier)
    for other in (replace(offset, done=True), replace(offset, position=0), replace(offset, changes=False)):
        assert "deletes-first" not in other.to_json()
        assert StreamOffset.from_json(other.to_json()) == other
