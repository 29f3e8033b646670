"""How many rows of a plan are expected to have one of some values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from floeberg.expr.nodes import BoundReference
from floeberg.scan.known_columns import known_columns
from floeberg.scan.scan_plan import ScanPlan

_ANYTHING: Final = (-(1 << 62), 1 << 62)
"""The bounds of a file that has none."""


def expected_rows(plan: ScanPlan, reference: BoundReference, values: Sequence[int], *, least_share: float) -> float:
    """The rows that are expected to have one of the values, which are in order: of each file the share of the numbers between
    its bounds that are among the values, but no less than `least_share`. The plan keeps the column's metrics."""
    own = np.asarray(values, np.int64)
    expected = 0.0
    for part in plan.parts:
        records = part.frame.get_column("record_count").to_numpy()
        known = known_columns(reference, part.frame)
        lower, upper = (
            np.full(len(records), missing) if bound is None else bound.cast(pl.Int64).fill_null(missing).to_numpy()
            for bound, missing in zip((known.lower, known.upper), _ANYTHING, strict=True)
        )
        among = np.searchsorted(own, upper, side="right") - np.searchsorted(own, lower)
        width = upper.astype(np.float64) - lower.astype(np.float64) + 1
        expected += float((records * np.maximum(least_share, among / width)).sum())
    return expected
