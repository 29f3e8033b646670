"""Puts shredded variants together again: typed columns back into the binary value.
https://github.com/apache/parquet-format/blob/master/VariantShredding.md"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from floeberg.arrow.columns.types import is_list, storage_type
from floeberg.arrow.variant import binary as encoding
from floeberg.arrow.variant.binary import VariantKind
from floeberg.arrow.variant.parts import NestedKind, kind_of, object_fields
from floeberg.errors import DataFileCorrupt

Encode: TypeAlias = Callable[[Any], bytes]
Rows: TypeAlias = list[bytes | None]

_CONFLICT = "a shredded variant has both a value and a typed value"


def unshred(
    metadata: Sequence[bytes | None], value: pa.Array | None, typed: pa.Array, *, present: Sequence[bool]
) -> Rows:
    """The binary value of each row; None where the field is missing. Raises DataFileCorrupt when the parts conflict."""
    stored: list[bytes | None] = [None] * len(typed) if value is None else value.to_pylist()
    typed = typed.storage if isinstance(typed, pa.ExtensionArray) else typed
    if pa.types.is_struct(typed.type):
        return _objects(metadata, stored, typed, present=present)
    if is_list(typed.type):
        return _arrays(metadata, stored, typed, present=present)
    encode, values = _primitives(typed)
    rows: Rows = []
    for kept, stored_value, typed_value in zip(present, stored, values, strict=True):
        if not kept:
            rows.append(None)
        elif typed_value is None:
            rows.append(stored_value)
        elif stored_value is not None:
            raise DataFileCorrupt(_CONFLICT)
        else:
            rows.append(encode(typed_value))
    return rows


def _children(group: pa.StructArray) -> tuple[pa.Array | None, pa.Array | None]:
    """The value and typed_value columns of a shredded field or element."""
    names = [group.type.field(i).name for i in range(group.type.num_fields)]
    value = group.field(names.index("value")).cast(pa.binary()) if "value" in names else None
    return value, group.field(names.index("typed_value")) if "typed_value" in names else None


def _group(metadata: Sequence[bytes | None], group: pa.Array, *, present: Sequence[bool]) -> Rows:
    if not pa.types.is_struct(group.type):
        raise DataFileCorrupt("a shredded variant field is not a group of value and typed_value")
    value, typed = _children(group)
    if typed is not None:
        return unshred(metadata, value, typed, present=present)
    stored = [None] * len(group) if value is None else value.to_pylist()
    return [row if kept else None for kept, row in zip(present, stored, strict=True)]


def _objects(
    metadata: Sequence[bytes | None], stored: list[bytes | None], typed: pa.StructArray, *, present: Sequence[bool]
) -> Rows:
    names = [typed.type.field(i).name for i in range(typed.type.num_fields)]
    shredded = [bool(kept and valid) for kept, valid in zip(present, typed.is_valid().to_pylist(), strict=True)]
    columns = []
    for i in range(len(names)):
        group = typed.field(i)
        there = [bool(a and b) for a, b in zip(shredded, group.is_valid().to_pylist(), strict=True)]
        columns.append(_group(metadata, group, present=there))
    rows: Rows = []
    for row, (kept, is_object) in enumerate(zip(present, shredded, strict=True)):
        rest = stored[row]
        if not kept or not is_object:
            rows.append(rest if kept else None)
            continue
        listed = encoding.variant_names(metadata[row] or b"")
        ids = {name: i for i, name in enumerate(listed)}
        fields = {} if rest is None else _rest_of(rest, listed)
        for name in names:
            fields.pop(name, None)
        for name, column in zip(names, columns, strict=True):
            encoded = column[row]
            if encoded is not None:
                fields[name] = encoded
        if missing := [name for name in fields if name not in ids]:
            raise DataFileCorrupt(f"a shredded variant field {missing[0]!r} is not in the variant's metadata")
        rows.append(encoding.variant_object(fields, ids))
    return rows


def _arrays(
    metadata: Sequence[bytes | None], stored: list[bytes | None], typed: pa.Array, *, present: Sequence[bool]
) -> Rows:
    typed = typed if pa.types.is_list(typed.type) else typed.cast(pa.list_(typed.type.value_field))
    offsets = typed.offsets.to_pylist()
    first = offsets[0] if offsets else 0
    valid = typed.is_valid().to_pylist()
    elements = typed.values.slice(first, offsets[-1] - first) if offsets else typed.values
    repeated: list[bytes | None] = []
    for row in range(len(typed)):
        repeated.extend([metadata[row]] * (offsets[row + 1] - offsets[row]))
    encoded = _group(repeated, elements, present=elements.is_valid().to_pylist())
    rows: Rows = []
    for row, kept in enumerate(present):
        if not kept or not valid[row]:
            rows.append(stored[row] if kept else None)
            continue
        if stored[row] is not None:
            raise DataFileCorrupt(_CONFLICT)
        # An element can't be missing: one that is neither stored nor shredded is the variant null.
        inside = encoded[offsets[row] - first : offsets[row + 1] - first]
        rows.append(encoding.array([b"\0" if element is None else element for element in inside]))
    return rows


def _rest_of(value: bytes, names: Sequence[str]) -> dict[str, bytes]:
    """The fields that a partly shredded object keeps in its value."""
    if not value or kind_of(value) is not NestedKind.OBJECT:
        raise DataFileCorrupt("a variant that is no object has shredded fields")
    return object_fields(value, names)


def _packer(kind: VariantKind, layout: str) -> Encode:
    pack = struct.Struct(layout).pack
    return lambda value: encoding.primitive(kind, pack(value))


def _boolean(value: bool) -> bytes:
    return encoding.primitive(VariantKind.TRUE if value else VariantKind.FALSE)


def _primitives(typed: pa.Array) -> tuple[Encode, list[Any]]:
    """How to encode a typed column, and its values in physical form."""
    data_type = typed.type
    storage = storage_type(data_type)
    types = pa.types
    if types.is_boolean(storage):
        return _boolean, typed.to_pylist()
    if types.is_string(storage) or types.is_large_string(storage):
        return lambda text: encoding.sized(VariantKind.STRING, text.encode()), typed.to_pylist()
    if types.is_binary(storage) or types.is_large_binary(storage):
        return lambda content: encoding.sized(VariantKind.BINARY, content), typed.to_pylist()
    if types.is_fixed_size_binary(storage) and storage.byte_width == 16:
        return lambda content: encoding.primitive(VariantKind.UUID, content), typed.to_pylist()
    if types.is_decimal(storage):
        return _decimals(storage), typed.to_pylist()
    if types.is_date32(storage):
        return _packer(VariantKind.DATE, "<i"), typed.view(pa.int32()).to_pylist()
    if types.is_time64(storage) and storage.unit == "us":
        return _packer(VariantKind.TIME, "<q"), typed.view(pa.int64()).to_pylist()
    if types.is_timestamp(storage) and storage.unit in ("us", "ns"):
        kind = {
            ("us", True): VariantKind.TIMESTAMPTZ,
            ("us", False): VariantKind.TIMESTAMPNTZ,
            ("ns", True): VariantKind.TIMESTAMPTZ_NANOS,
            ("ns", False): VariantKind.TIMESTAMPNTZ_NANOS,
        }[storage.unit, storage.tz is not None]
        return _packer(kind, "<q"), typed.view(pa.int64()).to_pylist()
    numbers = {
        pa.int8(): (VariantKind.INT8, "<b"),
        pa.int16(): (VariantKind.INT16, "<h"),
        pa.int32(): (VariantKind.INT32, "<i"),
        pa.int64(): (VariantKind.INT64, "<q"),
        pa.float32(): (VariantKind.FLOAT, "<f"),
        pa.float64(): (VariantKind.DOUBLE, "<d"),
    }
    if storage not in numbers:
        raise DataFileCorrupt(f"a variant is shredded as {storage}, which variants have not")
    return _packer(*numbers[storage]), typed.to_pylist()


def _decimals(data_type: pa.DataType) -> Encode:
    precision, scale = data_type.precision, data_type.scale
    if precision > 38 or not 0 <= scale <= 38:
        raise DataFileCorrupt(f"a variant is shredded as {data_type}, which variants have not")
    kind = (
        VariantKind.DECIMAL4 if precision <= 9 else VariantKind.DECIMAL8 if precision <= 18 else VariantKind.DECIMAL16
    )

    def encode(value: Decimal) -> bytes:
        sign, digits, _ = value.as_tuple()
        unscaled = int("".join(map(str, digits)))
        return encoding.decimal(kind, -unscaled if sign else unscaled, scale)

    return encode
