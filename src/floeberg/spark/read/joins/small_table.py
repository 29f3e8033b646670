"""The values of a small table's column, read by the Arrow engine while a query is planned."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.scan.execute import read_tasks, table_reader
from floeberg.catalogs.base import LoadedTable
from floeberg.expr.nodes import And, Expression
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.kept_keys import KeptKeys
from floeberg.scan.kept_plans import Same, plan_again
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.spark.read.joins.key_values import KeyValues
from floeberg.spec.schemas.name_mapping import NAME_MAPPING_PROPERTY
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DateType, IcebergType, NestedField, StringType, TimestamptzType

MAX_ROWS: Final = 1_000_000
"""Tables with more planned rows than this are not read at planning."""
MAX_BYTES: Final = 64 << 20
MAX_MILLISECONDS: Final = 2_000
FEW_ROWS: Final = 100_000
"""A table of no more rows is small, however small the one beside it is."""
_UNREAD: Final[Sequence[Any]] = ("",)
_TOTAL_RECORDS: Final = "total-records"


@dataclass(frozen=True, slots=True)
class ColumnKeys:
    """The whole numbers, days or moments that a column has, in order."""

    column: NestedField
    values: Sequence[int]

    def are_had_by(self, batch: pa.RecordBatch, number: int) -> npt.NDArray[np.bool_]:
        """Which rows have one of them in the column of this number."""
        column = batch.column(number)
        numbers = _numbers(column, self.column.type).fill_null(0).to_numpy(zero_copy_only=False)
        valid: npt.NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
        return valid & np.isin(numbers, np.asarray(self.values, np.int64))


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
    columns: tuple[ColumnKeys, ...] = ()
    """What more holds for every row that the join sees: too many values for `where`."""

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
            # What took too long once is not begun by the next statement again.
            values = _UNREAD if values is None else values
            self.kept.keep(key, values)
        if values is _UNREAD:
            return None
        name = self.table.state.identifier.rpartition(".")[2]
        return KeyValues(self.column.type, values, f"{name} ({', '.join(self.filters)})", self._all_rows())

    def _all_rows(self) -> int | None:
        """The rows of the table under no condition; None where the snapshot does not say."""
        snapshot = self.chosen.snapshot
        text = "" if snapshot is None else snapshot.summary.get(_TOTAL_RECORDS, "")
        return int(text) if text.isdecimal() else None

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
            tuple((one.column.field_id, Same(one.values)) for one in self.columns),
        )

    def _read(self, plan: ScanPlan) -> Sequence[Any] | None:
        reader = table_reader(
            self.table.state.metadata,
            self.chosen.schema,
            store_for=self.table.pointer.store_for,
            ignore_scheme=self.ignore_scheme,
            by_name=self.by_name,
        )
        clock = self.table.pointer.effects.clock
        end_ms = clock.monotonic_ms() + MAX_MILLISECONDS
        found: list[pa.Array] = []
        fields = list(dict.fromkeys((self.column, *(one.column for one in self.columns))))
        for batch in read_tasks(plan, reader, Schema(*fields)):
            if clock.monotonic_ms() > end_ms:
                return None
            for one in self.columns:
                batch = batch.filter(pa.array(one.are_had_by(batch, fields.index(one.column))))
            found.append(pc.unique(batch.column(0)).drop_null())
        return _sorted(found, self.column.type)


def _sorted(columns: Sequence[pa.Array], data_type: IcebergType) -> Sequence[Any] | None:
    """The distinct physical values of columns without nulls, in order; None for text that is not UTF-8."""
    if isinstance(data_type, StringType):
        try:
            return tuple(sorted({value for column in columns for value in column.to_pylist()}))
        except UnicodeDecodeError:
            return None
    numbers = [_numbers(column, data_type).to_numpy(zero_copy_only=False) for column in columns]
    return array("q", np.unique(np.concatenate([np.zeros(0, np.int64), *numbers])).tobytes())


def _numbers(column: pa.Array, data_type: IcebergType) -> pa.Array:
    if isinstance(data_type, DateType):
        return column.cast(pa.int32()).cast(pa.int64())
    if isinstance(data_type, TimestamptzType):
        return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return column.cast(pa.int64())


def filter_texts(where: Expression) -> tuple[str, ...]:
    """The parts of a condition in words."""
    parts = where.children if isinstance(where, And) else (where,)
    return tuple(str(part)[:80] for part in parts)
