"""Deletes that came while files were rewritten, moved to the new files in the commit that adds them.

On tables with row lineage the rows are found by `_row_id`; otherwise by their order, where the rewrite kept it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from msgspec import structs
from pyroaring import BitMap64

from floeberg.arrow.scan.execute import TableReader, table_reader
from floeberg.arrow.write.delete_files import DeletedFile
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.delete_scope import single_referenced_path
from floeberg.commit.pointer import TablePointer
from floeberg.errors import FileNotFound, ValidationConflict
from floeberg.expr.nodes import TRUE
from floeberg.files.deletion_vector import bitmap_of
from floeberg.maintenance.rewrite.engine import RewrittenGroup
from floeberg.scan.tasks import DeleteFile, FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.metadata_columns import ROW_ID, ROW_POSITION
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile

Positions = Mapping[str, BitMap64]
"""Deleted positions by data file."""

_LINEAGE_SCHEMA = Schema(ROW_ID, ROW_POSITION)


@dataclass(slots=True, eq=False)
class CarriedDeletes:
    """The carrier of one rewrite. It remembers what it carried, so that an attempt with the same deletes writes nothing
    anew; what only rejected attempts used is removed by `discard_unused`."""

    pointer: TablePointer
    metadata: TableMetadata
    """The table as the rewrite read it."""
    groups: Sequence[RewrittenGroup]
    rows_carried: int = 0
    _known: dict[frozenset[object], list[DataFile]] = field(default_factory=dict)
    _last: list[DataFile] = field(default_factory=list)

    def carry(self, base: TableMetadata, deletes: Sequence[DataFile]) -> list[DataFile]:
        key = frozenset(file.identity for file in deletes)
        known = self._known.get(key)
        if known is None:
            if base.format_version != self.metadata.format_version:
                raise self._conflict("the table's format version changed meanwhile")
            known = self._known[key] = self._write(base, self._new_positions(base, deletes))
        self._last = known
        self.rows_carried = sum(file.record_count for file in known)
        return known

    def discard_unused(self, *, committed: bool) -> None:
        """Removes delete files that no commit refers to; only when the outcome is known."""
        kept = {file.file_path for file in self._last} if committed else set()
        for path in {file.file_path for files in self._known.values() for file in files} - kept:
            self.pointer.store_for(path).delete(path)
        self._known = {}

    def _new_positions(self, base: TableMetadata, deletes: Sequence[DataFile]) -> dict[str, BitMap64]:
        """The positions in new files of the rows that the deletes delete."""
        reader = table_reader(base, base.current_schema, store_for=self.pointer.store_for)
        found: dict[str, BitMap64] = {}
        for group in self.groups:
            try:
                gone = _deleted_since(group, deletes, reader)
            except FileNotFound as error:
                raise self._conflict(f"deletes that the rewrite read have expired ({error})") from error
            if not gone:
                continue
            if base.format_version > 2:
                found |= self._by_row_id(group, gone, reader)
            elif group.sources is not None:
                found |= _by_order(group, gone)
            else:
                raise self._conflict("its rows were written in another order, so that they cannot be found")
        return found

    def _by_row_id(self, group: RewrittenGroup, gone: Positions, reader: TableReader) -> dict[str, BitMap64]:
        wanted: list[npt.NDArray[np.int64]] = []
        for task in group.group.tasks:
            positions = gone.get(task.data_file.file_path)
            if positions is None:
                continue
            if task.first_row_id is None:
                raise self._conflict(f"the rows of {task.data_file.file_path} had no row ids")
            for ids, places in _lineage(structs.replace(task, deletes=()), reader):
                wanted.append(ids[_in(places, positions)])
        ids = np.unique(np.concatenate(wanted)) if wanted else np.empty(0, dtype=np.int64)
        uncommitted = replace(reader, uncommitted=frozenset(file.file_path for file in group.files))
        found: dict[str, BitMap64] = {}
        for file in group.files:
            for row_ids, places in _lineage(_whole(file), uncommitted):
                if len(hits := places[np.isin(row_ids, ids)]):
                    found[file.file_path] = found.get(file.file_path, BitMap64()) | bitmap_of(hits)
        return found

    def _write(self, base: TableMetadata, positions: Positions) -> list[DataFile]:
        if not positions:
            return []
        writer = TableWriter(base, self.pointer.store_for, self.pointer.effects.ids.uuid())
        targets = {
            DeletedFile(file_path=file.file_path, spec_id=file.spec_id, partition=file.partition): positions[
                file.file_path
            ]
            for group in self.groups
            for file in group.files
            if file.file_path in positions
        }
        if base.format_version > 2:
            return writer.write_vectors(targets)
        return [writer.write_position_deletes({target: rows}) for target, rows in targets.items()]

    def _conflict(self, why: str) -> ValidationConflict:
        return ValidationConflict(
            f"table {self.pointer.identifier}: rows were deleted meanwhile of data files that this rewrite replaces, and "
            f"the deletes cannot be carried over: {why}. Run the rewrite again on the current state.",
            table=self.pointer.identifier,
            retry_can_help=True,
        )


def _deleted_since(group: RewrittenGroup, deletes: Sequence[DataFile], reader: TableReader) -> dict[str, BitMap64]:
    """The positions of the group's source files that the deletes hold and the rewrite did not leave out, by source file.

    An updated row has the id of its older version, which a new deletion vector still holds: only what is newly deleted
    may be looked for by id.
    """
    found: dict[str, BitMap64] = {}
    for task in group.group.tasks:
        path = task.data_file.file_path
        own = [file for file in deletes if single_referenced_path(file) in (None, path)]
        if not own:
            continue
        later = tuple(DeleteFile(file, task.data_sequence_number) for file in own)
        positions = reader.deletes(structs.replace(task, deletes=later)).positions
        applied = reader.deletes(structs.replace(task, deletes=(*task.position_deletes, *_vectors(task)))).positions
        if positions and applied:
            positions = positions - applied
        if positions:
            found[path] = positions
    return found


def _vectors(task: FileScanTask) -> tuple[DeleteFile, ...]:
    return () if task.deletion_vector is None else (task.deletion_vector,)


def _by_order(group: RewrittenGroup, gone: Positions) -> dict[str, BitMap64]:
    """Where rows lie in the new files, which hold the live rows of the sources one after the other."""
    ordinals: list[npt.NDArray[np.uint64]] = []
    start = 0
    for source in group.sources or ():
        deleted = source.live & gone.get(source.file_path, BitMap64())
        if deleted:
            live = np.frombuffer(source.live.to_array(), dtype=np.uint64)
            places = np.frombuffer(deleted.to_array(), dtype=np.uint64)
            ordinals.append(np.searchsorted(live, places).astype(np.uint64) + np.uint64(start))
        start += len(source.live)
    rows = np.concatenate(ordinals) if ordinals else np.empty(0, dtype=np.uint64)
    found: dict[str, BitMap64] = {}
    first = 0
    for file in group.files:
        here = rows[(rows >= first) & (rows < first + file.record_count)]
        if len(here):
            found[file.file_path] = bitmap_of((here - np.uint64(first)).astype(np.int64))
        first += file.record_count
    return found


def _lineage(task: FileScanTask, reader: TableReader) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """The row ids and positions of a file."""
    for batch in reader.rows(task, _LINEAGE_SCHEMA, residual=TRUE):
        ids = batch.column(0).fill_null(-1).to_numpy(zero_copy_only=False)
        yield ids.astype(np.int64), batch.column(1).to_numpy(zero_copy_only=False)


def _whole(file: DataFile) -> FileScanTask:
    return FileScanTask(data_file=file, data_sequence_number=0, file_sequence_number=None, residual=TRUE)


def _in(places: npt.NDArray[np.int64], positions: BitMap64) -> npt.NDArray[np.bool_]:
    return np.isin(places, np.frombuffer(positions.to_array(), dtype=np.uint64).astype(np.int64))
