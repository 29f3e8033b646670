"""Which data files are rewritten together: groups of one partition, planned as the reference plans them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from floeberg.commit.delete_scope import single_referenced_path
from floeberg.commit.partitions import PartitionKey, partition_key
from floeberg.maintenance.rewrite.options import JobOrder, RewriteOptions
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.snapshots.manifest_entry import FileContent


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Data files whose live rows are written to new files together."""

    partition: PartitionKey | None
    """The partition of all the files under the output spec; None for files of other specs."""
    tasks: tuple[FileScanTask, ...]

    @property
    def size_bytes(self) -> int:
        return sum(task.data_file.file_size_in_bytes for task in self.tasks)

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(task.data_file.file_path for task in self.tasks)


def plan_groups(tasks: Iterable[FileScanTask], options: RewriteOptions) -> list[FileGroup]:
    """The groups that are worth rewriting, in the order in which they are to be rewritten.

    Files of another spec than the output's may hold rows of several partitions and share groups.
    """
    by_partition: dict[PartitionKey | None, list[FileScanTask]] = {}
    for task in tasks:
        file = task.data_file
        key = partition_key(file) if file.spec_id == options.output_spec_id else None
        by_partition.setdefault(key, []).append(task)
    groups = [
        FileGroup(key, tuple(part))
        for key, members in by_partition.items()
        for part in _packed([task for task in members if is_candidate(task, options)], options)
        if options.rewrite_all or is_worth_rewriting(part, options)
    ]
    return _limited(_ordered(groups, options.job_order), options.max_files_to_rewrite)


def is_candidate(task: FileScanTask, options: RewriteOptions) -> bool:
    """Whether a file's size or deletes ask for a rewrite."""
    return options.rewrite_all or not options.sizes.fit(task.data_file.file_size_in_bytes) or _has_many(task, options)


def is_worth_rewriting(tasks: Sequence[FileScanTask], options: RewriteOptions) -> bool:
    """Whether there are enough small files, more than a file's worth of content, a file that is too large, or deletes."""
    size = sum(task.data_file.file_size_in_bytes for task in tasks)
    if len(tasks) > 1 and (len(tasks) >= options.min_input_files or size > options.sizes.target_bytes):
        return True
    return size > options.sizes.max_bytes or any(_has_many(task, options) for task in tasks)


def _has_many(task: FileScanTask, options: RewriteOptions) -> bool:
    """Whether the deletes of a file reach a threshold. Only deletes of this file alone say how many rows they delete."""
    if not task.deletes:
        return False
    if len(task.deletes) >= options.delete_file_threshold:
        return True
    deleted = sum(
        delete.file.record_count
        for delete in task.deletes
        if delete.file.content is FileContent.POSITION_DELETES and single_referenced_path(delete.file) is not None
    )
    rows = task.data_file.record_count
    return rows > 0 and min(deleted, rows) / rows >= options.delete_ratio_threshold


def _packed(tasks: Sequence[FileScanTask], options: RewriteOptions) -> list[list[FileScanTask]]:
    """The files, in their order, in groups of at most the group size."""
    groups: list[list[FileScanTask]] = []
    size = 0
    for task in tasks:
        length = task.data_file.file_size_in_bytes
        if not groups or size + length > options.max_file_group_bytes:
            groups.append([])
            size = 0
        groups[-1].append(task)
        size += length
    return groups


def _ordered(groups: list[FileGroup], order: JobOrder) -> list[FileGroup]:
    if order is JobOrder.NONE:
        return groups
    by_bytes = order in (JobOrder.BYTES_ASC, JobOrder.BYTES_DESC)
    key = (lambda group: group.size_bytes) if by_bytes else (lambda group: len(group.tasks))
    return sorted(groups, key=key, reverse=order in (JobOrder.BYTES_DESC, JobOrder.FILES_DESC))


def _limited(groups: Sequence[FileGroup], most: int | None) -> list[FileGroup]:
    """The first groups, with at most so many files in all."""
    if most is None:
        return list(groups)
    kept: list[FileGroup] = []
    for group in groups:
        if most <= 0:
            break
        kept.append(FileGroup(group.partition, group.tasks[:most]))
        most -= len(group.tasks)
    return kept
