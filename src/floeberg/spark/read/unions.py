"""Unions of DataFrames beneath what a SELECT computes. Spark's optimizer computes it in each branch instead, and fails where it
holds a query with columns of the union's rows: "key not found" (SPARK-59042)."""

from __future__ import annotations

from typing import Any, Final

from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.calls.shared_plans import with_own_columns
from floeberg.spark.read.frame_registry import scan_of

_AS_THEY_ARE: Final = (1 << 31) - 1
"""So many partitions at most leave any partitions as they are."""


def may_be_union(frame: Any) -> bool:
    """Whether a DataFrame may be one: not a table's whose files one reader reads."""
    scan = scan_of(frame)
    if scan is None:
        return True
    routes = scan.routes
    groups = (routes.plain, routes.with_position_deletes, routes.with_equality_deletes, routes.by_arrow)
    return sum(bool(group) for group in groups) > 1


def computed_above(frame: Any) -> Any:
    """The rows of a DataFrame as another one, beneath which Spark computes nothing. Filters and the choice of columns still
    go below."""
    return original(with_own_columns(frame), "coalesce")(_AS_THEY_ARE)
