"""What a catalog's table can do for scans besides giving its metadata: plan them itself, and hear what was planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from floeberg.expr.nodes import Expression
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedScan:
    """What a scan was: the snapshot, the filter, the columns, and how much planning found in what time."""

    chosen: SnapshotChoice
    filter: Expression
    projection: Schema
    data_files: int
    delete_files: int
    size_in_bytes: int
    duration_ms: int


@runtime_checkable
class PlansScans(Protocol):
    """A table whose catalog can plan scans."""

    @property
    def wants_server_planning(self) -> bool:
        """Whether scans are to be planned by the catalog."""
        ...

    def planned_tasks(
        self, metadata: TableMetadata, chosen: SnapshotChoice, where: Expression, *, case_sensitive: bool
    ) -> Sequence[FileScanTask]:
        """The tasks of a scan. `where` is bound to the chosen schema."""
        ...

    def report_scan(self, scan: PlannedScan) -> None:
        """Hears of a scan that was planned here. Takes no time, and never fails."""
        ...
