"""Key values of a small table, read while a query is planned, by which files of a large one are left out.

The small table is read by the Arrow engine at the snapshot that the query reads, with its deletes, under conditions that are
never stronger than the query's own: there may be more values than the join will see, never fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.scan.execute import read_tasks, table_reader
from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind_reference
from floeberg.expr.nodes import FALSE, And, BoundPredicate, BoundReference, Expression, Op, and_
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.kept_keys import KeptKeys
from floeberg.scan.kept_plans import Same, kept_plan, plan_again
from floeberg.scan.matching_files import may_tell_apart, with_matching_files, with_one_file
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.spec.schemas.name_mapping import NAME_MAPPING_PROPERTY
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    DateType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)
from floeberg.spec.values.temporal import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN

MAX_ROWS: Final = 1_000_000
"""Tables with more planned rows than this are not read at planning."""
MAX_BYTES: Final = 64 << 20
MAX_MILLISECONDS: Final = 2_000
MAX_VALUES: Final = 10_000
"""Beyond this number only the least and the greatest value are used."""
FEW_ROWS: Final = 100_000
"""A table of no more rows is small, however small the one beside it is."""
_VALUES_LIKE_A_FILE: Final = 10
"""So many values take as much memory as the file of a plan."""
_WHOLE: Final = (IntegerType, LongType)
_OPS: Final = {"<": Op.LT, "<=": Op.LT_EQ, ">": Op.GT, ">=": Op.GT_EQ}
_KEY_TYPES: Final = (IntegerType, LongType, DateType, StringType, TimestamptzType)
"""Types whose values are equal in Spark exactly when they are here. Not the floating ones, uuid and binary."""


@dataclass(frozen=True, slots=True)
class KeyValues:
    """Values of a column, physical ones in order, and in words where they are from."""

    type: IcebergType
    values: tuple[Any, ...]
    source: str


class KeyReader(Protocol):
    """Gives key values when they are first needed; None when there are too many, or none that restrict anything."""

    def values(self, *, beside_rows: int) -> KeyValues | None:
        """The values, for a table of so many rows."""


@dataclass(frozen=True, slots=True)
class JoinKey:
    """A column of a table, only those rows of which are needed whose value is among some keys."""

    column: str
    keys: KeyReader
    op: str = "="
    added: int = 0


@dataclass(frozen=True, slots=True)
class PrunedBy:
    """How many files were left after one key was used, and whose."""

    files: int
    source: str


def is_key_type(data_type: IcebergType) -> bool:
    return isinstance(data_type, _KEY_TYPES)


def key_predicate(keys: KeyValues, reference: BoundReference, *, op: str = "=", added: int = 0) -> Expression | None:
    """That a column's value compares by `op` with one of the keys, to which `added` is added; None where Spark would convert
    one side to compare them, or a sum may not be what it is here."""
    same = type(keys.type) is type(reference.type)
    if not is_key_type(reference.type) or not (
        same or (isinstance(keys.type, _WHOLE) and isinstance(reference.type, _WHOLE))
    ):
        return None
    values: Sequence[Any] = keys.values if not added else _sums(keys, added)
    if keys.values and not values:
        return None
    if op != "=":
        return _bound(values, reference, op)
    if isinstance(reference.type, IntegerType):
        values = [value for value in values if INT_MIN <= value <= INT_MAX]
    if not values:
        return FALSE
    if len(values) > MAX_VALUES:
        low, high = (
            BoundPredicate(Op.GT_EQ, reference, (values[0],)),
            BoundPredicate(Op.LT_EQ, reference, (values[-1],)),
        )
        return and_(low, high)
    return BoundPredicate(Op.EQ if len(values) == 1 else Op.IN, reference, tuple(values))


def _sums(keys: KeyValues, added: int) -> Sequence[Any]:
    """The keys with a number added to each; none where a sum leaves their type, which wraps round or raises in Spark."""
    if not isinstance(keys.type, _WHOLE):
        return ()
    least, most = (INT_MIN, INT_MAX) if isinstance(keys.type, IntegerType) else (LONG_MIN, LONG_MAX)
    sums = [value + added for value in keys.values]
    return sums if all(least <= value <= most for value in sums) else ()


def _bound(values: Sequence[Any], reference: BoundReference, op: str) -> Expression | None:
    """That a column's value compares by `op`, which is no equality, with one of the values, which are in order."""
    if not values:
        return FALSE
    literal = values[0] if op in (">", ">=") else values[-1]
    if isinstance(reference.type, IntegerType) and not INT_MIN <= literal <= INT_MAX:
        return None
    return BoundPredicate(_OPS[op], reference, (literal,))


