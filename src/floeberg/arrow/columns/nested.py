"""Rebuilds arrays of any depth with other leaves: what file formats need whose types are not Arrow's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from floeberg.spec.types import IcebergType, ListType, MapType, NestedField, StructType

Leaf: TypeAlias = Callable[[pa.Array, IcebergType], pa.Array]
MakeField: TypeAlias = Callable[[NestedField], pa.Field]


def map_leaves(
    array: pa.Array, data_type: IcebergType, *, leaf: Leaf, make_field: MakeField, null_in_null: bool = False
) -> pa.Array:
    """An array whose primitive parts went through `leaf`, under the fields that `make_field` gives.

    What is required has no nulls in the result, not even where what encloses it is null: writers refuse to look further.
    With `null_in_null` it is the other way round: whatever lies in a null struct is null. pyarrow's ORC writer gives the
    values of a column without nulls to the wrong rows, where some of the structs that hold it are null.
    """

    def walk(child: pa.Array, field: NestedField, gone: pa.Array | None = None) -> pa.Array:
        if null_in_null:
            child = child if gone is None else pc.if_else(gone, pa.scalar(None, child.type), child)
        elif field.required and child.null_count:
            child = _without_nulls(child)
        return map_leaves(child, field.type, leaf=leaf, make_field=make_field, null_in_null=null_in_null)

    match data_type:
        case StructType():
            fields = [make_field(member) for member in data_type.members]
            if not fields:
                return array
            mask = array.is_null() if array.null_count else None
            children = [walk(array.field(i), member, mask) for i, member in enumerate(data_type.members)]
            return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
        case ListType():
            values = walk(array.values, data_type.element)
            return relist(array, pa.list_(make_field(data_type.element)), values)
        case MapType():
            fields = [make_field(data_type.key), make_field(data_type.value)]
            children = [walk(array.keys, data_type.key), walk(array.items, data_type.value)]
            entries = pa.StructArray.from_arrays(children, fields=fields)
            return relist(array, pa.map_(*fields), entries)
    return leaf(array, data_type)


def relist(array: pa.Array, data_type: pa.DataType, child: pa.Array) -> pa.Array:
    """A list or map of another type, with the same offsets into other values."""
    return pa.Array.from_buffers(
        data_type,
        len(array),
        array.buffers()[:2],
        null_count=array.null_count,
        offset=array.offset,
        children=[child],
    )


def _without_nulls(array: pa.Array) -> pa.Array:
    """The same values with some value, whichever lies there, where there was none."""
    kind = array.type
    if pa.types.is_struct(kind):
        children = [array.field(i) for i in range(kind.num_fields)]
        return pa.Array.from_buffers(kind, len(array), [None], null_count=0, children=children)
    own = array.buffers()
    if pa.types.is_list(kind):
        buffers, children = [None, own[1]], [array.values]
    elif pa.types.is_map(kind):
        entries = pa.StructArray.from_arrays([array.keys, array.items], fields=[kind.key_field, kind.item_field])
        buffers, children = [None, own[1]], [entries]
    else:
        return pa.Array.from_buffers(kind, len(array), [None, *own[1:]], null_count=0, offset=array.offset)
    return pa.Array.from_buffers(kind, len(array), buffers, null_count=0, offset=array.offset, children=children)


def counted_type(kind: pa.DataType) -> pa.DataType:
    """The type with numbers for dates and timestamps, of which Python's own hold fewer years and no nanoseconds. All may be
    null in it: a required member is null where its struct is."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(counted_type(field.type)).with_nullable(True) for field in kind])
    if pa.types.is_map(kind):
        key, item = kind.key_field, kind.item_field
        return pa.map_(
            key.with_type(counted_type(key.type)), item.with_type(counted_type(item.type)).with_nullable(True)
        )
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(counted_type(kind.value_type)).with_nullable(True))
    if pa.types.is_date32(kind):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(kind) else kind


def counted(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with numbers for dates and timestamps."""
    columns = [column.cast(counted_type(column.type)) for column in rows.columns]
    return pa.RecordBatch.from_arrays(columns, names=rows.schema.names)


def shown_rows(rows: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows as a message shows them: as Python values, or as numbers where Python has no such date."""
    try:
        found: list[dict[str, Any]] = rows.to_pylist()
    except (OverflowError, ValueError):
        found = counted(rows).to_pylist()
    return found
