"""One level of an encoded variant taken apart: what it is, an object's fields, an array's elements, a primitive's payload.
https://github.com/apache/parquet-format/blob/master/VariantEncoding.md"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Final

from floeberg.arrow.variant.binary import ARRAY_TYPE, OBJECT_TYPE, VariantKind, uint_at
from floeberg.errors import DataFileCorrupt

_SHORT_STRING: Final = 1
_ENDS_EARLY: Final = "a variant ends before its content does"


class NestedKind(IntEnum):
    """What a variant can be beside a primitive."""

    OBJECT = -1
    ARRAY = -2


def kind_of(value: bytes) -> VariantKind | NestedKind:
    """What a value is; a short string is a string. Raises DataFileCorrupt."""
    if not value:
        raise DataFileCorrupt(_ENDS_EARLY)
    basic, rest = value[0] & 3, value[0] >> 2
    if basic == OBJECT_TYPE:
        return NestedKind.OBJECT
    if basic == ARRAY_TYPE:
        return NestedKind.ARRAY
    if basic == _SHORT_STRING:
        return VariantKind.STRING
    if rest > max(VariantKind):
        raise DataFileCorrupt(f"a variant has the unknown primitive type {rest}")
    return VariantKind(rest)


def content_of(value: bytes) -> bytes:
    """The bytes of a string or binary value. Raises DataFileCorrupt."""
    if value[0] & 3 == _SHORT_STRING:
        length, start = value[0] >> 2, 1
    else:
        length, start = uint_at(value, 1, 4), 5
    if start + length > len(value):
        raise DataFileCorrupt(_ENDS_EARLY)
    return value[start : start + length]


def payload_of(value: bytes, size_bytes: int) -> bytes:
    """The bytes of a primitive of fixed size. Raises DataFileCorrupt."""
    if 1 + size_bytes > len(value):
        raise DataFileCorrupt(_ENDS_EARLY)
    return value[1 : 1 + size_bytes]


def object_fields(value: bytes, names: Sequence[str]) -> dict[str, bytes]:
    """The fields of an object, still encoded; `names` are those of the metadata, by field id. Raises DataFileCorrupt."""
    header = value[0] >> 2
    count_width = 4 if header & 16 else 1
    id_width, offset_width = ((header >> 2) & 3) + 1, (header & 3) + 1
    size = uint_at(value, 1, count_width)
    ids_at = 1 + count_width
    offsets_at = ids_at + size * id_width
    values_at = offsets_at + (size + 1) * offset_width
    if values_at > len(value):
        raise DataFileCorrupt(_ENDS_EARLY)
    starts = [uint_at(value, offsets_at + i * offset_width, offset_width) for i in range(size)]
    end = uint_at(value, offsets_at + size * offset_width, offset_width)
    if end > len(value) - values_at or any(start > end for start in starts):
        raise DataFileCorrupt("a variant object has a field outside its bytes")
    # Values need not lie in the order of the names: each ends where the next one begins.
    following = dict(pairwise([*sorted(starts), end]))
    fields: dict[str, bytes] = {}
    for i, start in enumerate(starts):
        field_id = uint_at(value, ids_at + i * id_width, id_width)
        if field_id >= len(names):
            raise DataFileCorrupt(f"a variant object has field id {field_id}, which its metadata lacks")
        fields[names[field_id]] = value[values_at + start : values_at + following[start]]
    return fields


def array_elements(value: bytes) -> list[bytes]:
    """The elements of an array, still encoded. Raises DataFileCorrupt."""
    header = value[0] >> 2
    count_width = 4 if header & 4 else 1
    offset_width = (header & 3) + 1
    size = uint_at(value, 1, count_width)
    offsets_at = 1 + count_width
    values_at = offsets_at + (size + 1) * offset_width
    if values_at > len(value):
        raise DataFileCorrupt(_ENDS_EARLY)
    offsets = [uint_at(value, offsets_at + i * offset_width, offset_width) for i in range(size + 1)]
    if any(not begin <= end <= len(value) - values_at for begin, end in pairwise(offsets)):
        raise DataFileCorrupt("a variant array has an element outside its bytes")
    return [value[values_at + begin : values_at + end] for begin, end in pairwise(offsets)]
