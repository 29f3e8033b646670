"""Every row of a snapshot: that it can be read, and that no other row has its row id."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

from floeberg.arrow.scan.execute import TableReader, table_reader
from floeberg.errors import FloebergError
from floeberg.maintenance.check_report import Findings, Problem
from floeberg.scan.manifest_frames import StoreFor
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.metadata_columns import ROW_ID
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.row_lineage import ROW_LINEAGE_VERSION
from floeberg.spec.snapshots.snapshot import Snapshot

RowIds: TypeAlias = npt.NDArray[np.int64]


class RowChecker:
    """Reads all live rows of snapshots, file by file; the ids that were seen are kept as a bitmap."""

    def __init__(self, metadata: TableMetadata, store_for: StoreFor) -> None:
        self._metadata = metadata
        self._store_for = store_for

    def check(self, snapshot: Snapshot) -> Findings:
        """What is wrong with a snapshot's rows; nothing is raised for what its files hold."""
        findings = Findings()
        schema = self._metadata.schema_of_snapshot(snapshot)
        has_ids = self._metadata.format_version >= ROW_LINEAGE_VERSION and snapshot.first_row_id is not None
        projection = Schema(*schema.fields, ROW_ID) if has_ids else schema
        try:
            plan = plan_files(self._metadata, SnapshotChoice(snapshot, schema), store_for=self._store_for)
            reader = table_reader(self._metadata, schema, store_for=self._store_for)
        except FloebergError:
            return findings  # what keeps the snapshot from being planned was reported where it was read
        seen = BitMap64()
        for task in plan:
            try:
                ids = self._row_ids(reader, task, projection)
            except FloebergError as error:
                findings.error(Problem.UNREADABLE, task.data_file.file_path, str(error))
                continue
            if has_ids:
                _note(ids, seen, task.data_file.file_path, snapshot, findings)
        return findings

    def _row_ids(self, reader: TableReader, task: FileScanTask, projection: Schema) -> list[RowIds]:
        """The row ids of a file, by batch, with everything else decoded on the way."""
        found = []
        for batch in reader.rows(task, projection):
            if projection.fields and projection.fields[-1] is ROW_ID:
                found.append(batch.column(batch.num_columns - 1).drop_null().to_numpy(zero_copy_only=False))
        return found


def _note(ids: list[RowIds], seen: BitMap64, path: str, snapshot: Snapshot, findings: Findings) -> None:
    own = BitMap64()
    repeated = 0
    example: int | None = None
    for batch in ids:
        here = BitMap64(batch.astype(np.uint64))
        both = here & (own | seen)
        twice = len(batch) - len(here)
        if example is None and (both or twice):
            example = both.min() if both else int(_first_twice(batch))
        repeated += len(both) + twice
        own |= here
    seen |= own
    if repeated:
        findings.error(
            Problem.DUPLICATE_ROW_IDS, path,
            f"has {repeated} rows whose row ids, such as {example}, other rows of snapshot {snapshot.snapshot_id} have",
        )  # fmt: skip


def _first_twice(ids: RowIds) -> int:
    values, counts = np.unique(ids, return_counts=True)
    return int(values[counts > 1][0])
