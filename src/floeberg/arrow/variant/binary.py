"""The binary form of variants: metadata with its names, and values out of encoded parts.
https://github.com/apache/parquet-format/blob/master/VariantEncoding.md"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from typing import Final

from floeberg.errors import DataFileCorrupt


class VariantKind(IntEnum):
    """The primitive types of a variant."""

    NULL = 0
    TRUE = 1
    FALSE = 2
    INT8 = 3
    INT16 = 4
    INT32 = 5
    INT64 = 6
    DOUBLE = 7
    DECIMAL4 = 8
    DECIMAL8 = 9
    DECIMAL16 = 10
    DATE = 11
    TIMESTAMPTZ = 12
    TIMESTAMPNTZ = 13
    FLOAT = 14
    BINARY = 15
    STRING = 16
    TIME = 17
    TIMESTAMPTZ_NANOS = 18
    TIMESTAMPNTZ_NANOS = 19
    UUID = 20


MAX_VARIANT_DEPTH: Final = 200
OBJECT_TYPE = 2
ARRAY_TYPE = 3
_SHORT_STRING_LIMIT = 64
_SORTED = 1 << 4


def primitive(kind: VariantKind, payload: bytes = b"") -> bytes:
    """A primitive of the given type."""
    return bytes([kind << 2]) + payload


def sized(kind: VariantKind, content: bytes) -> bytes:
    """A binary or string value; strings below 64 bytes have a short form."""
    if kind is VariantKind.STRING and len(content) < _SHORT_STRING_LIMIT:
        return bytes([len(content) << 2 | 1]) + content
    return primitive(kind, struct.pack("<I", len(content)) + content)


def decimal(kind: VariantKind, unscaled: int, scale: int) -> bytes:
    """A decimal of 4, 8 or 16 bytes."""
    width = {VariantKind.DECIMAL4: 4, VariantKind.DECIMAL8: 8}.get(kind, 16)
    return primitive(kind, bytes([scale]) + unscaled.to_bytes(width, "little", signed=True))


def array(elements: Sequence[bytes]) -> bytes:
    """An array of encoded values."""
    body = b"".join(elements)
    width = _width(len(body))
    large = len(elements) > 0xFF
    header = bytes([(large << 2 | (width - 1)) << 2 | ARRAY_TYPE])
    return header + _count(len(elements), large) + _offsets(elements, width) + body


def variant_object(fields: Mapping[str, bytes], ids: Mapping[str, int]) -> bytes:
    """An object of encoded values; `ids` are the field ids that the metadata gives to the names."""
    names = sorted(fields, key=lambda name: name.encode())
    values = [fields[name] for name in names]
    body = b"".join(values)
    offset_width = _width(len(body))
    id_width = _width(max((ids[name] for name in names), default=0))
    large = len(names) > 0xFF
    header = bytes([(large << 4 | (id_width - 1) << 2 | (offset_width - 1)) << 2 | OBJECT_TYPE])
    listed = b"".join(ids[name].to_bytes(id_width, "little") for name in names)
    return header + _count(len(names), large) + listed + _offsets(values, offset_width) + body


def variant_metadata(names: Sequence[str]) -> bytes:
    """Metadata whose field ids are the positions of these names, which are sorted by their bytes and unique."""
    encoded = [name.encode() for name in names]
    width = _width(max(sum(map(len, encoded)), len(encoded)))
    header = bytes([1 | _SORTED | (width - 1) << 6])
    return header + len(encoded).to_bytes(width, "little") + _offsets(encoded, width) + b"".join(encoded)


def _width(largest: int) -> int:
    return max(1, (largest.bit_length() + 7) // 8)


def _count(size: int, large: bool) -> bytes:
    return size.to_bytes(4 if large else 1, "little")


def _offsets(values: Sequence[bytes], width: int) -> bytes:
    at, out = 0, [bytes(width)]
    for value in values:
        at += len(value)
        out.append(at.to_bytes(width, "little"))
    return b"".join(out)


@lru_cache(maxsize=256)
def variant_names(metadata: bytes) -> tuple[str, ...]:
    """The field names that a variant's metadata holds, by field id."""
    if not metadata or metadata[0] & 0x0F != 1:
        raise DataFileCorrupt("variant metadata is not of version 1")
    width = (metadata[0] >> 6) + 1
    size = uint_at(metadata, 1, width)
    start = 1 + width * (size + 2)
    if start > len(metadata):
        raise DataFileCorrupt("variant metadata ends before its dictionary does")
    offsets = [uint_at(metadata, 1 + width * (1 + i), width) for i in range(size + 1)]
    names = []
    for begin, end in pairwise(offsets):
        if not begin <= end <= len(metadata) - start:
            raise DataFileCorrupt("variant metadata has a name outside its bytes")
        names.append(text_of(metadata[start + begin : start + end]))
    return tuple(names)


def uint_at(data: bytes, at: int, width: int) -> int:
    """A little-endian number. Raises DataFileCorrupt past the end."""
    if at + width > len(data):
        raise DataFileCorrupt("a variant ends before its content does")
    return int.from_bytes(data[at : at + width], "little")


def text_of(data: bytes) -> str:
    """UTF-8 text. Raises DataFileCorrupt."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DataFileCorrupt("a variant string is not UTF-8") from error
