"""COUNT, MIN and MAX from metadata alone, where they are exact; otherwise no result.

A count of rows is exact if the only deletes are deletion vectors, which have a cardinality. Counts and bounds of a column are
exact only in files without deletes, and bounds only of types that writers never truncate or round: not strings and binary,
which are truncated, and not the timestamps of ORC files, whose statistics are in milliseconds. A file that does not count a
column's values may hold some that cannot be read as the column's type, and bounds that are rounded. NaN is greater than any
other value, and is not in the bounds; a bound of zero does not tell the sign. Of an identity partition column all is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import polars as pl

from floeberg.errors import InvalidInput
from floeberg.expr.bounds import can_be_nan
from floeberg.expr.nodes import AlwaysTrue, BoundReference
from floeberg.files.manifest import partition_tuples
from floeberg.files.metric_columns import metric_name
from floeberg.scan.bound_columns import from_comparable
from floeberg.scan.known_columns import KnownColumns, known_columns
from floeberg.scan.manifest_frames import FilesOfSpec
from floeberg.scan.scan_plan import ScanPlan
from floeberg.spec.partitions.transforms import IdentityTransform
from floeberg.spec.snapshots.manifest_entry import FileFormat
from floeberg.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
)

MAX_GROUPS: Final = 100_000
"""More groups than this are not held in memory."""
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

    def __str__(self) -> str:
        return f"{self.function}({'*' if self.column is None else self.column})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The columns to group by, and those whose values are counted or whose least or greatest value is asked for."""

    keys: tuple[BoundReference, ...] = ()
    counts: tuple[BoundReference, ...] = ()
    least: tuple[BoundReference, ...] = ()
    greatest: tuple[BoundReference, ...] = ()

    @property
    def columns(self) -> tuple[BoundReference, ...]:
        return (*self.keys, *self.counts, *self.least, *self.greatest)

    @property
    def has_extremes(self) -> bool:
        return bool(self.least or self.greatest)

    @property
    def field_ids(self) -> frozenset[int]:
        """The columns whose metrics the plan must keep."""
        return frozenset(reference.field_id for reference in self.columns)


@dataclass(slots=True)
class Group:
    """What metadata say of the rows of a group, physical values by field id; None for the extremes of no value."""

    rows: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    least: dict[int, Any] = field(default_factory=dict)
    greatest: dict[int, Any] = field(default_factory=dict)

    def add(self, other: Group) -> None:
        self.rows += other.rows
        for field_id, count in other.counts.items():
            self.counts[field_id] = self.counts.get(field_id, 0) + count
        for field_id, value in other.least.items():
            self.least[field_id] = least(self.least.get(field_id), value)
        for field_id, value in other.greatest.items():
            self.greatest[field_id] = greatest(self.greatest.get(field_id), value)


def least(one: Any, other: Any) -> Any:
    """The lesser of two values, of which None is none and NaN the greatest."""
    return other if one is None else one if other is None else min(one, other, key=_order)


def greatest(one: Any, other: Any) -> Any:
    """As `least`, the greater."""
    return other if one is None else one if other is None else max(one, other, key=_order)


def _order(value: Any) -> tuple[bool, Any]:
    return value != value, value


def groups_of_plan(plan: ScanPlan, asked: Asked) -> dict[tuple[Any, ...], Group] | None:
    """The groups of all rows of the planned files by their keys, those without rows left out; None unless metadata prove
    everything exactly. The plan keeps the metrics of the asked columns; its filter means nothing here."""
    found: dict[tuple[Any, ...], Group] = {}
    for part in plan.parts:
        details = _details(plan, part, asked)
        if details is None:
            return None
        for key, group in details:
            found.setdefault(key, Group()).add(group)
        if len(found) > MAX_GROUPS:
            return None
    return found if all(_has_signs(group, asked) for group in found.values()) else None


def row_count(plan: ScanPlan) -> int | None:
    """The rows of the planned files, whatever the plan's filter; None where metadata do not tell."""
    groups = groups_of_plan(plan, Asked())
    return None if groups is None else sum(group.rows for group in groups.values())


def keeps_every_row(plan: ScanPlan) -> bool:
    """Whether the plan's filter is true for every row of every planned file, as their partitions tell."""
    if isinstance(plan.filter, AlwaysTrue):
        return True
    for part in plan.parts:
        distinct = part.frame.select("partition").unique().get_column("partition")
        for partition in partition_tuples(distinct, part.partition_type):
            if not isinstance(plan.residual(part, partition), AlwaysTrue):
                return False
    return True


def _has_signs(group: Group, asked: Asked) -> bool:
    """Writers give -0.0 and 0.0 for each other."""
    extremes = [(group.least, reference) for reference in asked.least]
    extremes += [(group.greatest, reference) for reference in asked.greatest]
    return not any(can_be_nan(reference.type) and values[reference.field_id] == 0 for values, reference in extremes)


def _details(plan: ScanPlan, part: FilesOfSpec, asked: Asked) -> list[tuple[tuple[Any, ...], Group]] | None:
    """The groups of a spec's files, one for each distinct tuple of the partition values that are needed."""
    rows = plan.live_rows(part)
    if rows is None or (rows < 0).any():
        return None
    fields = {reference.field_id: _partition_field(part, reference) for reference in asked.columns}
    if any(fields[key.field_id] is None for key in asked.keys):
        return None
    frame = part.frame.with_columns(rows.alias("rows")).filter(pl.col("rows") > 0)
    measured = [reference for reference in asked.columns if fields[reference.field_id] is None]
    if measured and frame.get_column("deletes").list.len().gt(0).any():
        return None
    columns = _metric_columns(frame, asked, {reference.field_id for reference in measured})
    if columns is None:
        return None
    held = {field_id: place for field_id, place in fields.items() if place is not None}
    partitions = [
        frame.get_column("partition").struct.field(place).alias(f"partition.{field_id}")
        for field_id, place in held.items()
    ]
    sums = [pl.col("rows").sum(), *(_combined(column.name) for column in columns)]
    table = pl.DataFrame([frame.get_column("rows"), *partitions, *columns])
    grouped = table.group_by([column.name for column in partitions]).agg(sums) if partitions else table.select(sums)
    types = {member.field_id: member for member in part.partition_type.members}
    held_type = StructType(tuple(types[int(place)] for place in held.values()))
    values = _partition_values(grouped, list(held.items()), held_type)
    return [
        _group(dict(zip(held, value, strict=True)), row, asked)
        for value, row in zip(values, grouped.iter_rows(named=True), strict=True)
        if row["rows"]
    ]


