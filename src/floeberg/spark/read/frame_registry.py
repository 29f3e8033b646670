"""What is known of the DataFrames that read tables: for explaining them, and for leaving out files when they are
filtered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from floeberg.catalogs.base import LoadedTable
from floeberg.expr.nodes import Expression
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import Chosen
from floeberg.spark.read.routes import Routes
from floeberg.spec.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameScan:
    """The scan behind a DataFrame. `chosen` is None for an incremental read."""

    table: LoadedTable
    chosen: Chosen | None
    where: Expression
    plan: ScanPlan
    routes: Routes
    projection: Schema
    cache: FrameCache | None

    @property
    def can_prune(self) -> bool:
        """Whether one reader of Spark's reads all of it, so that the hidden `_metadata` column is there."""
        routes = self.routes
        return bool(routes.plain) and not (routes.with_positions or routes.with_keys or routes.by_arrow)


_scans: WeakKeyDictionary[Any, FrameScan] = WeakKeyDictionary()


def remember(frame: Any, scan: FrameScan) -> None:
    """Keeps the scan for as long as the DataFrame lives."""
    _scans[frame] = scan


def scan_of(frame: Any) -> FrameScan | None:
    """The scan behind a DataFrame that is a table's own, None for any other."""
    return _scans.get(frame)
