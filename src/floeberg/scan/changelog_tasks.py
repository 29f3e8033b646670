"""What a planned changelog is made of: data files as they were before a snapshot and are after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from floeberg.expr.nodes import Expression
from floeberg.scan.tasks import DeleteFile, FileScanTask
from floeberg.spec.snapshots.manifest_entry import DataFile


class ChangeType(StrEnum):
    """What happened to a row: the values of `_change_type`."""

    INSERT = "INSERT"
    DELETE = "DELETE"
    UPDATE_BEFORE = "UPDATE_BEFORE"
    UPDATE_AFTER = "UPDATE_AFTER"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogTask:
    """A data file as it was before a snapshot and is after it: the deletes that apply, or None where it is not there."""

    change_ordinal: int
    commit_snapshot_id: int
    data_file: DataFile
    data_sequence_number: int
    file_sequence_number: int | None
    before: tuple[DeleteFile, ...] | None
    after: tuple[DeleteFile, ...] | None
    residual: Expression

    @property
    def change_types(self) -> tuple[ChangeType, ...]:
        """What changes there can be. A file only loses rows where its older deletes all apply still."""
        if self.before is None:
            return (ChangeType.INSERT,)
        only_deletes = self.after is None or _identities(self.before) <= _identities(self.after)
        return (ChangeType.DELETE,) if only_deletes else (ChangeType.DELETE, ChangeType.INSERT)

    def reading(self, deletes: tuple[DeleteFile, ...]) -> FileScanTask:
        """The scan of the file's rows that these deletes leave."""
        return FileScanTask(
            data_file=self.data_file,
            data_sequence_number=self.data_sequence_number,
            file_sequence_number=self.file_sequence_number,
            deletes=deletes,
            residual=self.residual,
        )


def _identities(deletes: tuple[DeleteFile, ...]) -> set[tuple[str, int | None]]:
    return {delete.file.identity for delete in deletes}


def independent_groups(tasks: Iterable[ChangelogTask]) -> Iterator[tuple[ChangelogTask, ...]]:
    """The tasks in groups that can be read apart: a row that a snapshot deletes and inserts again has both in one group.

    Equal rows are in equal partitions of one spec, so a snapshot that writes one spec has a group for each partition; where
    rows only come or only go, each file is one.
    """
    for _, of_snapshot in groupby(tasks, key=lambda task: task.change_ordinal):
        found = list(of_snapshot)
        by_partition: dict[tuple[object, ...], list[ChangelogTask]] = {}
        has_one_spec = len({task.data_file.spec_id for task in found}) == 1
        for task in found:
            by_partition.setdefault(_partition(task) if has_one_spec else (), []).append(task)
        for group in by_partition.values():
            if deletes_and_inserts(group):
                yield tuple(group)
            else:
                yield from ((task,) for task in group)


def deletes_and_inserts(tasks: Sequence[ChangelogTask]) -> bool:
    """Whether some of the tasks may delete rows and some insert rows, so that a row may be in both."""
    return len({kind for task in tasks for kind in task.change_types}) > 1


def _partition(task: ChangelogTask) -> tuple[object, ...]:
    """The partition, with NaN as a value that equals itself."""
    return tuple("NaN" if value != value else value for value in task.data_file.partition)
