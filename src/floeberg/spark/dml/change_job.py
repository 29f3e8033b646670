"""The job that collects which rows a statement deletes or replaces, as bitmaps of positions, in Python workers; in the same
pass it can write the new versions of updated rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from floeberg.files.data_file_wire import decode_data_file
from floeberg.files.deletion_vector import bitmap_of
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.dml.copying import may_be_copied
from floeberg.spark.dml.target import ChangedTable, with_inherited_sequence_number
from floeberg.spark.host.settings.held_settings import held_setting
from floeberg.spark.workers.check import check_workers
from floeberg.spark.workers.in_workers import collect_from_workers
from floeberg.spark.write.distribution import distributed
from floeberg.spark.write.job import WriterTask, run_work, writer_task
from floeberg.spark.write.options import DistributionMode
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.snapshots.manifest_entry import DataFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KIND: Final = f"{ENGINE_PREFIX}kind"
FILE: Final = f"{ENGINE_PREFIX}file"
POSITION: Final = f"{ENGINE_PREFIX}position"
SOURCE_ROW: Final = f"{ENGINE_PREFIX}source_row"
"""The columns of a change that come before those of the new row. SOURCE_ROW is there in a MERGE alone."""
_RESULT: Final = pa.schema(
    [
        ("what", pa.string()),
        ("kind", pa.int32()),
        ("file", pa.string()),
        ("rows", pa.int64()),
        ("content", pa.binary()),
    ]
)
_RESULT_TEXT: Final = "what string, kind int, file string, rows bigint, content binary"
PARALLELISM_FIRST: Final = "spark.sql.adaptive.coalescePartitions.parallelismFirst"


class RowKind(IntEnum):
    """What happens to a row of a change."""

    UNTOUCHED = 0
    DELETE = 1
    UPDATE = 2


class _What(StrEnum):
    """What a row of a worker's answer is about."""

    POSITIONS = "positions"
    MATCHED = "matched"
    WRITTEN = "written"


@dataclass(slots=True)
class Touched:
    """The rows that a change found, and the files that it wrote."""

    positions: dict[str, BitMap64] = field(default_factory=dict)
    """The rows that are deleted or replaced, by file."""
    deleted: int = 0
    updated: int = 0
    twice: str | None = None
    """A file one of whose rows was matched by more than one source row."""
    matched: BitMap64 = field(default_factory=BitMap64)
    """The source rows that matched."""
    written: list[DataFile] = field(default_factory=list)
    """The files of the new versions of updated rows, if they were written."""


def can_find_and_write_in_one_job(target: ChangedTable, tasks: list[FileScanTask]) -> bool:
    """Whether the new rows of a change can be written while the replaced rows are still being found: not if they go into
    files with rows that stay, and not if each task would write its own small file."""
    adaptive = target.session.setting("spark.sql.adaptive.enabled", "true") == "true"
    is_spread = target.write_options.distribution is not DistributionMode.NONE
    return (target.merge_on_read or may_be_copied(target, tasks)) and (adaptive or is_spread)


def find_changes(target: ChangedTable, changes: DataFrame, *, checks_cardinality: bool = False) -> Touched:
    """Runs the job that collects which rows are deleted or replaced. With `checks_cardinality`, it notes
    whether a row occurs more than once, whatever happens to it."""
    check_workers(target.spark)
    return _put_together(
        collect_from_workers(changes, ChangeTask(None), _RESULT_TEXT), None, checks_cardinality=checks_cardinality
    )


def write_changes(target: ChangedTable, changes: DataFrame, *, checks_cardinality: bool = False) -> Touched:
    """Runs the job that collects which rows are deleted or replaced, and writes the new versions of updated rows in as few
    files as their number needs. The caller removes the files when the change fails."""
    options = target.write_options
    task = writer_task(target.table, options=options, schema=target.written_schema)
    rows = with_inherited_sequence_number(target, changes)
    if options.distribution is DistributionMode.NONE:
        rows = rows.hint("rebalance", FILE)  # rows of a file stay together, in their order
    rows = distributed(
        rows,
        schema=task.schema,
        spec=task.spec,
        order=task.sort_order,
        mode=options.distribution,
        fanout=options.fanout,
    )
    # Spark sizes the tasks after a shuffle by their bytes, not by the number of cores: each writes a file.
    with held_setting(target.spark, PARALLELISM_FIRST, "false"):
        found = run_work(rows, target.table, task, ChangeTask(task), _RESULT_TEXT)
    return _put_together(found, task, checks_cardinality=checks_cardinality)


