"""Marks variant columns in the footer of a Parquet file: pyarrow writes their groups and has no way to annotate them.

The footer is Thrift's compact protocol. Only its list of schema elements is looked at; every other byte stays.
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

MAGIC: Final = b"PAR1"
_TRAILER_BYTES: Final = 8

_SCHEMA_FIELD: Final = 2
_NUM_CHILDREN_FIELD: Final = 5
_FIELD_ID_FIELD: Final = 9

_I8, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 3, 7, 8, 9, 10, 11, 12
_VARINTS: Final = (4, 5, 6)
_VARIANT_ANNOTATION: Final = bytes([0x1C, 0x0C, 0x20, 0x13, 0x01, 0x00, 0x00])
"""Field 10 (logicalType) after field 9: a union whose field 16 (VARIANT) is a struct with specification_version 1."""


def annotate_variants(tail: bytes, variant_ids: Collection[int]) -> bytes:
    """The end of a Parquet file, in whose footer the groups with these field ids are annotated as VARIANT."""
    length = int.from_bytes(tail[-_TRAILER_BYTES:-4], "little")
    start = len(tail) - _TRAILER_BYTES - length
    assert tail[-4:] == MAGIC, "pyarrow ended a Parquet file without a footer"
    footer = tail[start : start + length]
    pieces, at = [], 0
    for end in _variant_elements(footer, frozenset(variant_ids)):
        pieces += [footer[at:end], _VARIANT_ANNOTATION]
        at = end
    annotated = b"".join([*pieces, footer[at:]])
    return tail[:start] + annotated + len(annotated).to_bytes(4, "little") + MAGIC


def _variant_elements(footer: bytes, variant_ids: frozenset[int]) -> list[int]:
    """Where the schema elements of the variants end: the places of their stop bytes."""
    reader = _Compact(footer)
    for number, kind in reader.fields():
        if number != _SCHEMA_FIELD:
            reader.skip(kind)
            continue
        size, _ = reader.list_header()
        ends = []
        for _ in range(size):
            numbers: dict[int, int] = {}
            for inner, inner_kind in reader.fields():
                if inner in (_NUM_CHILDREN_FIELD, _FIELD_ID_FIELD):
                    numbers[inner] = reader.zigzag()
                else:
                    reader.skip(inner_kind)
            if _NUM_CHILDREN_FIELD in numbers and numbers.get(_FIELD_ID_FIELD) in variant_ids:
                ends.append(reader.at - 1)
        assert len(ends) == len(variant_ids), "a variant column is not in the footer"
        return ends
    raise AssertionError("a Parquet footer without a schema")


class _Compact:
    """Walks a struct of Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def fields(self) -> Any:
        """The number and type of each field of a struct; the caller reads or skips its value."""
        number = 0
        while (header := self._byte()) != 0:
            delta = header >> 4
            number = number + delta if delta else self.zigzag()
            yield number, header & 0x0F

    def list_header(self) -> tuple[int, int]:
        header = self._byte()
        size = header >> 4
        return (self._varint() if size == 0x0F else size), header & 0x0F

    def zigzag(self) -> int:
        raw = self._varint()
        return (raw >> 1) ^ -(raw & 1)

    def skip(self, kind: int) -> None:
        if kind in _VARINTS:
            self._varint()
        elif kind == _I8:
            self.at += 1
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            size = self._varint()
            self.at += size
        elif kind in (_LIST, _SET):
            size, element = self.list_header()
            for _ in range(size):
                self._skip_element(element)
        elif kind == _MAP:
            self._skip_map()
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner)

    def _skip_element(self, kind: int) -> None:
        """An element of a list or map: a boolean there takes a byte, while a field's is in its header."""
        if kind in (1, 2):
            self.at += 1
        else:
            self.skip(kind)

    def _skip_map(self) -> None:
        size = self._varint()
        if size:
            kinds = self._byte()
            for _ in range(size):
                self._skip_element(kinds >> 4)
                self._skip_element(kinds & 0x0F)

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        result, shift = 0, 0
        while True:
            byte = self._byte()
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7


class TailStream:
    """A stream for pyarrow that writes through to another until `hold`, and then keeps what comes for `tail`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._written = int(stream.tell())
        self._held: list[bytes] | None = None
        self.closed = False

    def hold(self) -> None:
        self._held = []

    def tail(self) -> bytes:
        return b"".join(self._held or ())

    def write(self, data: Any) -> int:
        content = bytes(data)
        self._written += len(content)
        if self._held is None:
            self._stream.write(content)
        else:
            self._held.append(content)
        return len(content)

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        self._stream.flush()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True
