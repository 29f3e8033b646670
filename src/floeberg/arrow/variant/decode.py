"""Variant values: decoded from their binary form to Python or JSON, and columns of them from files that shred them.

https://github.com/apache/parquet-format/blob/master/VariantEncoding.md. Malformed bytes raise DataFileCorrupt; a value
is never decoded into more nodes than it has bytes, nor deeper than MAX_VARIANT_DEPTH, so that none can exhaust us.
"""

from __future__ import annotations

import base64
import json
import struct
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from floeberg.arrow.columns.types import VARIANT_ARROW_TYPE
from floeberg.arrow.variant.binary import MAX_VARIANT_DEPTH, VariantKind, text_of, uint_at, variant_names
from floeberg.arrow.variant.unshred import unshred
from floeberg.errors import DataFileCorrupt, LimitExceeded
from floeberg.spec.values.human import shortest_float32
from floeberg.spec.values.physical import decimal_from_unscaled
from floeberg.spec.values.temporal import format_date, format_time, format_timestamp

_FIXED: Final[dict[int, struct.Struct]] = {
    VariantKind.INT8: struct.Struct("<b"),
    VariantKind.INT16: struct.Struct("<h"),
    VariantKind.INT32: struct.Struct("<i"),
    VariantKind.INT64: struct.Struct("<q"),
    VariantKind.DOUBLE: struct.Struct("<d"),
    VariantKind.FLOAT: struct.Struct("<f"),
    VariantKind.DATE: struct.Struct("<i"),
    VariantKind.TIMESTAMPTZ: struct.Struct("<q"),
    VariantKind.TIMESTAMPNTZ: struct.Struct("<q"),
    VariantKind.TIME: struct.Struct("<q"),
    VariantKind.TIMESTAMPTZ_NANOS: struct.Struct("<q"),
    VariantKind.TIMESTAMPNTZ_NANOS: struct.Struct("<q"),
}
_DECIMAL_BYTES: Final = {VariantKind.DECIMAL4: 4, VariantKind.DECIMAL8: 8, VariantKind.DECIMAL16: 16}


def assemble_variants(array: pa.StructArray, *, location: str, column: str) -> pa.Array:
    """A variant column as struct<metadata, value>, from a plain or shredded column of a file."""
    names = [array.type.field(i).name for i in range(array.type.num_fields)]
    if "metadata" not in names or not {"value", "typed_value"} & set(names):
        raise DataFileCorrupt(f"{location}: variant column {column!r} has no metadata and value", location=location)
    metadata = array.field(names.index("metadata")).cast(pa.binary())
    value = array.field(names.index("value")).cast(pa.binary()) if "value" in names else None
    mask = array.is_null() if array.null_count else None
    try:
        if "typed_value" in names:
            present = array.is_valid().to_pylist()
            rows = unshred(metadata.to_pylist(), value, array.field(names.index("typed_value")), present=present)
            # A variant that is neither stored nor shredded is the variant null, not a missing one.
            value = pa.array([b"\0" if row is None else row for row in rows], pa.binary())
        elif value is not None and value.null_count:
            value = value.fill_null(b"\0")
    except DataFileCorrupt as error:
        raise DataFileCorrupt(f"{location}: column {column!r}: {error}", location=location, column=column) from error
    fields = [VARIANT_ARROW_TYPE.field(0), VARIANT_ARROW_TYPE.field(1)]
    return pa.StructArray.from_arrays([metadata, value], fields=fields, mask=mask)


def variant_to_python(metadata: bytes, value: bytes) -> Any:
    """The value as Python objects: dict, list, str, bytes, bool, int, float, Decimal, UUID, date, time and datetime.

    Nanosecond timestamps, and dates beyond what Python's types hold, come as ISO-8601 text.
    """
    return _Decoder(metadata, value, _to_python).decode()


def variant_to_json(metadata: bytes, value: bytes) -> str:
    """The value as JSON text: dates, times and UUIDs as text, binary in base64, object keys in the value's order."""
    decoded = _Decoder(metadata, value, _to_json).decode()
    return "".join(_json_parts(decoded))


class _Number(float):
    """A number that JSON writes with these very digits."""

    def __new__(cls, text: str) -> _Number:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str

    def __repr__(self) -> str:
        return self.text


def _json_parts(value: Any) -> list[str]:
    match value:
        case _Number():
            return [value.text]
        case dict():
            inner = [
                json.dumps(key, ensure_ascii=False) + ":" + "".join(_json_parts(item)) for key, item in value.items()
            ]
            return ["{", ",".join(inner), "}"]
        case list():
            return ["[", ",".join("".join(_json_parts(item)) for item in value), "]"]
    return [json.dumps(value, ensure_ascii=False)]


