"""Which metrics a writer keeps of each column, from the table's properties `write.metadata.metrics.*`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.spec.metadata.table_properties import METRICS_OF_COLUMN
from floeberg.spec.partitions.sort_orders import SortOrder
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import NestedField, StructType, UnknownType

DEFAULT_MODE_PROPERTY: Final = "write.metadata.metrics.default"
MAX_INFERRED_PROPERTY: Final = "write.metadata.metrics.max-inferred-column-defaults"
DEFAULT_MAX_INFERRED: Final = 100

_TRUNCATE = re.compile(r"truncate\s*\(\s*(\d{1,9})\s*\)", re.IGNORECASE)


class ModeKind(StrEnum):
    """How much is kept: nothing, counts, counts and shortened bounds, counts and exact bounds."""

    NONE = "none"
    COUNTS = "counts"
    TRUNCATE = "truncate"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class MetricsMode:
    """A mode; `length` is the number of characters or bytes that `truncate` leaves of a bound."""

    kind: ModeKind
    length: int = 0

    @property
    def has_bounds(self) -> bool:
        return self.kind in (ModeKind.TRUNCATE, ModeKind.FULL)

    def __str__(self) -> str:
        return f"truncate({self.length})" if self.kind is ModeKind.TRUNCATE else str(self.kind)


NONE: Final = MetricsMode(ModeKind.NONE)
FULL: Final = MetricsMode(ModeKind.FULL)
DEFAULT_MODE: Final = MetricsMode(ModeKind.TRUNCATE, 16)


def parse_mode(text: str) -> MetricsMode:
    """The mode of a property's value. Raises InvalidInput."""
    stripped = text.strip()
    if match := _TRUNCATE.fullmatch(stripped):
        if int(match[1]) == 0:
            raise InvalidInput("metrics mode truncate(0): the length must be positive")
        return MetricsMode(ModeKind.TRUNCATE, int(match[1]))
    if stripped.lower() in (ModeKind.NONE, ModeKind.COUNTS, ModeKind.FULL):
        return MetricsMode(ModeKind(stripped.lower()))
    raise InvalidInput(f"unknown metrics mode {text[:60]!r}; it is none, counts, truncate(length) or full")


@dataclass(frozen=True, slots=True)
class MetricsConfig:
    """The mode of each column that can have metrics, by field id."""

    modes: Mapping[int, MetricsMode]

    def mode(self, field_id: int) -> MetricsMode:
        return self.modes.get(field_id, NONE)


def metrics_config(
    schema: Schema, properties: Mapping[str, str], *, sort_order: SortOrder | None = None
) -> MetricsConfig:
    """The modes that a table's properties give to the columns of a schema.

    Without a default in the properties, only the first hundred columns have one, and columns that the table is sorted by
    have at least shortened bounds. Raises InvalidInput for modes and columns that do not exist.
    """
    ids = [field.field_id for field in measured_fields(schema)]
    stated = properties.get(DEFAULT_MODE_PROPERTY)
    if stated is not None:
        modes = dict.fromkeys(ids, parse_mode(stated))
    else:
        modes = dict.fromkeys(ids[: _max_inferred(properties)], DEFAULT_MODE)
    for sort_field in sort_order.fields if sort_order is not None else ():
        for source_id in sort_field.source_ids:
            if source_id in ids and not modes.get(source_id, NONE).has_bounds:
                modes[source_id] = DEFAULT_MODE
    for name, value in properties.items():
        if not name.startswith(METRICS_OF_COLUMN):
            continue
        field = schema.find(name.removeprefix(METRICS_OF_COLUMN))
        mode = parse_mode(value)
        # A property may outlive its column.
        if field is not None and field.field_id in ids:
            modes[field.field_id] = mode
    return MetricsConfig(modes)


def full_metrics(schema: Schema) -> MetricsConfig:
    """Exact bounds of every column."""
    return MetricsConfig({field.field_id: FULL for field in measured_fields(schema)})


def measured_fields(schema: Schema) -> list[NestedField]:
    """The primitive columns outside lists and maps: those in a struct after the ones that are not."""
    return sorted((field for field, _ in measured_paths(schema)), key=lambda field: field.field_id in schema.parents)


def measured_paths(schema: Schema) -> Iterator[tuple[NestedField, tuple[int, ...]]]:
    """Each primitive column outside lists and maps, with the positions that lead to it through structs."""
    stack: list[tuple[NestedField, tuple[int, ...]]] = [(f, (i,)) for i, f in reversed(list(enumerate(schema.fields)))]
    while stack:
        field, path = stack.pop()
        if isinstance(field.type, StructType):
            stack.extend((m, (*path, i)) for i, m in reversed(list(enumerate(field.type.members))))
        elif not field.type.is_nested and not isinstance(field.type, UnknownType):
            yield field, path


def _max_inferred(properties: Mapping[str, str]) -> int:
    text = properties.get(MAX_INFERRED_PROPERTY, str(DEFAULT_MAX_INFERRED))
    if not text.isascii() or not text.isdigit():
        raise InvalidInput(f"table property {MAX_INFERRED_PROPERTY} must be a number, not {text[:60]!r}")
    return int(text)
