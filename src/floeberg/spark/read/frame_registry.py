"""What is known of the DataFrames that read tables: for explaining them, and for leaving out files when they are
filtered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from floeberg.catalogs.base import LoadedTable
from floeberg.scan.scan_plan import ScanPlan
from floeberg.spark.read.routes import Routes
from floeberg.spec.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameScan:
    """The scan behind a DataFrame. `is_plain` when one reader reads all of it, so that Spark's hidden `_metadata` column
    is there."""

    table: LoadedTable
    plan: ScanPlan
    routes: Routes
    projection: Schema
    is_plain: bool


_scans: WeakKeyDictionary[Any, FrameScan] = WeakKeyDictionary()


def remember(frame: Any, scan: FrameScan) -> None:
    """Keeps the scan for as long as the DataFrame lives."""
    _scans[frame] = scan


def scan_of(frame: Any) -> FrameScan | None:
    """The scan behind a DataFrame that is a table's own, None for any other."""
    return _scans.get(frame)
