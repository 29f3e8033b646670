"""The scans behind DataFrames: to explain them, to leave out files when they are filtered, and to find metadata columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from floeberg.catalogs.base import LoadedTable
from floeberg.expr.nodes import Expression
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.spark.read.joins.pruned_files import PrunedBy
from floeberg.spark.read.joins.row_filter import RowKeys
from floeberg.spark.read.options import FrameOptions
from floeberg.spark.read.routes import Routes
from floeberg.spec.schemas.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameScan:
    """The scan behind a DataFrame. `chosen` is None for an incremental read."""

    table: LoadedTable
    chosen: SnapshotChoice | None
    where: Expression
    plan: ScanPlan
    routes: Routes
    schema: Schema
    projection: Schema
    options: FrameOptions
    skips_row_groups: bool
    """Whether Parquet may skip row groups by the filters that Spark pushes down."""
    cache: FrameCache | None
    own_file_name: bool
    """Whether Spark's own hidden column tells the file, because one reader reads all of it."""
    pruned_by: tuple[PrunedBy, ...] = ()
    """The joins that left out files."""
    keys: tuple[RowKeys, ...] = ()
    """The joins that leave out rows."""
    shown: Callable[[Any], Any] | None = None
    """What makes the DataFrame's columns of the table's, and leaves metadata columns after them; None where they are the
    same."""


@dataclass(frozen=True, slots=True)
class FrameStep:
    """A method call that keeps a table's columns, its arguments, and over Spark Connect the id of the resulting plan."""

    method: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    plan_id: int | None


@dataclass(frozen=True, slots=True)
class TableFrame:
    """A DataFrame with a table's own columns: its scan, and the filters, orders, limits and aliases on it."""

    scan: FrameScan
    plan_id: int | None
    steps: tuple[FrameStep, ...] = ()

    def in_the_place_of(self, plan_id: int | None) -> TableFrame:
        """The same, for a DataFrame in which Columns bound to the plan of this id resolve."""
        if not self.steps:
            return replace(self, plan_id=plan_id)
        return replace(self, steps=(*self.steps[:-1], replace(self.steps[-1], plan_id=plan_id)))


_scans: WeakKeyDictionary[Any, FrameScan] = WeakKeyDictionary()
_table_frames: WeakKeyDictionary[Any, TableFrame] = WeakKeyDictionary()


def remember(frame: Any, scan: FrameScan) -> None:
    """Keeps the scan for as long as the DataFrame lives."""
    _scans[frame] = scan


def scan_of(frame: Any) -> FrameScan | None:
    """The scan behind a DataFrame that is a table's own, None for any other."""
    return _scans.get(frame)


def remember_steps(frame: Any, found: TableFrame) -> None:
    """Keeps how a DataFrame came from a table's own, for as long as it lives."""
    _table_frames[frame] = found


def table_frame_of(frame: Any) -> TableFrame | None:
    """How a DataFrame reads a table, while it has the table's columns; None for any other."""
    found = _table_frames.get(frame)
    if found is not None:
        return found
    scan = scan_of(frame)
    return None if scan is None else TableFrame(scan, plan_id(frame))


def is_connect(frame: Any) -> bool:
    return type(frame).__module__.startswith("pyspark.sql.connect.")


def plan_id(frame: Any) -> int | None:
    """The id by which Columns over Spark Connect are bound to a DataFrame; None on a classic session."""
    return int(frame._plan._plan_id) if is_connect(frame) else None
