"""Sort orders: https://iceberg.apache.org/spec/#sorting

The order of values themselves, floats included, is `values.sort_key`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from floeberg.errors import InvalidInput, MetadataCorrupt
from floeberg.spec.partitions.specs import (
    json_int,
    json_text,
    source_ids_from_json,
    source_ids_to_json,
    transform_from_json,
)
from floeberg.spec.partitions.terms import PartitionTerm, check_source, parse_partition_term, resolve_source
from floeberg.spec.partitions.transforms import Transform
from floeberg.spec.schemas.schema import Schema

UNSORTED_ORDER_ID: Final = 0


class SortDirection(StrEnum):
    """Which way values run."""

    ASC = "asc"
    DESC = "desc"


class NullOrder(StrEnum):
    """Where nulls stand."""

    NULLS_FIRST = "nulls-first"
    NULLS_LAST = "nulls-last"


@dataclass(frozen=True, slots=True)
class SortField:
    """One term of a sort order."""

    source_ids: tuple[int, ...]
    transform: Transform
    direction: SortDirection = SortDirection.ASC
    null_order: NullOrder = NullOrder.NULLS_FIRST

    def __post_init__(self) -> None:
        object.__setattr__(self, "source_ids", tuple(self.source_ids))

    @property
    def source_id(self) -> int:
        """The source column, or the first of several."""
        return self.source_ids[0]

    def satisfies(self, other: SortField, schema: Schema | None = None) -> bool:
        """Whether rows sorted by this field are sorted by the other one. Truncations compare only by a schema."""
        if (self.source_ids, self.direction, self.null_order) != (other.source_ids, other.direction, other.null_order):
            return False
        source = None if schema is None else schema.find(self.source_id)
        return self.transform.satisfies_order_of(other.transform, None if source is None else source.type)

    def __str__(self) -> str:
        sources = ", ".join(map(str, self.source_ids))
        return f"{self.transform}({sources}) {self.direction} {self.null_order.replace('-', ' ')}"


@dataclass(frozen=True, slots=True)
class SortOrder:
    """How rows are sorted within data files. Order id 0 is the unsorted order."""

    order_id: int
    fields: tuple[SortField, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))
        if bool(self.fields) == (self.order_id == UNSORTED_ORDER_ID):
            raise InvalidInput(f"sort order {self.order_id}: id 0 is for the unsorted order, and only for it")

    @property
    def is_sorted(self) -> bool:
        return bool(self.fields)

    @property
    def is_unsorted(self) -> bool:
        return not self.fields

    def same_order(self, other: SortOrder) -> bool:
        """Equal but for the id."""
        return self.fields == other.fields

    def satisfies(self, other: SortOrder, schema: Schema | None = None) -> bool:
        """Whether rows in this order are in the other one too: it may have fewer terms, each as coarse or coarser.

        A term after one that is only coarser than ours is not ordered by us, so all but the last must be equal.
        """
        if len(other.fields) > len(self.fields):
            return False
        pairs = list(zip(self.fields, other.fields, strict=False))
        return all(mine == theirs for mine, theirs in pairs[:-1]) and all(
            mine.satisfies(theirs, schema) for mine, theirs in pairs[-1:]
        )

    def validate(self, schema: Schema) -> None:
        """Raises InvalidInput when the schema lacks a source column or a transform does not take it."""
        for field in self.fields:
            for source_id in field.source_ids:
                source = schema.find(source_id)
                if source is None:
                    raise InvalidInput(f"sort field {field}: the schema has no column with id {source_id}")
                check_source(schema, source, field.transform)

    def with_id(self, order_id: int) -> SortOrder:
        return SortOrder(order_id, self.fields)

    def __str__(self) -> str:
        return "[" + "".join(f"\n  {field}" for field in self.fields) + ("\n]" if self.fields else "]")


UNSORTED: Final = SortOrder(UNSORTED_ORDER_ID)


@dataclass(frozen=True, slots=True)
class SortTerm:
    """A sort field as people write it: `ts desc nulls last`, `bucket(4, id)`."""

    term: PartitionTerm
    direction: SortDirection
    null_order: NullOrder


_SORT_TERM: Final = re.compile(r"(.*?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?", re.IGNORECASE | re.DOTALL)


def parse_sort_term(text: str) -> SortTerm:
    """The term of `ts desc nulls last`. Without more words it ascends; nulls come first when it ascends, else last.
    Raises InvalidInput."""
    if not isinstance(text, str):
        raise InvalidInput(f"a table is sorted by texts such as 'ts desc', not by {text!r:.60}")
    match = _SORT_TERM.fullmatch(text.strip())
    if match is None or not match[1]:
        raise InvalidInput(f"{text[:100]!r} is not a sort term such as `ts desc nulls last`")
    direction = SortDirection((match[2] or "asc").lower())
    default = "first" if direction is SortDirection.ASC else "last"
    return SortTerm(parse_partition_term(match[1]), direction, NullOrder(f"nulls-{(match[3] or default).lower()}"))


def build_sort_order(
    schema: Schema, terms: Iterable[str | SortTerm], *, order_id: int = 1, case_sensitive: bool = True
) -> SortOrder:
    """The order of terms such as `ts desc`; the unsorted order when there are none. Raises InvalidInput."""
    fields: list[SortField] = []
    for given in terms:
        parsed = given if isinstance(given, SortTerm) else parse_sort_term(given)
        transform = parsed.term.transform
        source = resolve_source(schema, parsed.term.column, transform, case_sensitive=case_sensitive)
        fields.append(SortField((source.field_id,), transform, parsed.direction, parsed.null_order))
    return SortOrder(order_id, tuple(fields)) if fields else UNSORTED


def sort_order_to_json(order: SortOrder) -> dict[str, object]:
    """https://iceberg.apache.org/spec/#sort-orders"""
    fields = [
        {
            "transform": str(field.transform),
            **source_ids_to_json(field.source_ids),
            "direction": field.direction.value,
            "null-order": field.null_order.value,
        }
        for field in order.fields
    ]
    return {"order-id": order.order_id, "fields": fields}


def sort_order_from_json(obj: object) -> SortOrder:
    """A sort order of its JSON form. Raises MetadataCorrupt."""
    if not isinstance(obj, Mapping):
        raise MetadataCorrupt("a sort order must be a JSON object")
    order_id = json_int(obj, "order-id", "a sort order")
    where = f"sort order {order_id}"
    items = obj.get("fields")
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise MetadataCorrupt(f"{where}: `fields` must be a JSON array of objects")
    fields = tuple(
        SortField(
            source_ids_from_json(item, where),
            transform_from_json(item, where),
            SortDirection(_one_of(item, "direction", tuple(SortDirection), where)),
            NullOrder(_one_of(item, "null-order", tuple(NullOrder), where)),
        )
        for item in items
    )
    try:
        return SortOrder(order_id, fields)
    except InvalidInput as error:
        raise MetadataCorrupt(str(error)) from error


def _one_of(item: Mapping[str, object], key: str, allowed: tuple[str, ...], where: str) -> str:
    value = json_text(item, key, where).lower()
    if value not in allowed:
        raise MetadataCorrupt(f"{where}: `{key}` must be one of {', '.join(allowed)}, not {value[:40]!r}")
    return value
