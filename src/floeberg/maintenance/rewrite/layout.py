"""How rewritten rows are laid out: as they come, in a sort order, or along a z-order curve."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from floeberg.arrow.columns.z_order import check_z_order_column
from floeberg.errors import InvalidInput
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.sort_orders import UNSORTED, SortOrder, build_sort_order
from floeberg.spec.partitions.terms import unquote

BINPACK: Final = "binpack"
SORT: Final = "sort"
_Z_ORDER: Final = re.compile(r"\s*zorder\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The order of rows in new files. Without a sort order and z-order columns, rows stay in the order of their files."""

    sort_order: SortOrder = UNSORTED
    sort_order_id: int = UNSORTED.order_id
    """What new files say of their order: the table's id of it, where it is one of the table's."""
    z_order_ids: tuple[int, ...] = ()

    @property
    def keeps_order(self) -> bool:
        return self.sort_order.is_unsorted and not self.z_order_ids


def parse_layout(
    metadata: TableMetadata, *, strategy: str | None, sort_order: str | None, case_sensitive: bool = True
) -> Layout:
    """The layout of a strategy (`binpack` or `sort`) and a sort order such as `ts DESC, id` or `zorder(a, b)`; the table's
    own order when the strategy is `sort` and none is given. Raises InvalidInput."""
    chosen = (strategy or (BINPACK if sort_order is None else SORT)).lower()
    if chosen not in (BINPACK, SORT):
        raise InvalidInput(f"rewrite_data_files: the strategy is binpack or sort, not {strategy!r:.60}")
    if chosen == BINPACK:
        if sort_order is not None:
            raise InvalidInput("rewrite_data_files: a sort_order needs the strategy sort, not binpack")
        return Layout()
    if sort_order is None:
        if metadata.default_sort_order.is_unsorted:
            raise InvalidInput(
                f"table {metadata.location} has no sort order; give one (sort_order => 'ts DESC, id'), or set one with "
                "ALTER TABLE … WRITE ORDERED BY"
            )
        return Layout(sort_order=metadata.default_sort_order, sort_order_id=metadata.default_sort_order.order_id)
    if match := _Z_ORDER.fullmatch(sort_order):
        return Layout(z_order_ids=_z_order_ids(metadata, match[1], case_sensitive=case_sensitive))
    if "zorder" in sort_order.lower():
        raise InvalidInput(f"rewrite_data_files: zorder(…) stands alone, without other sort terms: {sort_order!r:.100}")
    order = build_sort_order(metadata.current_schema, split_terms(sort_order), case_sensitive=case_sensitive)
    if order.is_unsorted:
        raise InvalidInput("rewrite_data_files: the sort_order is empty")
    known = next((one for one in metadata.sort_orders if one.same_order(order)), None)
    return Layout(sort_order=order, sort_order_id=UNSORTED.order_id if known is None else known.order_id)


def split_terms(text: str) -> list[str]:
    """The terms between commas that are in no parentheses. Raises InvalidInput when they do not match."""
    terms, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            terms.append(text[start:at])
            start = at + 1
    if depth:
        raise InvalidInput(f"parentheses do not match in {text!r:.100}")
    return [term.strip() for term in (*terms, text[start:]) if term.strip()]


def _z_order_ids(metadata: TableMetadata, text: str, *, case_sensitive: bool) -> tuple[int, ...]:
    schema = metadata.current_schema
    names = [unquote(name) for name in split_terms(text)]
    if len(names) < 2:
        raise InvalidInput(f"zorder(…) takes at least two columns, not {text!r:.100}; for one column, sort by it")
    columns = [schema.field(name, case_sensitive=case_sensitive) for name in names]
    for name, column in zip(names, columns, strict=True):
        check_z_order_column(name, column.type)
    return tuple(column.field_id for column in columns)
