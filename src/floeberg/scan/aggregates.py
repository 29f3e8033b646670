"""COUNT, MIN and MAX from metadata alone, where they are exact; otherwise no result.

A count of rows is exact if every row of every planned file matches the filter and its deletes are deletion vectors, which
have a cardinality. Counts and bounds of a column are exact only in files without deletes, and bounds only of types that
writers never truncate or round: not strings and binary, which are truncated, and not the timestamps of ORC files, whose
statistics are in milliseconds. NaN is greater than any other value, and is not in the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind, bind_reference
from floeberg.expr.bounds import can_be_nan
from floeberg.expr.nodes import TRUE, AlwaysTrue, BoundReference, Expression
from floeberg.files.manifest import partition_tuples
from floeberg.files.metric_columns import metric_name
from floeberg.scan.bound_columns import from_comparable
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.known_columns import KnownColumns, known_columns
from floeberg.scan.manifest_frames import DEFAULT_THREADS, FilesOfSpec, ManifestReader, StoreFor
from floeberg.scan.plan import Planner
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import FileFormat
from floeberg.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
)

_TIMESTAMPS: Final = (TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)
_EXACT: Final = (
    BooleanType, IntegerType, LongType, FloatType, DoubleType, DecimalType, DateType, TimeType, *_TIMESTAMPS,
)  # fmt: skip


class AggregateFunction(StrEnum):
    """What can be asked of metadata."""

    COUNT = "count"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A function of a column; COUNT without a column counts rows."""

    function: AggregateFunction
    column: str | None = None

    def __post_init__(self) -> None:
        if self.column is None and self.function is not AggregateFunction.COUNT:
            raise InvalidInput(f"{self.function} needs a column")


@dataclass(frozen=True, slots=True)
class Aggregated:
    """The exact results, physical values, in the order they were asked for; None for MIN and MAX of no value."""

    values: tuple[object, ...]


def aggregate_from_metadata(
    metadata: TableMetadata,
    chosen: SnapshotChoice,
    aggregates: Sequence[Aggregate],
    *,
    store_for: StoreFor,
    where: Expression = TRUE,
    case_sensitive: bool = True,
    cache: FrameCache | None = None,
    threads: int = DEFAULT_THREADS,
) -> Aggregated | None:
    """The aggregates over the rows for which `where` is true; None unless metadata prove all of them exactly."""
    references = {
        aggregate.column: bind_reference(aggregate.column, chosen.schema, case_sensitive=case_sensitive)
        for aggregate in aggregates
        if aggregate.column is not None
    }
    bound = bind(where, chosen.schema, case_sensitive=case_sensitive)
    reader = ManifestReader(metadata, chosen.schema, store_for, cache=cache, threads=threads)
    planner = Planner(metadata, chosen.schema, bound, reader=reader)
    manifests = () if chosen.snapshot is None else reader.manifests(chosen.snapshot)
    ids = frozenset(reference.field_id for reference in references.values())
    plan = planner.plan(manifests, keep_metrics_of=ids)
    if not _is_whole(plan):
        return None
    values: list[object] = []
    for aggregate in aggregates:
        reference = None if aggregate.column is None else references[aggregate.column]
        found = _row_count(plan) if reference is None else _of_column(plan, aggregate.function, reference)
        if found is None:
            return None
        values.append(found.value)
    return Aggregated(tuple(values))


@dataclass(frozen=True, slots=True)
class _Exact:
    value: Any


def _is_whole(plan: ScanPlan) -> bool:
    """Whether the filter keeps every row of every planned file."""
    if isinstance(plan.filter, AlwaysTrue):
        return True
    for part in plan.parts:
        distinct = part.frame.select("partition").unique().get_column("partition")
        for partition in partition_tuples(distinct, part.partition_type):
            if not isinstance(plan.residual(part, partition), AlwaysTrue):
                return False
    return True


def _row_count(plan: ScanPlan) -> _Exact | None:
    deletes = plan.delete_files if plan.has_deletes else []
    if any(not delete.file.is_deletion_vector for delete in deletes):
        return None
    return _Exact(plan.record_count - sum(delete.file.record_count for delete in deletes))


def _of_column(plan: ScanPlan, function: AggregateFunction, reference: BoundReference) -> _Exact | None:
    if plan.has_deletes or reference.is_nested:
        return None
    if function is AggregateFunction.COUNT:
        return _value_count(plan, reference)
    if not isinstance(reference.type, _EXACT):
        return None
    extremes: list[Any] = []
    for part in plan.parts:
        if not part.frame.height:
            continue
        found = _extreme(part, function, reference)
        if found is None:
            return None
        if found.value is not None:
            extremes.append(found.value)
    return _Exact(_of_all(extremes, function))


def _value_count(plan: ScanPlan, reference: BoundReference) -> _Exact | None:
    total = 0
    for part in plan.parts:
        nulls = part.frame.get_column(metric_name("null_value_counts", reference.field_id))
        values = part.frame.get_column(metric_name("value_counts", reference.field_id))
        rows = part.frame.get_column("record_count")
        exact = (values == rows) & (nulls >= 0) & (nulls <= values)
        if not exact.fill_null(False).all():
            return None
        total += int((rows - nulls).sum())
    return _Exact(total)


def _extreme(part: FilesOfSpec, function: AggregateFunction, reference: BoundReference) -> _Exact | None:
    """The least or greatest of the values of some files, NaN for one that is greater than any bound."""
    known = known_columns(reference, part.frame)
    bounds = known.lower if function is AggregateFunction.MIN else known.upper
    if bounds is None or not _are_exact(part, known, reference):
        return None
    if can_be_nan(reference.type):
        nans = part.frame.get_column(metric_name("nan_value_counts", reference.field_id))
        if nans.null_count() or (nans < 0).any():
            return None
        if function is AggregateFunction.MAX and (nans > 0).any():
            return _Exact(float("nan"))
        if bool(known.only_nans.any()):  # the least is a NaN, if the other files have nothing but nulls
            return None
    best = bounds.min() if function is AggregateFunction.MIN else bounds.max()
    if can_be_nan(reference.type) and best == 0:
        return None  # writers give -0.0 and 0.0 for each other
    return _Exact(None if best is None else from_comparable(reference.type, best))


def _are_exact(part: FilesOfSpec, known: KnownColumns, reference: BoundReference) -> bool:
    """Whether every file either has both bounds or nothing but nulls (or NaN)."""
    if known.lower is None or known.upper is None:
        return False
    formats = part.frame.get_column("file_format")
    if isinstance(reference.type, _TIMESTAMPS) and (formats == FileFormat.ORC).any():
        return False
    has_bounds = known.lower.is_not_null() & known.upper.is_not_null()
    return bool((has_bounds | known.only_nulls | known.no_value).all())


def _of_all(values: list[Any], function: AggregateFunction) -> Any:
    if any(value != value for value in values):
        return float("nan")
    if not values:
        return None
    return min(values) if function is AggregateFunction.MIN else max(values)
