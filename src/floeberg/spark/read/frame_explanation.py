"""Explains the scan of a table's DataFrame: planned files of all files, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from floeberg.errors import InvalidInput
from floeberg.scan.explanation import Explanation
from floeberg.spark.read.frame_registry import scan_of
from floeberg.spark.read.joins.pruned_files import PrunedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameExplanation:
    """The account of one frame. Its text has a line for each level."""

    table: str
    planned_files: int
    files: int | None
    """Files that the snapshot has; None when a skipped manifest does not say how many it holds."""
    native_files: int
    arrow_files: int
    arrow_reasons: dict[str, int]
    planning: Explanation
    pruned_by: tuple[PrunedBy, ...] = ()
    """The joins that left out files, in the order in which they did."""
    rows_by: tuple[str, ...] = ()
    """The tables whose keys the rows that are read must have, in words."""

    def __str__(self) -> str:
        there = "unknown" if self.files is None else str(self.files)
        name = self.table.rpartition(".")[2]
        lines = [
            f"{self.table}: {self.planned_files} files planned of {there}",
            *(f"{name}: {step.files} of {there} files, by {step.source}" for step in self.pruned_by),
            *(f"{name}: rows by {source}" for source in self.rows_by),
            f"read by Spark's Parquet reader: {self.native_files}, in Python workers: {self.arrow_files}",
        ]
        lines += [f"  in Python workers because of {why}: {count} files" for why, count in self.arrow_reasons.items()]
        return "\n".join([*lines, *self.planning.lines()])


def explain(frame: Any) -> FrameExplanation:
    """The account of a table's DataFrame. Raises InvalidInput for one that is not a table's own: ask the frame that
    `spark.table` gave, or that frame filtered, before it is joined or projected."""
    scan = scan_of(frame)
    if scan is None:
        raise InvalidInput(
            "this DataFrame is not a table's own; explain the one that spark.table gives, or that one after .where(…)"
        )
    routes, planning = scan.routes, scan.plan.explanation
    return FrameExplanation(
        table=scan.table.state.identifier,
        planned_files=routes.files,
        files=planning.data.files,
        native_files=len(routes.native),
        arrow_files=len(routes.by_arrow),
        arrow_reasons=dict(routes.reasons),
        planning=planning,
        pruned_by=scan.pruned_by,
        rows_by=tuple(keys.source for keys in scan.keys),
    )
