"""The order of rows that a sort order asks for, as a key for `sorted`."""

from __future__ import annotations

from collections.abc import Mapping

from floeberg.spec.partitions.sort_orders import NullOrder, SortDirection, SortField, SortOrder
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.values.single_value import sort_key


def row_key(order: SortOrder, schema: Schema, values: Mapping[int, object]) -> tuple[tuple[int, object], ...]:
    """A key that orders rows, given by their values by source column id, by a sort order."""
    return tuple(_term_key(field, schema, values) for field in order.fields)


class Descending:
    """Turns the order of a key around."""

    __slots__ = ("key",)

    def __init__(self, key: object) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Descending) -> bool:
        return bool(other.key < self.key)  # type: ignore[operator]  # keys of one type, from sort_key


def _term_key(field: SortField, schema: Schema, values: Mapping[int, object]) -> tuple[int, object]:
    source_type = schema.field(field.source_id).type
    value = field.transform.apply(source_type, values.get(field.source_id))
    if value is None:
        return (0 if field.null_order is NullOrder.NULLS_FIRST else 2, 0)
    key = sort_key(field.transform.result_type(source_type), value)
    return (1, Descending(key) if field.direction is SortDirection.DESC else key)