def _partition_field(part: FilesOfSpec, reference: BoundReference) -> str | None:
    """The field of the partition struct that has the values of a column; None where there is none. Float partitions of zero
    are left aside."""
    if can_be_nan(reference.type) or reference.is_nested:
        return None
    for partition_field in part.spec.fields:
        if isinstance(partition_field.transform, IdentityTransform) and partition_field.source_id == reference.field_id:
            return str(partition_field.field_id)
    return None


def _partition_values(
    grouped: pl.DataFrame, held: Sequence[tuple[int, str]], held_type: StructType
) -> list[tuple[object, ...]]:
    if not held:
        return [()] * grouped.height
    columns = [grouped.get_column(f"partition.{field_id}").alias(place) for field_id, place in held]
    return partition_tuples(pl.DataFrame(columns).to_struct(), held_type)


def _metric_columns(frame: pl.DataFrame, asked: Asked, measured: set[int]) -> list[pl.Series] | None:
    """The counts and bounds of columns that are no partition's, a value for each file; None where some are not exact."""
    columns: list[pl.Series] = []
    for reference in asked.counts:
        if reference.field_id in measured:
            found = _value_counts(frame, reference)
            if found is None:
                return None
            columns.append(found.alias(f"counts.{reference.field_id}"))
    for name, references in (("least", asked.least), ("greatest", asked.greatest)):
        for reference in references:
            if reference.field_id in measured:
                bounds = _bounds(frame, reference, name)
                if bounds is None:
                    return None
                columns += bounds
    return columns


def _value_counts(frame: pl.DataFrame, reference: BoundReference) -> pl.Series | None:
    if reference.is_nested:
        return None
    nulls = frame.get_column(metric_name("null_value_counts", reference.field_id))
    values = frame.get_column(metric_name("value_counts", reference.field_id))
    rows = frame.get_column("record_count")
    exact = (values == rows) & (nulls >= 0) & (nulls <= values)
    return rows - nulls if exact.fill_null(False).all() else None


def _bounds(frame: pl.DataFrame, reference: BoundReference, name: str) -> list[pl.Series] | None:
    """The lower or upper bound of each file, and whether it has NaN; None where one is not exact."""
    if reference.is_nested or not isinstance(reference.type, _EXACT):
        return None
    known = known_columns(reference, frame)
    bounds = known.lower if name == "least" else known.upper
    if bounds is None or not _are_exact(frame, known, reference):
        return None
    found = [bounds.alias(f"{name}.{reference.field_id}")]
    if can_be_nan(reference.type):
        nans = frame.get_column(metric_name("nan_value_counts", reference.field_id))
        if nans.null_count() or (nans < 0).any():
            return None
        found.append((nans > 0).alias(f"{name}_nan.{reference.field_id}"))
    return found


def _are_exact(frame: pl.DataFrame, known: KnownColumns, reference: BoundReference) -> bool:
    """Whether every file counts the column's values, and either has both bounds or nothing but nulls (or NaN)."""
    if known.lower is None or known.upper is None:
        return False
    formats = frame.get_column("file_format")
    if isinstance(reference.type, _TIMESTAMPS) and (formats == FileFormat.ORC).any():
        return False
    has_bounds = known.lower.is_not_null() & known.upper.is_not_null()
    counted = frame.get_column(metric_name("value_counts", reference.field_id)) == frame.get_column("record_count")
    return bool(((has_bounds | known.only_nulls | known.no_value) & counted.fill_null(False)).all())


_COMBINED: Final[Mapping[str, str]] = {
    "counts": "sum", "least": "min", "greatest": "max", "least_nan": "any", "greatest_nan": "any",
}  # fmt: skip


def _combined(name: str) -> pl.Expr:
    """The value of a group's files in a column."""
    expression: pl.Expr = getattr(pl.col(name), _COMBINED[name.partition(".")[0]])()
    return expression


def _group(partition: Mapping[int, Any], row: Mapping[str, Any], asked: Asked) -> tuple[tuple[Any, ...], Group]:
    group = Group(rows=row["rows"])
    for reference in asked.counts:
        field_id = reference.field_id
        in_partition = 0 if partition.get(field_id) is None else group.rows
        group.counts[field_id] = in_partition if field_id in partition else row[f"counts.{field_id}"]
    for name, references, into in (
        ("least", asked.least, group.least),
        ("greatest", asked.greatest, group.greatest),
    ):
        for reference in references:
            field_id = reference.field_id
            into[field_id] = partition[field_id] if field_id in partition else _extreme(name, row, reference)
    return tuple(partition[key.field_id] for key in asked.keys), group


def _extreme(name: str, row: Mapping[str, Any], reference: BoundReference) -> Any:
    bound = row[f"{name}.{reference.field_id}"]
    if row.get(f"{name}_nan.{reference.field_id}") and (bound is None or name == "greatest"):
        return float("nan")
    return None if bound is None else from_comparable(reference.type, bound)
