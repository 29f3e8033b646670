"""Bounds of the shredded fields of a variant column: https://iceberg.apache.org/spec/#bounds-for-variant"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from floeberg.arrow.columns.metrics import round_bytes_up, round_text_up
from floeberg.arrow.columns.metrics_config import MetricsMode, ModeKind
from floeberg.arrow.variant import binary as encoding
from floeberg.arrow.variant.binary import VariantKind
from floeberg.arrow.variant.layout import DECIMAL_WIDTHS, PrimitiveLayout

_LAYOUTS: Final = {
    VariantKind.INT8: "<b", VariantKind.INT16: "<h", VariantKind.INT32: "<i", VariantKind.INT64: "<q",
    VariantKind.FLOAT: "<f", VariantKind.DOUBLE: "<d", VariantKind.DATE: "<i", VariantKind.TIME: "<q",
    VariantKind.TIMESTAMPTZ: "<q", VariantKind.TIMESTAMPNTZ: "<q", VariantKind.TIMESTAMPTZ_NANOS: "<q",
    VariantKind.TIMESTAMPNTZ_NANOS: "<q",
}  # fmt: skip
_FLOATS: Final = (VariantKind.FLOAT, VariantKind.DOUBLE)
_BOUNDED: Final = (*_LAYOUTS, *DECIMAL_WIDTHS, VariantKind.STRING, VariantKind.BINARY)
_ESCAPES: Final = {
    "\b": "\\b", "\t": "\\t", "\f": "\\f", "\n": "\\n", "\r": "\\r", "'": "\\'", "\\": "\\\\",
}  # fmt: skip


@dataclass(slots=True)
class _Range:
    layout: PrimitiveLayout
    lower: Any = None
    upper: Any = None
    holds: bool = True


@dataclass(slots=True)
class VariantBounds:
    """The least and greatest value of each typed field outside arrays, while all of its values are of one type."""

    _ranges: dict[tuple[str, ...], _Range] = field(default_factory=dict)

    def update(self, path: tuple[str, ...], layout: PrimitiveLayout, values: Sequence[Any], *, untyped: bool) -> None:
        """Adds physical values of a field, None where there is none; `untyped` when it has others of another type."""
        if layout.kind not in _BOUNDED:
            return
        known = self._ranges.setdefault(path, _Range(layout))
        there = [value for value in values if value is not None]
        is_float = layout.kind in _FLOATS
        if untyped or (is_float and any(math.isnan(value) for value in there)):
            known.holds = False
        if not known.holds or not there:
            return
        lower, upper = min(there), max(there)
        known.lower = lower if known.lower is None else min(known.lower, lower)
        known.upper = upper if known.upper is None else max(known.upper, upper)

    def lower(self, mode: MetricsMode) -> bytes | None:
        """The lower bounds as a manifest has them; None when there are none."""
        return self._serialized(mode, upper=False)

    def upper(self, mode: MetricsMode) -> bytes | None:
        return self._serialized(mode, upper=True)

    def _serialized(self, mode: MetricsMode, *, upper: bool) -> bytes | None:
        if not mode.has_bounds:
            return None
        fields = {}
        for path, known in self._ranges.items():
            if not known.holds or known.lower is None:
                continue
            # A bound that cannot be rounded up is left out on both sides: readers expect pairs.
            greatest = _shortened(known.upper, known.layout.kind, mode, upper=True)
            if greatest is not None:
                least = _shortened(known.lower, known.layout.kind, mode, upper=False)
                fields[normalized_path(path)] = _encoded(greatest if upper else least, known.layout)
        if not fields:
            return None
        names = sorted(fields, key=str.encode)
        ids = {name: i for i, name in enumerate(names)}
        return encoding.variant_metadata(names) + encoding.variant_object(fields, ids)


def normalized_path(names: Sequence[str]) -> str:
    """A field's path as RFC 9535 normalizes it: `$['a']['b']`."""
    return "$" + "".join(f"['{''.join(map(_escaped, name))}']" for name in names)


def _escaped(char: str) -> str:
    return _ESCAPES.get(char) or (f"\\u{ord(char):04x}" if ord(char) < 0x20 else char)


def _shortened(value: Any, kind: VariantKind, mode: MetricsMode, *, upper: bool) -> Any:
    if kind in _FLOATS and value == 0:
        return 0.0 if upper else -0.0
    if mode.kind is not ModeKind.TRUNCATE or kind not in (VariantKind.STRING, VariantKind.BINARY):
        return value
    if not upper:
        return value[: mode.length]
    return round_text_up(value, mode.length) if kind is VariantKind.STRING else round_bytes_up(value, mode.length)


def _encoded(value: Any, layout: PrimitiveLayout) -> bytes:
    kind = layout.kind
    if kind in DECIMAL_WIDTHS:
        return encoding.decimal(kind, value, layout.type.scale)
    if kind in _LAYOUTS:
        return encoding.primitive(kind, struct.pack(_LAYOUTS[kind], value))
    return encoding.sized(kind, value.encode() if kind is VariantKind.STRING else value)