@dataclass(slots=True)
class SmallTable:
    """A table whose keys may be read at planning. `where` holds for every row that the join sees; `filters` are its
    conditions in words."""

    table: LoadedTable
    chosen: SnapshotChoice
    column: NestedField
    where: Expression
    filters: tuple[str, ...]
    ignore_scheme: bool = False
    by_name: bool = False
    manifests: FrameCache | None = None
    kept: KeptKeys = field(default_factory=KeptKeys)

    def values(self, *, beside_rows: int) -> KeyValues | None:
        """The distinct values of the key column; None when reading them would take too long."""
        plan = plan_again(
            self.table.state.metadata,
            self.chosen,
            store_for=self.table.pointer.store_for,
            where=self.where,
            cache=self.manifests,
            ignore_scheme=self.ignore_scheme,
        )
        bound = min(MAX_ROWS, max(FEW_ROWS, beside_rows))
        if plan.record_count > bound or plan.size_in_bytes > MAX_BYTES:
            return None
        key = self._key(plan)
        values = self.kept.get(key)
        if values is None:
            values = self._read(plan)
            if values is None:
                return None
            self.kept.put(key, values, size=len(values))
        name = self.table.state.identifier.rpartition(".")[2]
        return KeyValues(self.column.type, values, f"{name} ({', '.join(self.filters)})")

    def _key(self, plan: ScanPlan) -> object:
        metadata, snapshot = self.table.state.metadata, self.chosen.snapshot
        return (
            metadata.table_uuid,
            metadata.location,
            None if snapshot is None else (snapshot.snapshot_id, snapshot.manifest_list),
            self.chosen.schema,
            # Says which columns of files without field ids are read, and changes without a snapshot.
            metadata.properties.get(NAME_MAPPING_PROPERTY),
            self.column.field_id,
            plan.filter,
            self.ignore_scheme,
            self.by_name,
        )

    def _read(self, plan: ScanPlan) -> tuple[Any, ...] | None:
        reader = table_reader(
            self.table.state.metadata,
            self.chosen.schema,
            store_for=self.table.pointer.store_for,
            ignore_scheme=self.ignore_scheme,
            by_name=self.by_name,
        )
        clock = self.table.pointer.effects.clock
        end_ms = clock.monotonic_ms() + MAX_MILLISECONDS
        found: set[Any] = set()
        for batch in read_tasks(plan, reader, Schema(self.column)):
            values = _physical(batch.column(0), self.column.type)
            if values is None or clock.monotonic_ms() > end_ms:
                return None
            found.update(values)
        return tuple(sorted(found))


def _physical(column: pa.Array, data_type: IcebergType) -> list[Any] | None:
    """The distinct values but null; None for text that is not UTF-8."""
    distinct = pc.unique(column).drop_null()
    if isinstance(data_type, DateType):
        distinct = distinct.cast(pa.int32())
    elif isinstance(data_type, TimestamptzType):
        distinct = distinct.cast(pa.int64())
    try:
        return list(distinct.to_pylist())
    except UnicodeDecodeError:
        return None


def key_reference(column: str, schema: Schema) -> BoundReference | None:
    """The top-level column of that name, whatever its case; None when it is none whose values can be keys."""
    try:
        found = bind_reference(column, schema, case_sensitive=False)
    except InvalidInput:
        return None
    return found if is_key_type(found.type) and not found.is_nested else None


def pruned_by_keys(
    plan: ScanPlan, keys: Sequence[JoinKey], cache: FrameCache | None = None, *, keeps_one: Callable[[], bool] = bool
) -> tuple[ScanPlan, tuple[PrunedBy, ...]]:
    """The plan without files that hold none of the keys, and who left out how many. The plan keeps the metrics of the key
    columns. `cache` has what came of the same plan and keys before. Where no file holds a key, one is left if `keeps_one` says
    so."""
    steps: list[PrunedBy] = []
    for key in keys:
        reference = key_reference(key.column, plan.schema)
        if len(plan) < 2 or reference is None or not may_tell_apart(plan, reference):
            continue
        found = key.keys.values(beside_rows=plan.record_count)
        if found is None:
            continue
        same = (Same(plan), reference.field_id, key.op, key.added, found.type, Same(found.values))
        key_files = len(plan) + len(found.values) // _VALUES_LIKE_A_FILE
        fewer = kept_plan(cache, same, partial(_with_keys, plan, found, key, reference), key_files=key_files)
        if not len(fewer) and keeps_one():
            fewer = with_one_file(plan)
        if len(fewer) < len(plan):
            plan = fewer
            steps.append(PrunedBy(len(plan), found.source))
    return plan, tuple(steps)


def _with_keys(plan: ScanPlan, found: KeyValues, key: JoinKey, reference: BoundReference) -> ScanPlan:
    """The plan without files that hold none of the key's values."""
    predicate = key_predicate(found, reference, op=key.op, added=key.added)
    return plan if predicate is None else with_matching_files(plan, predicate)


def filter_texts(where: Expression) -> tuple[str, ...]:
    """The parts of a condition in words."""
    parts = where.children if isinstance(where, And) else (where,)
    return tuple(str(part)[:80] for part in parts)
