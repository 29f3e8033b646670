"""Parquet footers that pyarrow refuses, mended on the way to it.

Old Hive writers annotate the group of a map's pairs with a logical type that only columns may have (UNKNOWN, where they mean
the older MAP_KEY_VALUE, which is there beside it). Without that annotation the same footer says the same.
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

import io
from typing import Any, Final

from floeberg.errors import DataFileCorrupt

_MAGIC: Final = b"PAR1"
_TAIL_BYTES: Final = 8
_MAX_DEPTH: Final = 32
_SCHEMA: Final = 2
_ELEMENT_CHILDREN: Final = 5
_ELEMENT_LOGICAL_TYPE: Final = 10
_OF_GROUPS: Final = frozenset({2, 3, 16})
"""The logical types that groups have: MAP, LIST, VARIANT."""
_STRUCT: Final = 12
_FIXED_BYTES: Final = {3: 1, 7: 8}
_VARINTS: Final = frozenset({4, 5, 6})


def is_group_annotation(error: BaseException) -> bool:
    """Whether pyarrow refused a file for the logical type of a group."""
    return "cannot be applied to group node" in str(error)


def mended_footer(footer: bytes) -> bytes:
    """A footer (FileMetaData in Thrift's compact form) without the logical types of groups that only columns may have.

    Raises DataFileCorrupt for what is no footer."""
    try:
        spans = _Walk(footer).wrong_annotations()
    except (IndexError, RecursionError) as error:
        raise DataFileCorrupt("the Parquet footer is damaged") from error
    kept = bytearray()
    at = 0
    for start, end in spans:
        kept += footer[at:start]
        at = end
    return bytes(kept + footer[at:])


class MendedFile(io.RawIOBase):
    """A Parquet file with a mended footer, for pyarrow: data pages are where they were."""

    def __init__(self, source: Any) -> None:
        size = source.size()
        tail = bytes(source.read_at(_TAIL_BYTES, size - _TAIL_BYTES)) if size > 2 * _TAIL_BYTES else b""
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != _MAGIC or length > size - 2 * _TAIL_BYTES:
            raise DataFileCorrupt("the Parquet footer is damaged")
        self._source = source
        self._footer_at = size - _TAIL_BYTES - length
        footer = mended_footer(bytes(source.read_at(length, self._footer_at)))
        self._tail = footer + len(footer).to_bytes(4, "little") + _MAGIC
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._footer_at + len(self._tail)}[whence]
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._footer_at + len(self._tail)
        stop = end if size < 0 else min(end, self._at + size)
        found = b""
        if self._at < min(stop, self._footer_at):
            found = bytes(self._source.read_at(min(stop, self._footer_at) - self._at, self._at))
        if stop > self._footer_at:
            found += self._tail[max(0, self._at - self._footer_at) : stop - self._footer_at]
        self._at += len(found)
        return found


class _Walk:
    """Steps over a struct in Thrift's compact form."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def wrong_annotations(self) -> list[tuple[int, int]]:
        """Where the annotations lie that are to go, in order."""
        spans: list[tuple[int, int]] = []
        field_id = 0
        while header := self._header(field_id):
            field_id, kind = header
            if field_id != _SCHEMA:
                self._skip(kind, 0)
                continue
            count, item = self._list_header()
            for _ in range(count):
                if item != _STRUCT:
                    raise IndexError
                if (span := self._annotation()) is not None:
                    spans.append(span)
        return spans

    def _annotation(self) -> tuple[int, int] | None:
        """Steps over a schema element. Where its logical type lies, if it is a group that may not have it."""
        span: tuple[int, int] | None = None
        is_group = wrong = False
        field_id = 0
        while True:
            start = self._at
            header = self._header(field_id)
            if header is None:
                # A field behind it would be numbered from it, so that it could not go.
                return span if is_group and wrong and span is not None and span[1] == start else None
            field_id, kind = header
            if field_id == _ELEMENT_LOGICAL_TYPE and kind == _STRUCT:
                inner = self._at
                first = self._header(0)
                wrong = first is not None and first[0] not in _OF_GROUPS
                self._at = inner
            self._skip(kind, 0)
            is_group |= field_id == _ELEMENT_CHILDREN
            if field_id == _ELEMENT_LOGICAL_TYPE:
                span = (start, self._at)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise IndexError

    def _header(self, before: int) -> tuple[int, int] | None:
        """A field's number and type; None at the end of the struct."""
        byte = self._byte()
        if byte == 0:
            return None
        if delta := byte >> 4:
            return before + delta, byte & 0x0F
        number = self._varint()
        return (number >> 1) ^ -(number & 1), byte & 0x0F

    def _list_header(self) -> tuple[int, int]:
        byte = self._byte()
        count = byte >> 4
        return (self._varint() if count == 15 else count), byte & 0x0F

    def _skip(self, kind: int, depth: int, *, in_list: bool = False) -> None:
        if depth > _MAX_DEPTH:
            raise RecursionError
        if kind in (1, 2):
            self._at += in_list
        elif kind in _FIXED_BYTES:
            self._at += _FIXED_BYTES[kind]
        elif kind in _VARINTS:
            self._varint()
        elif kind == 8:
            length = self._varint()
            self._at += length
        elif kind in (9, 10):
            count, item = self._list_header()
            for _ in range(count):
                self._skip(item, depth + 1, in_list=True)
        elif kind == 11:
            self._skip_map(depth)
        elif kind == _STRUCT:
            field_id = 0
            while header := self._header(field_id):
                field_id, inner = header
                self._skip(inner, depth + 1)
        else:
            raise IndexError
        if self._at > len(self._data):
            raise IndexError

    def _skip_map(self, depth: int) -> None:
        count = self._varint()
        if not count:
            return
        kinds = self._byte()
        for _ in range(count):
            self._skip(kinds >> 4, depth + 1, in_list=True)
            self._skip(kinds & 0x0F, depth + 1, in_list=True)
