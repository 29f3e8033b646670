"""Leaves out planned files none of whose rows has a key of some other table's.

Only data files are left out, of a plan that stands: the deletes that apply to the files that stay are those of the whole plan.
A filter of the plan may leave out deletes too, of rows that the reader's own filter removes; here nothing removes them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from floeberg.expr.bind import bind
from floeberg.expr.nodes import AlwaysTrue, BoundReference, Expression
from floeberg.expr.projection import inclusive_projection
from floeberg.scan.known_columns import known_columns
from floeberg.scan.manifest_frames import FilesOfSpec
from floeberg.scan.pruning import field_ids, metrics_mask, partition_mask
from floeberg.scan.scan_plan import ScanPlan


def may_tell_apart(plan: ScanPlan, reference: BoundReference) -> bool:
    """Whether values of a column can rule out some files of a plan and not others: it is partitioned by the column, or the
    bounds of two files do not overlap. The plan keeps the column's metrics."""
    for part in plan.parts:
        if any(reference.field_id in field.source_ids for field in part.spec.fields):
            return True
    greatest_lower: list[Any] = []
    least_upper: list[Any] = []
    for part in plan.parts:
        known = known_columns(reference, part.frame)
        if known.lower is not None and known.upper is not None:
            greatest_lower += known.lower.drop_nulls().sort().tail(1).to_list()
            least_upper += known.upper.drop_nulls().sort().head(1).to_list()
    return bool(greatest_lower and least_upper) and bool(max(greatest_lower) > min(least_upper))


def with_matching_files(plan: ScanPlan, where: Expression) -> ScanPlan:
    """The plan without the files that hold no row for which `where` is true, by their partitions and bounds. The plan keeps
    the metrics of the columns that `where` asks about."""
    bound = bind(where, plan.schema)
    return plan.with_parts([_kept(part, bound, plan) for part in plan.parts])


def with_one_file(plan: ScanPlan) -> ScanPlan:
    """The plan with its smallest file alone; a plan without files has none to keep."""
    sizes = [size for part in plan.parts for size in part.frame.get_column("file_size_in_bytes").to_list()]
    left = sizes.index(min(sizes)) if sizes else 0
    parts: list[FilesOfSpec] = []
    for part in plan.parts:
        own = 0 <= left < part.frame.height
        parts.append(replace(part, frame=part.frame.slice(left, 1) if own else part.frame.clear()))
        left -= part.frame.height
    return plan.with_parts(parts)


def _kept(part: FilesOfSpec, bound: Expression, plan: ScanPlan) -> FilesOfSpec:
    frame = part.frame
    projection = inclusive_projection(part.spec, plan.schema, bound)
    if not isinstance(projection, AlwaysTrue):
        frame = frame.filter(partition_mask(projection, frame))
    if not field_ids(bound) & part.spec.identity_source_ids:  # of those the partition says all there is
        frame = frame.filter(metrics_mask(bound, frame))
    return replace(part, frame=frame)
