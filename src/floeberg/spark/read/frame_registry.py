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
    own_file_name: bool
    """Whether Spark's own hidden column tells the file, because one reader reads all of it."""


_scans: WeakKeyDictionary[Any, FrameScan] = WeakKeyDictionary()


def remember(frame: Any, scan: FrameScan) -> None:
    """Keeps the scan for as long as the DataFrame lives."""
    _scans[frame] = scan


def scan_of(frame: Any) -> FrameScan | None:
    """The scan behind a DataFrame that is a table's own, None for any other."""
    return _scans.get(frame)
