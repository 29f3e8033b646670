"""Splits batches by partition and sorts tables by a sort order, on whole columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.columns.metrics import total_order
from floeberg.arrow.columns.physical import physical_values
from floeberg.arrow.columns.transforms import transform_array
from floeberg.errors import InvalidInput
from floeberg.spec.partitions.sort_orders import NullOrder, SortDirection, SortOrder
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.partitions.transforms import VoidTransform
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import StructType

Partition = tuple[object, ...]


def column_by_id(batch: Any, schema: Schema, field_id: int) -> Any:
    """The column of that id, inside structs too, of a batch or table whose columns are the schema's fields; null where
    an enclosing struct is. Raises InvalidInput when it is missing or in a list or map."""
    path = schema.path_to(field_id)
    top = next((i for i, field in enumerate(schema.fields) if field.field_id == path[0]), None)
    if top is None:
        raise InvalidInput(f"the schema has no column with id {field_id}")
    column, field = batch.column(top), schema.fields[top]
    indices = []
    for child_id in path[1:]:
        if not isinstance(field.type, StructType):
            raise InvalidInput(f"column {schema.names[field_id]!r} is inside a list or map and has no one value a row")
        index = next(i for i, member in enumerate(field.type.members) if member.field_id == child_id)
        indices.append(index)
        field = field.type.members[index]
    return pc.struct_field(column, indices) if indices else column


def split_by_partition(
    batch: pa.RecordBatch, spec: PartitionSpec, schema: Schema
) -> list[tuple[Partition, pa.RecordBatch]]:
    """The batch's rows by partition, in their order, each with its partition's physical values.

    Raises InvalidInput for transforms that are not known: such tables must not be written.
    """
    if not spec.fields:
        return [((), batch)]
    if spec.unknown_fields:
        raise InvalidInput(
            f"partition field {spec.unknown_fields[0].name!r} has a transform that is not known here; rows cannot be "
            "assigned to partitions"
        )
    types = [member.type for member in spec.partition_type(schema).members]
    values = []
    groups = np.zeros(batch.num_rows, dtype=np.int64)
    for field in spec.fields:
        if isinstance(field.transform, VoidTransform):  # its source column may be gone
            values.append(pa.nulls(batch.num_rows))
            continue
        source = schema.field(field.source_id)
        array = transform_array(field.transform, source.type, column_by_id(batch, schema, field.source_id))
        values.append(array)
        if not pa.types.is_null(array.type):
            groups = _refine(groups, array)
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    rows = [physical_values(array.take(pa.array(first)), kind) for array, kind in zip(values, types, strict=True)]
    partitions = list(zip(*rows, strict=True))
    if len(partitions) == 1:
        return [(partitions[0], batch)]
    order = np.argsort(inverse, kind="stable")
    sorted_batch = batch.take(pa.array(order))
    ends = np.cumsum(np.bincount(inverse, minlength=len(partitions)))
    starts = np.concatenate([[0], ends[:-1]])
    return [
        (partition, sorted_batch.slice(int(start), int(end - start)))
        for partition, start, end in zip(partitions, starts, ends, strict=True)
    ]


def _refine(groups: np.ndarray[Any, Any], array: pa.Array) -> np.ndarray[Any, Any]:
    """Groups of equal (group, value): dense numbers, so that they never overflow."""
    encoded = array.dictionary_encode(null_encoding="encode")
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    combined = groups * max(1, len(encoded.dictionary)) + codes
    return np.unique(combined, return_inverse=True)[1].astype(np.int64)


def sort_table(table: pa.Table, order: SortOrder, schema: Schema) -> pa.Table:
    """The table in a sort order, equal rows as they were: https://iceberg.apache.org/spec/#sorting"""
    if not order.fields or table.num_rows < 2:
        return table
    names, columns, keys = [], [], []
    for i, field in enumerate(order.fields):
        source = schema.field(field.source_id)
        column = column_by_id(table, schema, field.source_id)
        column = pa.chunked_array(
            [_sortable(transform_array(field.transform, source.type, chunk)) for chunk in column.chunks] or [[]]
        )
        if pa.types.is_null(column.type):
            continue
        if column.null_count:
            first = field.null_order is NullOrder.NULLS_FIRST
            names.append(f"nulls_{i}")
            columns.append(pc.cast(pc.is_valid(column) if first else pc.is_null(column), pa.int8()))
            keys.append((f"nulls_{i}", "ascending"))
        names.append(f"key_{i}")
        columns.append(column)
        keys.append((f"key_{i}", "descending" if field.direction is SortDirection.DESC else "ascending"))
    if not keys:
        return table
    # The row number makes the sort stable.
    names.append("row")
    columns.append(pa.chunked_array([np.arange(table.num_rows)]))
    keys.append(("row", "ascending"))
    indices = pc.sort_indices(pa.table(columns, names=names), sort_keys=keys)
    return table.take(indices)


def _sortable(array: pa.Array) -> pa.Array:
    return total_order(array) if pa.types.is_floating(array.type) else array
