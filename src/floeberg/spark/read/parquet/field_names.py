"""Which columns may be read from Parquet files under their own names.

Spark matches columns by field id, but pushes filters down by name: a file in which another field has the column's name
would be skipped by that field's statistics, and rows would be lost. So a name is used only where no schema of the table
ever gave it, at the same place, to another field. And where Spark reads only a part of a struct, it forgets field ids of
the struct, and of all within a list: nested columns are read by Spark only if nothing in them was ever renamed.

Statistics in Parquet leave NaN out, and Spark, to which NaN is greater than any number, skips row groups by them all the
same: `x > 0` would lose NaN. So a file that has NaN, or may have, is read without filters on that column pushed down.

And Spark cuts literals to the type that a column has in the file: after a promotion from decimal(5,2), `x < 42949673.96`
would lose every row. Such columns are read without filters pushed down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import polars as pl

from floeberg.files.metric_columns import metric_name
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema, walk_fields
from floeberg.spec.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StructType,
)

NAN_COUNTS: Final = "nan_value_counts"
_LISTS_CHECKED: Final = (4, 3)


def unsafe_ids(metadata: TableMetadata) -> frozenset[int] | None:
    """The ids of top-level columns whose name, or the name of a nested field, belonged to another field in some schema. None
    when the table's history of schemas is incomplete, so that no name can be trusted."""
    if not _history_is_whole(metadata):
        return None
    meant: dict[str, set[int]] = {}
    for schema in metadata.schemas:
        for field, name in walk_fields(schema.fields):
            # Spark looks names up without regard to case unless it is told otherwise.
            meant.setdefault(name.lower(), set()).add(field.field_id)
    unsafe: set[int] = set()
    for schema in metadata.schemas:
        for top in schema.fields:
            if any(len(meant[name.lower()]) > 1 for _, name in walk_fields([top])):
                unsafe.add(top.field_id)
    return frozenset(unsafe)


def renamed_ids(metadata: TableMetadata) -> frozenset[int]:
    """The ids of fields, at any depth, that had another name or position in some schema of the table."""
    names: dict[int, set[str]] = {}
    for schema in metadata.schemas:
        for field, name in walk_fields(schema.fields):
            names.setdefault(field.field_id, set()).add(name)
    return frozenset(field_id for field_id, known in names.items() if len(known) > 1)


def changed_types(metadata: TableMetadata) -> frozenset[int]:
    """The ids of fields, at any depth, that had another primitive type in some schema of the table; all of them when its
    history of schemas is incomplete."""
    if not _history_is_whole(metadata):
        return frozenset(field.field_id for schema in metadata.schemas for field, _ in walk_fields(schema.fields))
    types: dict[int, set[str]] = {}
    for schema in metadata.schemas:
        for field, _ in walk_fields(schema.fields):
            types.setdefault(field.field_id, set()).add(_kind(field))
    return frozenset(field_id for field_id, kinds in types.items() if len(kinds) > 1)


def wrapped_ids(metadata: TableMetadata, spark: Any) -> frozenset[int]:
    """The ids of fields for which Spark cuts the literals of pushed filters to the type of an older file: decimals that were
    promoted, and before 4.3 integers. Literals of other types are not compared with an older file at all."""
    kinds: dict[int, set[IcebergType]] = {}
    for schema in metadata.schemas:
        for field, _ in walk_fields(schema.fields):
            if isinstance(field.type, (IntegerType, LongType, DecimalType)):
                kinds.setdefault(field.field_id, set()).add(field.type)
    promoted = {field_id: known for field_id, known in kinds.items() if len(known) > 1}
    integers = {field_id for field_id, known in promoted.items() if any(isinstance(each, LongType) for each in known)}
    return frozenset(promoted.keys() - integers if integers and _checks_lists(spark) else promoted)


def _checks_lists(spark: Any) -> bool:
    """Whether Spark looks at every literal of a list before it pushes the list down: earlier ones look at the first."""
    major, minor = str(spark.version).split(".")[:2]
    return (int(major), int(minor)) >= _LISTS_CHECKED


def floating_ids(schema: Schema) -> frozenset[int]:
    """The ids of floating-point fields that filters can be pushed down to."""
    return frozenset(leaf for field in schema.fields for leaf in _floating(field))


def _floating(field: NestedField) -> Iterator[int]:
    """Not those in lists and maps, whose elements no pushed filter asks for."""
    if isinstance(field.type, (FloatType, DoubleType)):
        yield field.field_id
    elif isinstance(field.type, StructType):
        for member in field.type.members:
            yield from _floating(member)


def planned_with_nan(plan: ScanPlan, schema: Schema) -> frozenset[int]:
    """The top-level columns in which a planned file has NaN, or may have; the plan was made to keep the metrics of
    `floating_ids`."""
    frames = [part.frame for part in plan.parts]
    return _with_nan(schema, lambda leaf: all(_has_none(frame, metric_name(NAN_COUNTS, leaf)) for frame in frames))


def tasks_with_nan(tasks: Sequence[FileScanTask], schema: Schema) -> frozenset[int]:
    """The same for tasks that have their metrics."""
    counts = [task.data_file.nan_value_counts or {} for task in tasks]
    return _with_nan(schema, lambda leaf: all(known.get(leaf) == 0 for known in counts))


def _with_nan(schema: Schema, has_none: Callable[[int], bool]) -> frozenset[int]:
    return frozenset(top.field_id for top in schema.fields if not all(has_none(leaf) for leaf in _floating(top)))


def _has_none(frame: pl.DataFrame, column: str) -> bool:
    if column not in frame.columns:
        return False
    counts = frame.get_column(column)
    return counts.null_count() == 0 and bool((counts == 0).all())


def _kind(field: NestedField) -> str:
    return str(field.type) if field.type.is_primitive else type(field.type).__name__


def _history_is_whole(metadata: TableMetadata) -> bool:
    """Schema ids count from 0: a missing one was removed, and so was the last one when no schema has the last column's id.
    Snapshots without a schema id come from writers that kept no history."""
    ids = {schema.schema_id for schema in metadata.schemas}
    if ids != set(range(len(ids))):
        return False
    if max(schema.highest_field_id for schema in metadata.schemas) < metadata.last_column_id:
        return False
    return all(snapshot.schema_id is not None for snapshot in metadata.snapshots)
