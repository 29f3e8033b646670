"""Splits cover every byte of every file once, and groups are of about one size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE
from floeberg.scan.splits import SplitOptions, group_tasks, split_task, task_weight_bytes
from floeberg.scan.tasks import DeleteFile, FileScanTask
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, FileFormat

sizes = st.integers(0, 5_000)
offset_lists = st.none() | st.lists(st.integers(-5, 6_000), max_size=6).map(tuple)


def task(
    size: int, offsets: tuple[int, ...] | None = None, deletes: int = 0, form: FileFormat = FileFormat.PARQUET
) -> FileScanTask:
    file = DataFile(file_path="f", file_format=form, record_count=1, file_size_in_bytes=size, split_offsets=offsets)
    delete = DataFile(
        file_path="d",
        file_format=FileFormat.PARQUET,
        record_count=1,
        file_size_in_bytes=30,
        content=FileContent.POSITION_DELETES,
    )
    return FileScanTask(
        data_file=file,
        data_sequence_number=1,
        file_sequence_number=1,
        residual=TRUE,
        deletes=(DeleteFile(delete, 1),) * deletes,
    )


@given(sizes, offset_lists, st.integers(1, 2_000))
def test_the_parts_of_a_file_are_all_of_it(size: int, offsets: tuple[int, ...] | None, target: int) -> None:
    parts = split_task(task(size, offsets), target)
    if len(parts) == 1:
        assert (parts[0].start, parts[0].length) == (0, None)
        return
    assert parts[0].start == 0
    ends = [part.start + (part.length or 0) for part in parts]
    assert ends[:-1] == [part.start for part in parts[1:]]
    assert ends[-1] == size
    assert all(part.length for part in parts)


def test_files_are_cut_at_their_offsets_and_no_more_often_than_needed() -> None:
    parts = split_task(task(1_000, (4, 200, 400, 600, 800)), 450)
    assert [(part.start, part.length) for part in parts] == [(0, 400), (400, 400), (800, 200)]


@pytest.mark.parametrize("offsets", [(4, 900, 500), (4, 1_000), (-1, 5), (4, 4)])
def test_offsets_out_of_order_or_outside_the_file_are_not_used(offsets: tuple[int, ...]) -> None:
    assert [part.start for part in split_task(task(1_000, offsets), 400)] == [0, 400, 800]


def test_a_row_group_larger_than_the_target_stays_whole() -> None:
    assert [part.start for part in split_task(task(1_000, (4, 900)), 100)] == [0, 900]


@given(st.lists(st.tuples(sizes, st.integers(0, 3)), max_size=30), st.integers(1, 4), st.integers(0, 300))
def test_groups_hold_every_task_once_and_keep_to_the_target(
    files: list[tuple[int, int]], lookback: int, open_cost: int
) -> None:
    options = SplitOptions(target_size_bytes=1_000, lookback=lookback, open_file_cost_bytes=open_cost)
    groups = list(group_tasks([task(size, None, deletes) for size, deletes in files], options))
    found = sorted((part.data_file.file_size_in_bytes, part.start) for group in groups for part in group)
    expected = sorted(
        (size, part.start) for size, deletes in files for part in split_task(task(size, None, deletes), 1_000)
    )
    assert found == expected
    for group in groups:
        weight = sum(task_weight_bytes(part, open_cost) for part in group)
        assert weight <= 1_000 or len(group) == 1


def test_small_files_are_kept_apart_by_the_cost_of_opening_them() -> None:
    options = SplitOptions(target_size_bytes=100, open_file_cost_bytes=40)
    assert [len(group) for group in group_tasks([task(1) for _ in range(6)], options)] == [2, 2, 2]


def test_options_come_from_the_table_unless_the_reader_says_otherwise() -> None:
    assert SplitOptions.of({}) == SplitOptions(
        target_size_bytes=134_217_728, lookback=10, open_file_cost_bytes=4_194_304
    )
    properties = {"read.split.target-size": "7", "read.split.planning-lookback": "2", "read.split.open-file-cost": "1"}
    assert SplitOptions.of(properties) == SplitOptions(target_size_bytes=7, lookback=2, open_file_cost_bytes=1)
    assert SplitOptions.of(properties, target_size_bytes=9).target_size_bytes == 9
    with pytest.raises(InvalidInput, match="positive"):
        SplitOptions.of({"read.split.target-size": "0"})
