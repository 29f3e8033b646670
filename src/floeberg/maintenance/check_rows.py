"""Every row of a snapshot: that it can be read, and that no other row has its row id."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from floeberg.arrow.scan.execute import TableReader
from floeberg.errors import FloebergError
from floeberg.maintenance.check_report import Findings, Problem
from floeberg.maintenance.file_work import FileWork
from floeberg.scan.manifest_frames import StoreFor
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.metadata_columns import ROW_ID
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.row_lineage import ROW_LINEAGE_VERSION
from floeberg.spec.snapshots.snapshot import Snapshot


class RowChecker:
    """Reads all live rows of snapshots, file by file; the ids that were seen are kept as a bitmap."""

    def __init__(self, metadata: TableMetadata, store_for: StoreFor, work: FileWork) -> None:
        self._metadata = metadata
        self._store_for = store_for
        self._work = work

    def check(self, snapshot: Snapshot) -> Findings:
        """What is wrong with a snapshot's rows; nothing is raised for what its files hold."""
        findings = Findings()
        schema = self._metadata.schema_of_snapshot(snapshot)
        has_ids = self._metadata.format_version >= ROW_LINEAGE_VERSION and snapshot.first_row_id is not None
        projection = Schema(*schema.fields, ROW_ID) if has_ids else schema
        try:
            plan = plan_files(self._metadata, SnapshotChoice(snapshot, schema), store_for=self._store_for)
        except FloebergError:
            return findings  # what keeps the snapshot from being planned was reported where it was read
        seen = BitMap64()
        rows = RowReader(projection, has_ids)
        for found in self._work.each_read(rows.read, list(plan), self._metadata, schema):
            if found.error is not None:
                findings.error(Problem.UNREADABLE, found.path, found.error)
                continue
            own = BitMap64.deserialize(found.row_ids)
            both = own & seen
            if repeated := len(both) + found.repeated:
                example = both.min() if both else found.example
                findings.error(
                    Problem.DUPLICATE_ROW_IDS, found.path,
                    f"has {repeated} rows whose row ids, such as {example}, other rows of snapshot "
                    f"{snapshot.snapshot_id} have",
                )  # fmt: skip
            seen |= own
        return findings


@dataclass(frozen=True, slots=True, kw_only=True)
class RowIds:
    """The row ids of a file's live rows as a serialized bitmap, and how many rows have an id that an earlier row of the
    file has, with an example; or the error that its rows cannot be read."""

    path: str
    row_ids: bytes = b""
    repeated: int = 0
    example: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RowReader:
    """Decodes every value of files; the last column of the projection is the row id where there are row ids. Travels to the
    workers."""

    projection: Schema
    has_ids: bool

    def read(self, reader: TableReader, task: FileScanTask) -> RowIds:
        path, own, rows, example = task.data_file.file_path, BitMap64(), 0, None
        try:
            for batch in reader.rows(task, self.projection):
                if not self.has_ids:
                    continue
                ids = _ids(batch)
                here = BitMap64(ids)
                if example is None and (len(here) < len(ids) or here & own):
                    example = _first_repeated(ids, here & own)
                rows += len(ids)
                own |= here
        except FloebergError as error:
            return RowIds(path=path, error=str(error))
        return RowIds(path=path, row_ids=own.serialize(), repeated=rows - len(own), example=example)


def _ids(batch: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    ids = batch.column(batch.num_columns - 1).drop_null().to_numpy(zero_copy_only=False)
    return np.asarray(ids.astype(np.uint64))


def _first_repeated(ids: np.ndarray[tuple[int], np.dtype[np.uint64]], earlier: BitMap64) -> int:
    if earlier:
        return int(earlier.min())
    values, counts = np.unique(ids, return_counts=True)
    return int(values[counts > 1][0])