class _Decoder:
    """One value, decoded with bounds checked; `leaf` makes what a primitive becomes."""

    def __init__(self, metadata: bytes, value: bytes, leaf: Callable[[int, Any], Any]) -> None:
        self._names = variant_names(metadata)
        self._data = value
        self._leaf = leaf
        self._budget = len(value)

    def decode(self) -> Any:
        return self._value(0, depth=0)

    def _value(self, at: int, *, depth: int) -> Any:
        if depth > MAX_VARIANT_DEPTH:
            raise LimitExceeded(f"a variant nests deeper than {MAX_VARIANT_DEPTH} levels")
        self._budget -= 1
        if self._budget < 0:
            raise DataFileCorrupt("a variant's parts overlap")
        header = self._bytes(at, 1)[0]
        kind, rest = header & 3, header >> 2
        if kind == 0:
            return self._primitive(rest, at + 1)
        if kind == 1:
            return self._leaf(VariantKind.STRING, text_of(self._bytes(at + 1, rest)))
        if kind == 2:
            return self._object(rest, at + 1, depth=depth)
        return self._array(rest, at + 1, depth=depth)

    def _primitive(self, kind: int, at: int) -> Any:
        if kind == VariantKind.NULL:
            return None
        if kind in (VariantKind.TRUE, VariantKind.FALSE):
            return kind == VariantKind.TRUE
        if layout := _FIXED.get(kind):
            return self._leaf(kind, layout.unpack(self._bytes(at, layout.size))[0])
        if kind in (VariantKind.BINARY, VariantKind.STRING):
            content = self._bytes(at + 4, uint_at(self._bytes(at, 4), 0, 4))
            return self._leaf(kind, content if kind == VariantKind.BINARY else text_of(content))
        if kind == VariantKind.UUID:
            return self._leaf(kind, uuid.UUID(bytes=self._bytes(at, 16)))
        if kind in _DECIMAL_BYTES:
            width = _DECIMAL_BYTES[VariantKind(kind)]
            scale = self._bytes(at, 1)[0]
            if scale > 38:
                raise DataFileCorrupt(f"a variant decimal has scale {scale}, beyond 38")
            unscaled = int.from_bytes(self._bytes(at + 1, width), "little", signed=True)
            return self._leaf(kind, decimal_from_unscaled(unscaled, scale))
        raise DataFileCorrupt(f"a variant has the unknown primitive type {kind}")

    def _object(self, header: int, at: int, *, depth: int) -> dict[str, Any]:
        count_width = 4 if header & 16 else 1
        id_width, offset_width = ((header >> 2) & 3) + 1, (header & 3) + 1
        size = uint_at(self._bytes(at, count_width), 0, count_width)
        ids_at = at + count_width
        offsets_at = ids_at + size * id_width
        values_at = offsets_at + (size + 1) * offset_width
        self._bytes(ids_at, values_at - ids_at)
        result: dict[str, Any] = {}
        for i in range(size):
            field_id = uint_at(self._data, ids_at + i * id_width, id_width)
            if field_id >= len(self._names):
                raise DataFileCorrupt(f"a variant object has field id {field_id}, which its metadata lacks")
            offset = uint_at(self._data, offsets_at + i * offset_width, offset_width)
            result[self._names[field_id]] = self._value(values_at + offset, depth=depth + 1)
        return result

    def _array(self, header: int, at: int, *, depth: int) -> list[Any]:
        count_width = 4 if header & 4 else 1
        offset_width = (header & 3) + 1
        size = uint_at(self._bytes(at, count_width), 0, count_width)
        offsets_at = at + count_width
        values_at = offsets_at + (size + 1) * offset_width
        self._bytes(offsets_at, values_at - offsets_at)
        return [
            self._value(values_at + uint_at(self._data, offsets_at + i * offset_width, offset_width), depth=depth + 1)
            for i in range(size)
        ]

    def _bytes(self, at: int, length: int) -> bytes:
        if at + length > len(self._data):
            raise DataFileCorrupt("a variant ends before its content does")
        return self._data[at : at + length]


def _to_python(kind: int, value: Any) -> Any:
    try:
        match kind:
            case VariantKind.DATE:
                return date(1970, 1, 1) + timedelta(days=value)
            case VariantKind.TIMESTAMPTZ:
                return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
            case VariantKind.TIMESTAMPNTZ:
                return datetime(1970, 1, 1) + timedelta(microseconds=value)
            case VariantKind.TIME:
                return (datetime(1970, 1, 1) + timedelta(microseconds=value)).time()
    except OverflowError:
        return _temporal_text(kind, value)
    return _temporal_text(kind, value) if kind in _NANOS else value


def _to_json(kind: int, value: Any) -> Any:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case uuid.UUID():
            return str(value)
        case Decimal():
            return _Number(format(value, "f"))
        case float():
            text = shortest_float32(value) if kind == VariantKind.FLOAT else repr(value)
            return _Number(text) if text.lstrip("-")[0].isdigit() else text
    return _temporal_text(kind, value) if kind in _TEMPORAL else value


_NANOS: Final = (VariantKind.TIMESTAMPTZ_NANOS, VariantKind.TIMESTAMPNTZ_NANOS)
_TEMPORAL: Final = (
    VariantKind.DATE, VariantKind.TIME, VariantKind.TIMESTAMPTZ, VariantKind.TIMESTAMPNTZ, *_NANOS,
)  # fmt: skip


def _temporal_text(kind: int, value: int) -> str:
    if kind == VariantKind.DATE:
        return format_date(value)
    if kind == VariantKind.TIME:
        return format_time(value)
    zoned = kind in (VariantKind.TIMESTAMPTZ, VariantKind.TIMESTAMPTZ_NANOS)
    return format_timestamp(value, unit="ns" if kind in _NANOS else "us", zoned=zoned)
