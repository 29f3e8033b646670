"""Shreds variants: what fits a file's layout goes to typed columns, the rest stays in the binary value.

A value gets a typed column only when it comes back as it was: of the same kind, a decimal also of the same scale.
https://github.com/apache/parquet-format/blob/master/VariantShredding.md
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from floeberg.arrow.variant import binary as encoding
from floeberg.arrow.variant.binary import VariantKind, text_of, variant_names
from floeberg.arrow.variant.bounds import VariantBounds
from floeberg.arrow.variant.layout import DECIMAL_WIDTHS, ArrayLayout, Layout, ObjectLayout, PrimitiveLayout
from floeberg.arrow.variant.parts import NestedKind, array_elements, content_of, kind_of, object_fields, payload_of
from floeberg.spec.values.physical import decimal_from_unscaled

Path: TypeAlias = tuple[str, ...] | None
"""The names that lead to a field; None for what lies in arrays, which has no bounds."""
Names: TypeAlias = Sequence[tuple[str, ...]]
Values: TypeAlias = list[bytes | None]

_FIXED: Final = {
    VariantKind.INT8: struct.Struct("<b"),
    VariantKind.INT16: struct.Struct("<h"),
    VariantKind.INT32: struct.Struct("<i"),
    VariantKind.INT64: struct.Struct("<q"),
    VariantKind.FLOAT: struct.Struct("<f"),
    VariantKind.DOUBLE: struct.Struct("<d"),
    VariantKind.DATE: struct.Struct("<i"),
    VariantKind.TIME: struct.Struct("<q"),
    VariantKind.TIMESTAMPTZ: struct.Struct("<q"),
    VariantKind.TIMESTAMPNTZ: struct.Struct("<q"),
    VariantKind.TIMESTAMPTZ_NANOS: struct.Struct("<q"),
    VariantKind.TIMESTAMPNTZ_NANOS: struct.Struct("<q"),
}
_UUID_BYTES: Final = 16
_VARIANT_NULL: Final = b"\0"


def shredded_type(layout: Layout) -> pa.DataType:
    """The Arrow type of a variant column that is shredded."""
    fields = [pa.field("metadata", pa.binary(), nullable=False), *_group_fields(layout)]
    return pa.struct(fields)


def _group_fields(layout: Layout) -> list[pa.Field]:
    return [pa.field("value", pa.binary()), pa.field("typed_value", _typed(layout))]


def _typed(layout: Layout) -> pa.DataType:
    match layout:
        case PrimitiveLayout():
            return layout.type
        case ObjectLayout():
            return pa.struct([_shredded_field(name, inner) for name, inner in layout.fields])
    return pa.list_(_shredded_field("element", layout.element))


def _shredded_field(name: str, layout: Layout) -> pa.Field:
    return pa.field(name, pa.struct(_group_fields(layout)), nullable=False)


class VariantShredder:
    """Shreds the batches of one variant column of one file, and gathers the bounds of its typed fields."""

    def __init__(self, layout: Layout) -> None:
        self.type = shredded_type(layout)
        self.bounds = VariantBounds()
        self._layout = layout

    def shred(self, array: pa.StructArray) -> pa.StructArray:
        """The variants of struct<metadata, value> in the columns of the layout. Raises DataFileCorrupt."""
        metadata = array.field(0).fill_null(b"")
        valid = array.is_valid().to_pylist()
        raw = zip(valid, array.field(1).to_pylist(), strict=True)
        values: Values = [value if kept else None for kept, value in raw]
        listed = zip(valid, metadata.to_pylist(), strict=True)
        names = [variant_names(row) if kept else () for kept, row in listed]
        stored, typed = self._group(names, values, self._layout, ())
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays([metadata, stored, typed], fields=list(self.type), mask=mask)

    def _group(self, names: Names, values: Values, layout: Layout, path: Path) -> tuple[pa.Array, pa.Array]:
        """The value and typed_value columns of the values, None where there is none."""
        match layout:
            case ObjectLayout():
                stored, typed = self._objects(names, values, layout, path)
            case ArrayLayout():
                stored, typed = self._arrays(names, values, layout)
            case _:
                stored, typed = self._primitives(values, layout, path)
        return pa.array(stored, pa.binary()), typed

    def _struct(self, names: Names, values: Values, layout: Layout, path: Path) -> pa.StructArray:
        columns = self._group(names, values, layout, path)
        return pa.StructArray.from_arrays(list(columns), fields=_group_fields(layout))

    def _objects(self, names: Names, values: Values, layout: ObjectLayout, path: Path) -> tuple[Values, pa.Array]:
        stored: Values = []
        columns: dict[str, Values] = {name: [] for name, _ in layout.fields}
        is_object: list[bool] = []
        for row_names, value in zip(names, values, strict=True):
            found = value is not None and kind_of(value) is NestedKind.OBJECT
            fields = object_fields(value, row_names) if found and value is not None else {}
            is_object.append(found)
            for name, column in columns.items():
                column.append(fields.pop(name, None))
            if not found:
                stored.append(value)
            elif fields:
                ids = {name: i for i, name in enumerate(row_names)}
                stored.append(encoding.variant_object(fields, ids))
            else:
                stored.append(None)
        arrays = [
            self._struct(names, columns[name], inner, None if path is None else (*path, name))
            for name, inner in layout.fields
        ]
        mask = pa.array([not found for found in is_object], pa.bool_())
        return stored, pa.StructArray.from_arrays(arrays, fields=list(_typed(layout)), mask=mask)

    def _arrays(self, names: Names, values: Values, layout: ArrayLayout) -> tuple[Values, pa.Array]:
        stored: Values = []
        elements: Values = []
        element_names: list[tuple[str, ...]] = []
        offsets, missing = [0], []
        for row_names, value in zip(names, values, strict=True):
            found = value is not None and kind_of(value) is NestedKind.ARRAY
            inside = array_elements(value) if found and value is not None else []
            stored.append(None if found else value)
            missing.append(not found)
            elements += inside
            element_names += [row_names] * len(inside)
            offsets.append(len(elements))
        inner = self._struct(element_names, elements, layout.element, None)
        typed = pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), inner, type=_typed(layout), mask=pa.array(missing, pa.bool_())
        )
        return stored, typed

    def _primitives(self, values: Values, layout: PrimitiveLayout, path: Path) -> tuple[Values, pa.Array]:
        decode = _decoder(layout)
        stored: Values = []
        typed: list[Any] = []
        for value in values:
            decoded = None if value is None else decode(value)
            typed.append(decoded)
            stored.append(value if decoded is None else None)
        if path is not None:
            untyped = any(value is not None and value != _VARIANT_NULL for value in stored)
            self.bounds.update(path, layout, typed, untyped=untyped)
        return stored, _typed_array(typed, layout)


def _decoder(layout: PrimitiveLayout) -> Callable[[bytes], Any]:
    """Gives the physical value of a variant that the layout's column can hold as it is, otherwise None."""
    kind = layout.kind
    if kind is VariantKind.TRUE:
        booleans: dict[IntEnum, bool] = {VariantKind.TRUE: True, VariantKind.FALSE: False}
        return lambda value: booleans.get(kind_of(value))
    if kind in DECIMAL_WIDTHS:
        return _decimal_decoder(kind, layout.type.precision, layout.type.scale)
    decode = _payload_decoder(kind)
    return lambda value: decode(value) if kind_of(value) is kind else None


