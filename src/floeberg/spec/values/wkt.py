"""Well-known text and ISO well-known binary of geometries: https://iceberg.apache.org/spec/#appendix-g-geospatial-notes

Coordinates XY, XYZ, XYM and XYZM; collections nest at most MAX_DEPTH deep.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import Final

from floeberg.errors import InvalidInput

MAX_DEPTH: Final = 32

_KINDS: Final = (
    "POINT",
    "LINESTRING",
    "POLYGON",
    "MULTIPOINT",
    "MULTILINESTRING",
    "MULTIPOLYGON",
    "GEOMETRYCOLLECTION",
)
_CODES: Final = {kind: code for code, kind in enumerate(_KINDS, start=1)}
_PARTS: Final = {"MULTIPOINT": "POINT", "MULTILINESTRING": "LINESTRING", "MULTIPOLYGON": "POLYGON"}
_DIMENSIONS: Final = ("", " Z", " M", " ZM")
_WIDTHS: Final = (2, 3, 3, 4)
_TOKEN: Final = re.compile(r"\s*([A-Za-z]+|[(),]|[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)")
_END: Final = re.compile(r"\s*\Z")

Coordinates = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Geometry:
    """`rings` holds coordinate sequences (one for a point or line), `parts` the members of a multi or collection."""

    kind: str
    dimension: int
    rings: tuple[tuple[Coordinates, ...], ...] = ()
    parts: tuple[_Geometry, ...] = ()


def wkt_from_wkb(data: bytes) -> str:
    """The text of a geometry in WKB. Raises InvalidInput."""
    reader = _WkbReader(data)
    geometry = reader.geometry(0)
    if reader.position != len(data):
        raise InvalidInput(f"{len(data) - reader.position} bytes follow the geometry in WKB")
    return _write_text(geometry)


def wkb_from_wkt(text: str) -> bytes:
    """The little-endian ISO WKB of a geometry in text. Raises InvalidInput."""
    reader = _WktReader(text)
    geometry = reader.geometry(0)
    if reader.peek() is not None:
        raise InvalidInput(f"{reader.peek()!r} follows the geometry in WKT")
    return _write_binary(geometry)


@dataclass(slots=True)
class _WkbReader:
    data: bytes
    position: int = 0

    def geometry(self, depth: int) -> _Geometry:
        if depth > MAX_DEPTH:
            raise InvalidInput(f"a geometry nests deeper than {MAX_DEPTH}")
        order = self._take(1)
        if order not in (b"\x00", b"\x01"):
            raise InvalidInput("WKB starts with a byte order of 0 or 1")
        endian = "<" if order == b"\x01" else ">"
        code = self._count(endian)
        dimension, base = divmod(code, 1000)
        if not 1 <= base <= len(_KINDS) or dimension >= len(_DIMENSIONS):
            raise InvalidInput(f"WKB type {code} is not one of ISO's seven geometries with Z and M")
        kind = _KINDS[base - 1]
        if kind == "POINT":
            point = self._point(endian, _WIDTHS[dimension])
            empty = all(value != value for value in point)
            return _Geometry(kind, dimension, rings=((),) if empty else ((point,),))
        if kind == "LINESTRING":
            return _Geometry(kind, dimension, rings=(self._line(endian, _WIDTHS[dimension]),))
        if kind == "POLYGON":
            rings = tuple(self._line(endian, _WIDTHS[dimension]) for _ in range(self._bounded(endian, 4)))
            return _Geometry(kind, dimension, rings=rings)
        parts = tuple(self.geometry(depth + 1) for _ in range(self._bounded(endian, 5)))
        wanted = _PARTS.get(kind)
        if any(part.dimension != dimension or wanted not in (None, part.kind) for part in parts):
            raise InvalidInput(f"a {kind} holds parts of another kind or dimension")
        return _Geometry(kind, dimension, parts=parts)

    def _take(self, size: int) -> bytes:
        taken = self.data[self.position : self.position + size]
        if len(taken) != size:
            raise InvalidInput("WKB ends too early")
        self.position += size
        return taken

    def _count(self, endian: str) -> int:
        return int(struct.unpack(f"{endian}I", self._take(4))[0])

    def _bounded(self, endian: str, least_size: int) -> int:
        """A count of members that the bytes left can hold."""
        count = self._count(endian)
        if count * least_size > len(self.data) - self.position:
            raise InvalidInput(f"WKB announces {count} members and is too short for them")
        return count

    def _point(self, endian: str, width: int) -> Coordinates:
        return struct.unpack(f"{endian}{width}d", self._take(8 * width))

    def _line(self, endian: str, width: int) -> tuple[Coordinates, ...]:
        return tuple(self._point(endian, width) for _ in range(self._bounded(endian, 8 * width)))


@dataclass(slots=True)
class _WktReader:
    text: str
    position: int = 0
    _next: str | None = field(default=None, init=False)

    def peek(self) -> str | None:
        if self._next is None and not _END.match(self.text, self.position):
            match = _TOKEN.match(self.text, self.position)
            if match is None:
                raise InvalidInput(f"WKT is not readable at {self.text[self.position : self.position + 20]!r}")
            self.position = match.end()
            self._next = match[1]
        return self._next

    def take(self, *wanted: str) -> str:
        token = self.peek()
        if token is None or (wanted and token.upper() not in wanted):
            raise InvalidInput(f"WKT has {token!r} where {' or '.join(wanted) or 'more'} was expected")
        self._next = None
        return token

    def geometry(self, depth: int) -> _Geometry:
        if depth > MAX_DEPTH:
            raise InvalidInput(f"a geometry nests deeper than {MAX_DEPTH}")
        kind = self.take(*_KINDS).upper()
        dimension = 0
        if (self.peek() or "").upper() in ("Z", "M", "ZM"):
            dimension = _DIMENSIONS.index(f" {self.take().upper()}")
        return self._body(kind, dimension, depth)

    def _body(self, kind: str, dimension: int, depth: int) -> _Geometry:
        if (self.peek() or "").upper() == "EMPTY":
            self.take()
            return _Geometry(kind, dimension, rings=() if kind == "POLYGON" or kind in _PARTS else ((),))
        if kind in ("POINT", "LINESTRING"):
            line = self._line(dimension)
            if kind == "POINT" and len(line) != 1:
                raise InvalidInput("a POINT has one coordinate")
            return _Geometry(kind, dimension, rings=(line,))
        rings: list[tuple[Coordinates, ...]] = []
        parts: list[_Geometry] = []
        self.take("(")
        while True:
            if kind == "POLYGON":
                rings.append(self._line(dimension))
            elif kind == "GEOMETRYCOLLECTION":
                parts.append(self.geometry(depth + 1))
            elif kind == "MULTIPOINT" and self.peek() not in ("(", "EMPTY"):
                parts.append(_Geometry("POINT", dimension, rings=((self._coordinates(dimension),),)))
            else:
                parts.append(self._body(_PARTS[kind], dimension, depth + 1))
            if self.take(",", ")") == ")":
                return _Geometry(kind, dimension, rings=tuple(rings), parts=tuple(parts))

    def _line(self, dimension: int) -> tuple[Coordinates, ...]:
        self.take("(")
        line = [self._coordinates(dimension)]
        while self.take(",", ")") == ",":
            line.append(self._coordinates(dimension))
        return tuple(line)

    def _coordinates(self, dimension: int) -> Coordinates:
        try:
            return tuple(float(self.take()) for _ in range(_WIDTHS[dimension]))
        except ValueError as error:
            raise InvalidInput(f"WKT has no number where a coordinate was expected: {error}") from None


def _write_text(geometry: _Geometry) -> str:
    return f"{geometry.kind}{_DIMENSIONS[geometry.dimension]} {_body_text(geometry)}"


def _body_text(geometry: _Geometry) -> str:
    if geometry.kind == "GEOMETRYCOLLECTION":
        members = [_write_text(part) for part in geometry.parts]
    elif geometry.parts:
        members = [_body_text(part) for part in geometry.parts]
    elif geometry.kind in ("POINT", "LINESTRING"):
        members = [_coordinates_text(point) for line in geometry.rings for point in line]
    else:
        members = [f"({', '.join(map(_coordinates_text, ring))})" for ring in geometry.rings]
    return f"({', '.join(members)})" if members else "EMPTY"


def _coordinates_text(point: Coordinates) -> str:
    return " ".join(repr(value).removesuffix(".0") for value in point)


def _write_binary(geometry: _Geometry) -> bytes:
    width = _WIDTHS[geometry.dimension]
    head = b"\x01" + struct.pack("<I", _CODES[geometry.kind] + 1000 * geometry.dimension)
    if geometry.kind == "POINT":
        points = geometry.rings[0] or ((float("nan"),) * width,)
        return head + struct.pack(f"<{width}d", *points[0])
    lines = [
        struct.pack("<I", len(line)) + b"".join(struct.pack(f"<{width}d", *p) for p in line) for line in geometry.rings
    ]
    if geometry.kind == "LINESTRING":
        return head + lines[0]
    members = lines if geometry.kind == "POLYGON" else [_write_binary(part) for part in geometry.parts]
    return head + struct.pack("<I", len(members)) + b"".join(members)