def _put_together(found: list[Any], task: WriterTask | None, *, checks_cardinality: bool) -> Touched:
    touched = Touched()
    seen: dict[str, BitMap64] = {}
    rows: dict[str, int] = {}
    for row in found:
        content = bytes(row.content)
        if row.what == _What.WRITTEN:
            assert task is not None
            touched.written.append(decode_data_file(content, task.partition_type))
            continue
        bitmap = BitMap64.deserialize(content)
        if row.what == _What.MATCHED:
            touched.matched |= bitmap
            continue
        if row.kind != RowKind.UNTOUCHED:
            touched.positions[row.file] = touched.positions.get(row.file, BitMap64()) | bitmap
        if row.kind == RowKind.DELETE:
            touched.deleted += row.rows
        elif row.kind == RowKind.UPDATE:
            touched.updated += row.rows
        if checks_cardinality:
            seen[row.file] = seen.get(row.file, BitMap64()) | bitmap
            rows[row.file] = rows.get(row.file, 0) + row.rows
    touched.twice = next((file for file, number in rows.items() if number > len(seen[file])), None)
    if not checks_cardinality:
        _count_once(touched)
    return touched


def _count_once(touched: Touched) -> None:
    """A row that an unconditional delete finds several times is deleted once."""
    total = sum(len(found) for found in touched.positions.values())
    if touched.deleted + touched.updated > total:
        touched.deleted = total - touched.updated


@dataclass(frozen=True, slots=True)
class ChangeTask:
    """Inspects the rows of a change in a worker, and writes the new ones if it has a writer. It is serialized to the
    workers."""

    writer: WriterTask | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gathered = _Gathered()
        written: list[bytes] = []
        if self.writer is None:
            for batch in batches:
                gathered.add(batch)
        else:
            for answer in self.writer(gathered.new_rows(batches)):
                written += answer.column(0).to_pylist()
        yield gathered.answer(written)


class _Gathered:
    """What a worker collected from its rows so far."""

    def __init__(self) -> None:
        self._positions: dict[tuple[str, int], BitMap64] = {}
        self._rows: dict[tuple[str, int], int] = {}
        self._matched = BitMap64()

    def new_rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The new versions of updated rows."""
        for batch in batches:
            self.add(batch)
            is_updated = np.asarray(batch.column(KIND)) == RowKind.UPDATE
            columns = [name for name in batch.schema.names if name not in (KIND, FILE, POSITION, SOURCE_ROW)]
            yield batch.select(columns).filter(pa.array(is_updated))

    def add(self, batch: pa.RecordBatch) -> None:
        for key, positions in _groups(batch):
            self._positions[key] = self._positions.get(key, BitMap64()) | bitmap_of(positions)
            self._rows[key] = self._rows.get(key, 0) + len(positions)
        if SOURCE_ROW in batch.schema.names:
            self._matched |= bitmap_of(batch.column(SOURCE_ROW).drop_null().to_numpy(zero_copy_only=False))

    def answer(self, written: list[bytes]) -> pa.RecordBatch:
        rows: list[Mapping[str, Any]] = [
            {"what": _What.POSITIONS, "kind": kind, "file": file, "rows": self._rows[file, kind], "content": content}
            for (file, kind), found in self._positions.items()
            for content in (_packed(found),)
        ]
        if self._matched:
            rows.append({"what": _What.MATCHED, "content": _packed(self._matched)})
        rows += [{"what": _What.WRITTEN, "content": content} for content in written]
        return pa.RecordBatch.from_pylist(rows, schema=_RESULT)


def _packed(bitmap: BitMap64) -> bytes:
    bitmap.run_optimize()
    packed: bytes = bitmap.serialize()
    return packed


def _groups(batch: pa.RecordBatch) -> Iterator[tuple[tuple[str, int], np.ndarray[Any, np.dtype[np.int64]]]]:
    if not batch.num_rows:
        return
    kinds = batch.column(KIND).to_numpy(zero_copy_only=False)
    files = batch.column(FILE).dictionary_encode()
    names = files.dictionary.to_pylist()
    codes = files.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    positions = batch.column(POSITION).to_numpy(zero_copy_only=False)
    keys = codes * len(RowKind) + kinds
    for key in np.unique(keys):
        yield (names[key // len(RowKind)], int(key % len(RowKind))), positions[keys == key]
