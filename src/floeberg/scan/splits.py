"""Splits: tasks cut at the offsets where their files may be cut, and packed into groups of about one size.

The table properties are those of the reference implementation: read.split.target-size, .planning-lookback,
.open-file-cost. A group is what one worker reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from msgspec import structs

from floeberg.errors import InvalidInput
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_properties import integer_property
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat

SPLITTABLE: Final = frozenset({FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO})


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOptions:
    """How large groups become. Opening a file is counted as reading `open_file_cost_bytes`, so that small files do not
    all come into one group."""

    target_size_bytes: int = 128 * 1024 * 1024
    lookback: int = 10
    open_file_cost_bytes: int = 4 * 1024 * 1024

    def __post_init__(self) -> None:
        if self.target_size_bytes <= 0 or self.lookback <= 0 or self.open_file_cost_bytes < 0:
            raise InvalidInput(
                "split sizes must be positive: read.split.target-size, read.split.planning-lookback and "
                "read.split.open-file-cost"
            )

    @classmethod
    def of(cls, properties: Mapping[str, str], *, target_size_bytes: int | None = None) -> SplitOptions:
        """As the table's properties say, unless the reader says otherwise. Raises InvalidInput."""
        default = cls()
        stated = integer_property(properties, "read.split.target-size", default.target_size_bytes)
        return cls(
            target_size_bytes=stated if target_size_bytes is None else target_size_bytes,
            lookback=integer_property(properties, "read.split.planning-lookback", default.lookback),
            open_file_cost_bytes=integer_property(
                properties, "read.split.open-file-cost", default.open_file_cost_bytes
            ),
        )


def split_task(task: FileScanTask, target_size_bytes: int) -> list[FileScanTask]:
    """The task in parts of about the target size, cut at the file's split offsets where it has them. Together the parts
    are the whole file: each byte is in one of them."""
    size = task.data_file.file_size_in_bytes
    if task.length is not None or task.data_file.file_format not in SPLITTABLE or size <= target_size_bytes:
        return [task]
    cuts = [0, *_cuts(task.data_file, target_size_bytes), size]
    if len(cuts) == 2:
        return [task]
    return [structs.replace(task, start=start, length=end - start) for start, end in pairwise(cuts) if end > start]


def group_tasks(tasks: Iterable[FileScanTask], options: SplitOptions) -> Iterator[tuple[FileScanTask, ...]]:
    """The tasks, split, in groups whose weight is about the target size. At most `lookback` groups are open at a time;
    when there is no room in any, the heaviest is given out."""
    open_groups: list[_Group] = []
    for task in tasks:
        for part in split_task(task, options.target_size_bytes):
            weight = task_weight_bytes(part, options.open_file_cost_bytes)
            group = next((g for g in open_groups if g.weight + weight <= options.target_size_bytes), None)
            if group is None:
                group = _Group()
                open_groups.append(group)
            group.tasks.append(part)
            group.weight += weight
            if len(open_groups) > options.lookback:
                heaviest = max(open_groups, key=lambda g: g.weight)
                open_groups = [g for g in open_groups if g is not heaviest]
                yield tuple(heaviest.tasks)
    for group in open_groups:
        yield tuple(group.tasks)


def task_weight_bytes(task: FileScanTask, open_file_cost_bytes: int) -> int:
    """What reading a task costs: its bytes and those of its deletes, and at least the opening of each file."""
    length = task.data_file.file_size_in_bytes if task.length is None else task.length
    deletes = sum(delete.file.content_size_in_bytes or delete.file.file_size_in_bytes for delete in task.deletes)
    return max(length + deletes, (1 + len(task.deletes)) * open_file_cost_bytes)


class _Group:
    __slots__ = ("tasks", "weight")

    def __init__(self) -> None:
        self.tasks: list[FileScanTask] = []
        self.weight = 0


def _cuts(file: DataFile, target_size_bytes: int) -> list[int]:
    """Where to cut: offsets that are in order and within the file, as few as the target size allows."""
    size = file.file_size_in_bytes
    offsets = file.split_offsets
    if not offsets or list(offsets) != sorted(set(offsets)) or offsets[0] < 0 or offsets[-1] >= size:
        return list(range(target_size_bytes, size, target_size_bytes))
    cuts: list[int] = []
    last = 0
    for offset, following in pairwise((*offsets[1:], size)):
        if following - last > target_size_bytes:
            cuts.append(offset)
            last = offset
    return cuts
