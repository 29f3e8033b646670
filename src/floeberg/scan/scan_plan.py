"""A planned scan: frames of files and deletes, from which tasks are made one by one on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import polars as pl

from floeberg.errors import UnsupportedFeature
from floeberg.expr.nodes import AlwaysTrue, Expression
from floeberg.expr.residual import Residuals
from floeberg.files.manifest import entries, number_tuples, partition_tuples
from floeberg.files.manifest_columns import DATA_FILE_COLUMNS
from floeberg.scan.explanation import Explanation
from floeberg.scan.manifest_frames import FilesOfSpec
from floeberg.scan.tasks import DeleteFile, FileScanTask
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat, ManifestEntry
from floeberg.spec.types import StructType

_TASKS_AT_ONCE: Final = 2_048
_NUMBERS_LIKE_A_FILE: Final = 100
"""So many numbers of deletes take as much memory as the row of a file."""
_FILE_DTYPES: Final = {column.name: column.dtype for column in DATA_FILE_COLUMNS}


class ScanPlan(Sequence[FileScanTask]):
    """The files to read. `parts` hold them by partition spec, with a column `deletes`: the numbers of the delete files that
    apply. The number of a delete file is its row in the concatenated frames of `deletes`. A plan keeps no metrics unless
    asked to."""

    def __init__(
        self,
        *,
        parts: Sequence[FilesOfSpec],
        deletes: Sequence[FilesOfSpec],
        schema: Schema,
        filter: Expression,
        explanation: Explanation,
    ) -> None:
        self.parts = tuple(parts)
        self.schema = schema
        self.filter = filter
        self.explanation = explanation
        self._deletes = DeletesByNumber(deletes)
        self._residuals: dict[int, ResidualsOfSpec] = {}

    def with_parts(self, parts: Sequence[FilesOfSpec]) -> ScanPlan:
        """The same plan with other data files, each of which is among its own."""
        plan = ScanPlan(parts=parts, deletes=(), schema=self.schema, filter=self.filter, explanation=self.explanation)
        plan._deletes = self._deletes
        return plan

    def __len__(self) -> int:
        return sum(part.frame.height for part in self.parts)

    def __iter__(self) -> Iterator[FileScanTask]:
        for part in self.parts:
            for start in range(0, part.frame.height, _TASKS_AT_ONCE):
                yield from self._tasks(part, part.frame.slice(start, _TASKS_AT_ONCE))

    def __getitem__(self, index: int | slice) -> FileScanTask | list[FileScanTask]:  # type: ignore[override]
        if isinstance(index, slice):
            return [self._task(number) for number in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"the plan has {len(self)} tasks")
        return self._task(number)

    def __repr__(self) -> str:
        return f"ScanPlan({len(self)} files)"

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Every planned file, one row each, without its partition values (whose columns differ by spec: see `parts`)."""
        frames = [part.frame.drop("partition") for part in self.parts]
        return pl.concat(frames) if frames else pl.DataFrame({"file_path": [], "record_count": []})

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths of the planned files."""
        return frozenset(path for part in self.parts for path in part.frame.get_column("file_path").to_list())

    @cached_property
    def record_count(self) -> int:
        """The rows of the planned files, deleted ones included."""
        return sum(int(part.frame.get_column("record_count").sum()) for part in self.parts)

    @cached_property
    def size_in_bytes(self) -> int:
        return sum(int(part.frame.get_column("file_size_in_bytes").sum()) for part in self.parts)

    @cached_property
    def held_files(self) -> int:
        """How many files the plan has in memory: data files, the delete files that apply to them, and which
        apply to which."""
        numbers = sum(int(part.frame.get_column("deletes").list.len().sum()) for part in self.parts)
        return len(self) + self._deletes.count + numbers // _NUMBERS_LIKE_A_FILE

    @property
    def total_files(self) -> int | None:
        """The live data files of the snapshot, planned or not; None where a skipped v1 manifest does not count them."""
        return self.explanation.data.files

    @property
    def delete_files(self) -> list[DeleteFile]:
        """Every delete file that applies to a planned file, each once."""
        used = {number for part in self.parts for number in part.frame.get_column("deletes").explode().to_list()}
        return [self._deletes.get(number) for number in sorted(used - {None})]

    def live_rows(self, part: FilesOfSpec) -> pl.Series | None:
        """The rows of each file of a part without those that its deletion vector deletes; None where other deletes apply,
        which do not tell how many rows they delete."""
        rows = part.frame.get_column("record_count")
        deletes = part.frame.get_column("deletes")
        if not deletes.list.len().gt(0).any():
            return rows
        found: list[int] = rows.to_list()
        for place, numbers in enumerate(number_tuples(deletes)):
            for number in numbers or ():
                delete = self._deletes.get(number).file
                if not delete.is_deletion_vector:
                    return None
                found[place] -= delete.record_count
        return pl.Series(rows.name, found, dtype=rows.dtype)

    @property
    def has_deletes(self) -> bool:
        return any(bool(part.frame.get_column("deletes").list.len().gt(0).any()) for part in self.parts)

    def residual(self, part: FilesOfSpec, partition: tuple[object, ...]) -> Expression:
        """The residual filter for the rows of a partition."""
        if isinstance(self.filter, AlwaysTrue):
            return self.filter
        known = self._residuals.get(part.spec.spec_id)
        if known is None:
            known = ResidualsOfSpec(Residuals(part.spec, self.schema, self.filter))
            self._residuals[part.spec.spec_id] = known
        return known.of(partition)

    def _task(self, number: int) -> FileScanTask:
        for part in self.parts:
            if number < part.frame.height:
                return next(self._tasks(part, part.frame.slice(number, 1)))
            number -= part.frame.height
        raise IndexError(f"the plan has {len(self)} tasks")

    def _tasks(self, part: FilesOfSpec, frame: pl.DataFrame) -> Iterator[FileScanTask]:
        columns = [frame.get_column(name).to_list() for name in ("sequence_number", "file_sequence_number")]
        deletes = number_tuples(frame.get_column("deletes"))
        for file, sequence_number, file_sequence_number, numbers in zip(
            data_files_of(frame, part.partition_type), *columns, deletes, strict=True
        ):
            yield FileScanTask(
                data_file=file,
                data_sequence_number=sequence_number or 0,
                file_sequence_number=file_sequence_number,
                deletes=tuple([self._deletes.get(number) for number in numbers]) if numbers else (),
                residual=self.residual(part, file.partition),
            )


class ResidualsOfSpec:
    """Computes the residual of each distinct partition once."""

    def __init__(self, residuals: Residuals) -> None:
        self._residuals = residuals
        self._known: dict[tuple[object, ...], Expression] = {}

    def of(self, partition: tuple[object, ...]) -> Expression:
        key = tuple(("NaN", float) if value != value else value for value in partition)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._residuals.of_partition(partition)
        return known


class DeletesByNumber:
    """The delete files of a plan by number; objects are made at first use."""

    def __init__(self, parts: Sequence[FilesOfSpec]) -> None:
        self._parts = tuple(parts)
        self._known: dict[int, DeleteFile] = {}
        self.count: Final = sum(part.frame.height for part in self._parts)

    def get(self, number: int) -> DeleteFile:
        known = self._known.get(number)
        if known is None:
            self._make(number)
            known = self._known[number]
        return known

    def _make(self, number: int) -> None:
        """Makes the delete file of a number and its neighbours, which are likely to be needed next."""
        first = 0
        for part in self._parts:
            if number < first + part.frame.height:
                start = (number - first) // _TASKS_AT_ONCE * _TASKS_AT_ONCE
                rows = part.frame.slice(start, _TASKS_AT_ONCE)
                for place, entry in enumerate(entries_of(rows, part.partition_type), first + start):
                    self._known[place] = DeleteFile(entry.data_file, entry.data_sequence_number or 0)
                return
            first += part.frame.height


def data_files_of(frame: pl.DataFrame, partition_type: StructType) -> list[DataFile]:
    """The rows of a frame of data files as objects. Equal partitions and offsets share one object."""
    if "lower_bounds" in frame.columns:
        return [entry.data_file for entry in entries_of(frame, partition_type)]
    formats = {text: _format(text) for text in frame.get_column("file_format").unique()}
    offsets = number_tuples(frame.get_column("split_offsets"))
    names = ("file_path", "file_format", "spec_id", "record_count", "file_size_in_bytes", "key_metadata",
             "sort_order_id", "first_row_id")  # fmt: skip
    columns = [frame.get_column(name).to_list() for name in names]
    return [
        DataFile(
            file_path=file_path, file_format=formats[file_format], spec_id=spec_id, partition=partition,
            record_count=record_count, file_size_in_bytes=size, key_metadata=key_metadata, split_offsets=split_offsets,
            sort_order_id=sort_order_id, first_row_id=first_row_id,
        )
        for partition, split_offsets, file_path, file_format, spec_id, record_count, size, key_metadata, sort_order_id,
        first_row_id in zip(
            partition_tuples(frame.get_column("partition"), partition_type), offsets, *columns, strict=True
        )
    ]  # fmt: skip


def _format(text: str) -> FileFormat:
    try:
        return FileFormat(text)
    except ValueError as error:
        raise UnsupportedFeature(f"file format {text[:40]!r} is not supported", format=text) from error


def entries_of(frame: pl.DataFrame, partition_type: StructType) -> list[ManifestEntry]:
    """The rows of a frame as entries; what the frame has no column for is None."""
    missing = [pl.lit(None, dtype=dtype).alias(name) for name, dtype in _FILE_DTYPES.items() if name not in frame]
    return entries(frame.with_columns(missing), partition_type)
