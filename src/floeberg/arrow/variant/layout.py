"""How a file shreds a variant column: the typed columns that its first rows suggest, by the rules of the Java library.

A field is shredded when a tenth of the rows have it and all of its values are of one type; integers of several widths count
as one, and so do decimals. https://github.com/apache/parquet-format/blob/master/VariantShredding.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import pyarrow as pa

from floeberg.arrow.variant.binary import VariantKind, variant_names
from floeberg.arrow.variant.parts import NestedKind, array_elements, kind_of, object_fields, payload_of

MIN_FIELD_FREQUENCY: Final = 0.10
MAX_SHREDDED_FIELDS: Final = 300
MAX_SHREDDING_DEPTH: Final = 50
MAX_TRACKED_FIELDS: Final = 1000

_INTEGERS: Final = (VariantKind.INT8, VariantKind.INT16, VariantKind.INT32, VariantKind.INT64)
DECIMAL_WIDTHS: Final = {VariantKind.DECIMAL4: 4, VariantKind.DECIMAL8: 8, VariantKind.DECIMAL16: 16}
_DECIMALS: Final = tuple(DECIMAL_WIDTHS)
_DECIMAL_DIGITS: Final = {
    VariantKind.DECIMAL4: (1, 9),
    VariantKind.DECIMAL8: (10, 18),
    VariantKind.DECIMAL16: (19, 38),
}
_TYPES: Final[dict[VariantKind, pa.DataType]] = {
    VariantKind.TRUE: pa.bool_(),
    VariantKind.INT8: pa.int8(),
    VariantKind.INT16: pa.int16(),
    VariantKind.INT32: pa.int32(),
    VariantKind.INT64: pa.int64(),
    VariantKind.FLOAT: pa.float32(),
    VariantKind.DOUBLE: pa.float64(),
    VariantKind.STRING: pa.string(),
    VariantKind.BINARY: pa.binary(),
    VariantKind.UUID: pa.uuid(),
    VariantKind.DATE: pa.date32(),
    VariantKind.TIME: pa.time64("us"),
    VariantKind.TIMESTAMPTZ: pa.timestamp("us", tz="UTC"),
    VariantKind.TIMESTAMPNTZ: pa.timestamp("us"),
    VariantKind.TIMESTAMPTZ_NANOS: pa.timestamp("ns", tz="UTC"),
    VariantKind.TIMESTAMPNTZ_NANOS: pa.timestamp("ns"),
}


@dataclass(frozen=True, slots=True)
class PrimitiveLayout:
    """Values of one kind in a column of their own; TRUE stands for both booleans."""

    kind: VariantKind
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class ObjectLayout:
    """Objects, some of whose fields have columns."""

    fields: tuple[tuple[str, Layout], ...]


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """Arrays whose elements have columns."""

    element: Layout


Layout: TypeAlias = PrimitiveLayout | ObjectLayout | ArrayLayout


def infer_layout(rows: Iterable[tuple[bytes, bytes]]) -> Layout | None:
    """The layout for variants like these pairs of metadata and value; None when nothing is worth a column.

    Raises DataFileCorrupt for bytes that are no variants.
    """
    root = _Node()
    for metadata, value in rows:
        root.observe(value, variant_names(metadata), depth=0)
    return root.layout(root.total)


@dataclass(slots=True)
class _Node:
    """What was seen at one path."""

    kinds: Counter[VariantKind | NestedKind] = field(default_factory=Counter)
    fields: dict[str, _Node] = field(default_factory=dict)
    element: _Node | None = None
    integer_digits: int = 0
    scale: int = 0

    @property
    def total(self) -> int:
        return self.kinds.total()

    def observe(self, value: bytes, names: tuple[str, ...], *, depth: int) -> None:
        kind = kind_of(value)
        if kind is VariantKind.NULL:
            return
        self.kinds[VariantKind.TRUE if kind is VariantKind.FALSE else kind] += 1
        if kind in _DECIMALS:
            self._measure(value, DECIMAL_WIDTHS[VariantKind(kind)])
        elif kind is NestedKind.OBJECT and depth < MAX_SHREDDING_DEPTH:
            for name, inner in object_fields(value, names).items():
                if name not in self.fields and len(self.fields) >= MAX_TRACKED_FIELDS:
                    continue
                self.fields.setdefault(name, _Node()).observe(inner, names, depth=depth + 1)
        elif kind is NestedKind.ARRAY and depth < MAX_SHREDDING_DEPTH:
            self.element = self.element or _Node()
            for inner in array_elements(value):
                self.element.observe(inner, names, depth=depth + 1)

    def _measure(self, value: bytes, width: int) -> None:
        payload = payload_of(value, 1 + width)
        scale, unscaled = payload[0], int.from_bytes(payload[1:], "little", signed=True)
        self.scale = max(self.scale, scale)
        self.integer_digits = max(self.integer_digits, len(str(abs(unscaled))) - scale)

    def layout(self, rows: int) -> Layout | None:
        kind = self._one_kind()
        if kind is NestedKind.OBJECT:
            found = [(name, inner) for name, node in self._kept(rows) if (inner := node.layout(rows)) is not None]
            return ObjectLayout(tuple(found)) if found else None
        if kind is NestedKind.ARRAY:
            element = None if self.element is None else self.element.layout(rows)
            return None if element is None else ArrayLayout(element)
        if not isinstance(kind, VariantKind):
            return None
        return PrimitiveLayout(kind, self._decimal(kind) if kind in _DECIMALS else _TYPES[kind])

    def _one_kind(self) -> VariantKind | NestedKind | None:
        """The type of all values; the widest one of integers or of decimals."""
        for family in (_INTEGERS, _DECIMALS):
            if self.kinds and all(kind in family for kind in self.kinds):
                return max(VariantKind(kind) for kind in self.kinds)
        return next(iter(self.kinds)) if len(self.kinds) == 1 else None

    def _kept(self, rows: int) -> list[tuple[str, _Node]]:
        """The fields worth a column, by name. Engines that ignore case could not tell `a` from `A`."""
        folded = Counter(name.casefold() for name in self.fields)
        frequent = [
            (name, node)
            for name, node in self.fields.items()
            if name and folded[name.casefold()] == 1 and node.total and node.total / rows >= MIN_FIELD_FREQUENCY
        ]
        frequent.sort(key=lambda item: (-item[1].total, item[0]))
        return sorted(frequent[:MAX_SHREDDED_FIELDS], key=lambda item: item[0])

    def _decimal(self, kind: VariantKind) -> pa.DataType:
        """A type of the width of the kind, so that a value comes back as the kind that it was."""
        least, most = _DECIMAL_DIGITS[kind]
        scale = min(self.scale, most)
        return pa.decimal128(min(max(self.integer_digits + scale, scale, least), most), scale)