def _payload_decoder(kind: VariantKind) -> Callable[[bytes], Any]:
    if kind is VariantKind.STRING:
        return lambda value: text_of(content_of(value))
    if kind is VariantKind.BINARY:
        return content_of
    if kind is VariantKind.UUID:
        return lambda value: payload_of(value, _UUID_BYTES)
    layout = _FIXED[kind]
    return lambda value: layout.unpack(payload_of(value, layout.size))[0]


def _decimal_decoder(kind: VariantKind, precision: int, scale: int) -> Callable[[bytes], int | None]:
    width, limit = DECIMAL_WIDTHS[kind], 10**precision

    def decode(value: bytes) -> int | None:
        if kind_of(value) is not kind:
            return None
        payload = payload_of(value, 1 + width)
        unscaled = int.from_bytes(payload[1:], "little", signed=True)
        return unscaled if payload[0] == scale and abs(unscaled) < limit else None

    return decode


def _typed_array(values: list[Any], layout: PrimitiveLayout) -> pa.Array:
    kind, data_type = layout.kind, layout.type
    if kind in DECIMAL_WIDTHS:
        scale = data_type.scale
        return pa.array([None if v is None else decimal_from_unscaled(v, scale) for v in values], data_type)
    if kind is VariantKind.UUID:
        return pa.ExtensionArray.from_storage(data_type, pa.array(values, pa.binary(_UUID_BYTES)))
    if kind is VariantKind.DATE:
        return pa.array(values, pa.int32()).view(data_type)
    if pa.types.is_temporal(data_type):
        return pa.array(values, pa.int64()).view(data_type)
    if kind is VariantKind.FLOAT:
        # Through numpy every NaN keeps its bits, and no value is rounded twice.
        mask = np.array([value is None for value in values], dtype=bool)
        return pa.array(np.array([0.0 if v is None else v for v in values], dtype=np.float32), mask=mask)
    return pa.array(values, data_type)
