"""Upserts: rows of a source replace the rows of a table that have the same key, and are inserted where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.changes.row_level import Mask, with_columns
from floeberg.arrow.columns.key_lookup import KeyLookup, Rows
from floeberg.arrow.columns.partition import column_by_id
from floeberg.arrow.columns.physical import physical_values
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.write.conform import conform
from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind_reference
from floeberg.expr.nodes import FALSE, BoundPredicate, Expression, Op, and_
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.schemas.projection import prune_columns
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DoubleType, FloatType, VariantType

MAX_LISTED_KEYS: Final = 200
"""Up to so many key values become a list in the condition; more become a range."""


class Upsert:
    """The rows of a source, which is materialised, by key. Columns that the source lacks stay as they are in rows that are
    updated, and take their write default in rows that are inserted.

    Raises InvalidInput for unknown columns, keys of float and variant types, null keys and keys that are there twice.
    """

    def __init__(self, data: pa.Table | pa.RecordBatchReader, schema: Schema, on: Sequence[str]) -> None:
        names = set(data.schema.names)
        self._given = Schema(*(field for field in schema.fields if field.name in names))
        self._keys = [_key(schema, name) for name in on]
        if missing := [
            name for name, field_id in zip(on, self._keys, strict=True) if field_id not in self._given.by_id
        ]:
            raise InvalidInput(f"key column {missing[0]!r} is not in the data", column=missing[0])
        self._source = pa.Table.from_batches(
            list(conform(data, self._given)), schema=arrow_schema(self._given)
        ).combine_chunks()
        columns = [self._key_column(field_id) for field_id in self._keys]
        self._lookup = KeyLookup(columns, on)
        self._matched = np.zeros(self._source.num_rows, dtype=np.bool_)
        self.columns = prune_columns(schema, self._keys)
        self._schema = schema

    @property
    def row_count(self) -> int:
        return int(self._source.num_rows)

    def condition(self) -> Expression:
        """A condition that is true for every row with a key of the source: it prunes files, and is the conflict filter."""
        if not self.row_count:
            return FALSE
        return and_(*(self._key_condition(field_id) for field_id in self._keys))

    def touched(self, batch: pa.RecordBatch, schema: Schema, task: FileScanTask) -> Mask:
        return self._find(batch, schema) >= 0

    def updated(self, rows: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
        found = self._find(rows, schema)
        self._matched[found] = True
        new = self._source.take(pa.array(found)).combine_chunks().to_batches()
        return with_columns(rows, new[0]) if new else rows

    def unmatched(self) -> pa.Table:
        """The rows whose key no row of the table has."""
        return self._source.filter(pa.array(~self._matched))

    def _find(self, batch: pa.RecordBatch, schema: Schema) -> Rows:
        return self._lookup.find([column_by_id(batch, schema, field_id) for field_id in self._keys])

    def _key_column(self, field_id: int) -> Any:
        column = column_by_id(self._source, self._given, field_id).combine_chunks()
        return column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)

    def _key_condition(self, field_id: int) -> Expression:
        reference = bind_reference(self._schema.names[field_id], self._schema)
        distinct = pc.unique(self._key_column(field_id))
        if len(distinct) <= MAX_LISTED_KEYS:
            return BoundPredicate(Op.IN, reference, tuple(physical_values(distinct, reference.type)))
        order = pc.sort_indices(distinct)
        ends = physical_values(distinct.take(order.take(pa.array([0, len(order) - 1]))), reference.type)
        return and_(BoundPredicate(Op.GT_EQ, reference, (ends[0],)), BoundPredicate(Op.LT_EQ, reference, (ends[1],)))


def _key(schema: Schema, name: str) -> int:
    field = schema.field(name)
    if field.type.is_nested or isinstance(field.type, (FloatType, DoubleType, VariantType)):
        raise InvalidInput(f"column {name!r} is {field.type} and cannot be a key: rows are not told apart by it")
    return field.field_id
