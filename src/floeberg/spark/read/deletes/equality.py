"""Equality deletes on the native scan: one join for each set of equality field ids.

https://iceberg.apache.org/spec/#equality-delete-files. The delete rows are reduced to keys and scope with the highest
sequence number; a row is deleted if its file has a lower one. The scope is the partition of the delete file, or the whole
table if its spec is unpartitioned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.scan.tasks import DeleteFile, FileScanTask
from floeberg.spark.host.types.spark_types import frame_field
from floeberg.spark.read.deletes.keys import SCOPE, SEQUENCE_NUMBER, DeleteKeys
from floeberg.spark.read.parquet.columns import NativeColumn
from floeberg.spark.workers.in_workers import map_in_workers
from floeberg.spark.workers.scan import TableFiles
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    FixedType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    UuidType,
)

FILE_SCOPE: Final = f"{ENGINE_PREFIX}file_scope"
FILE_SEQUENCE_NUMBER: Final = f"{ENGINE_PREFIX}file_sequence_number"
MAX_BROADCAST_ROWS: Final = 4_000_000
_EVERYWHERE: Final = -1
_FILES_PER_SPLIT: Final = 4
_KEY_TYPES: Final = (
    BooleanType, IntegerType, LongType, DecimalType, DateType, TimestampType, TimestamptzType, StringType, BinaryType,
    FixedType, UuidType,
)  # fmt: skip
"""Types whose equality is the same for Spark as for the format: not floats (NaN, -0.0)."""

Scope = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualityJoin:
    """The delete files of one set of ids and one kind of scope."""

    keys: tuple[NestedField, ...]
    deletes: tuple[tuple[DeleteFile, int], ...]
    """Each with its scope's number."""
    by_scope: bool
    by_sequence_number: bool

    @property
    def rows(self) -> int:
        return sum(delete.file.record_count for delete, _ in self.deletes)

    def has_null(self, key: NestedField) -> bool:
        """Whether a key may be null in a delete file: then it must be compared null-safely, which Spark does slowly."""
        counts = [delete.file.null_value_counts or {} for delete, _ in self.deletes]
        return not key.required and any(count.get(key.field_id) != 0 for count in counts)


@dataclass(frozen=True, slots=True)
class EqualityPlan:
    """The joins, and for each task the number of its file's scope."""

    joins: tuple[EqualityJoin, ...]
    scopes: tuple[int, ...]

    @property
    def keys(self) -> dict[int, NestedField]:
        return {field.field_id: field for join in self.joins for field in join.keys}

    def facts(self, tasks: Sequence[FileScanTask]) -> dict[str, pa.Array]:
        """The facts about the tasks' files that the joins need."""
        facts = {}
        if any(join.by_scope for join in self.joins):
            facts[FILE_SCOPE] = pa.array(self.scopes, pa.int64())
        if any(join.by_sequence_number for join in self.joins):
            facts[FILE_SEQUENCE_NUMBER] = pa.array([task.data_sequence_number for task in tasks], pa.int64())
        return facts


def can_join(task: FileScanTask, schema: Schema) -> bool:
    """Whether the equality fields of a task's deletes are top-level columns of the schema, of types that Spark compares as
    the format does. The Arrow engine handles dropped, nested and floating-point fields."""
    tops = {field.field_id: field for field in schema.fields}
    ids = {field_id for delete in task.equality_deletes for field_id in delete.file.equality_ids or ()}
    return all(field_id in tops and isinstance(tops[field_id].type, _KEY_TYPES) for field_id in ids)


def plan_equality(tasks: Sequence[FileScanTask], schema: Schema, specs: Mapping[int, PartitionSpec]) -> EqualityPlan:
    """The joins that apply the equality deletes of tasks, all of which can be joined."""
    tops = {field.field_id: field for field in schema.fields}
    numbers: dict[Scope, int] = {}
    scopes = tuple(
        numbers.setdefault(_scope(task.data_file.spec_id, task.data_file.partition), len(numbers)) for task in tasks
    )
    newest_file = max(task.data_sequence_number for task in tasks)
    groups: dict[tuple[tuple[int, ...], bool], dict[tuple[str, int | None], DeleteFile]] = {}
    for task in tasks:
        for delete in task.equality_deletes:
            ids = tuple(sorted(delete.file.equality_ids or ()))
            everywhere = specs[delete.file.spec_id].is_unpartitioned
            groups.setdefault((ids, everywhere), {})[delete.file.identity] = delete
    joins = []
    for (ids, everywhere), deletes in groups.items():
        scoped = [
            (d, _EVERYWHERE if everywhere else numbers[_scope(d.file.spec_id, d.file.partition)])
            for d in deletes.values()
        ]
        one_scope = len(numbers) == 1
        joins.append(
            EqualityJoin(
                keys=tuple(tops[field_id] for field_id in ids),
                deletes=tuple(scoped),
                by_scope=not everywhere and not one_scope,
                by_sequence_number=min(d.data_sequence_number for d in deletes.values()) <= newest_file,
            )
        )
    return EqualityPlan(tuple(joins), scopes)


def without_deleted(
    spark: Any, frame: Any, join: EqualityJoin, files: TableFiles, columns: Mapping[int, NativeColumn]
) -> Any:
    """The frame, which has the key columns and the facts, without the rows that a join finds deleted."""
    names = [f"{ENGINE_PREFIX}delete_{field.field_id}" for field in join.keys]
    deleted = _delete_rows(spark, join, files).toDF(*names, SCOPE, SEQUENCE_NUMBER)
    grouped = [F.col(name) for name in names] + ([F.col(SCOPE)] if join.by_scope else [])
    is_small = join.rows <= MAX_BROADCAST_ROWS
    if join.by_sequence_number:
        deleted = deleted.groupBy(*grouped).agg(F.max(SEQUENCE_NUMBER).alias(SEQUENCE_NUMBER))
    else:
        # Duplicate keys do no harm; removing them is worth a shuffle only if the keys are many.
        deleted = deleted.select(*grouped) if is_small else deleted.select(*grouped).distinct()
    condition = F.lit(True)
    for field, name in zip(join.keys, names, strict=True):
        own = columns[field.field_id].made()
        condition = condition & (own.eqNullSafe(F.col(name)) if join.has_null(field) else own == F.col(name))
    if join.by_scope:
        condition = condition & (F.col(FILE_SCOPE) == F.col(SCOPE))
    if join.by_sequence_number:
        condition = condition & (F.col(FILE_SEQUENCE_NUMBER) < F.col(SEQUENCE_NUMBER))
    if is_small:
        deleted = F.broadcast(deleted)
    return frame.join(deleted, condition, "left_anti")


def _delete_rows(spark: Any, join: EqualityJoin, files: TableFiles) -> Any:
    """The keys of the delete files, with scope and sequence number, read by Python workers."""
    deletes = join.deletes
    groups = tuple(deletes[start : start + _FILES_PER_SPLIT] for start in range(0, len(deletes), _FILES_PER_SPLIT))
    reader = DeleteKeys(table=files, groups=groups, keys=Schema(*join.keys))
    schema = st.StructType(
        [
            *(frame_field(field) for field in join.keys),
            st.StructField(SCOPE, st.LongType()),
            st.StructField(SEQUENCE_NUMBER, st.LongType()),
        ]
    )
    return map_in_workers(spark.range(0, len(groups), 1, len(groups)), reader, schema)


def _scope(spec_id: int, partition: tuple[object, ...]) -> Scope:
    """Zeros of both signs are different partitions, and NaN is one."""
    return (spec_id, *(("float", repr(value)) if isinstance(value, float) else value for value in partition))
