"""Several tables of a catalog of pointer rows in one commit: their metadata files are written first, then all rows are put in
one transaction, if each still points where the commit began, also those of tables that stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

from floeberg.catalogs.metadata_files import delete_dropped_metadata, discard
from floeberg.catalogs.pointer_rows import PointerRows, PointerSwap
from floeberg.catalogs.row_pointer import RowPointer
from floeberg.commit.pointer import TableState
from floeberg.errors import CommitConflict, CommitUnknown, FloebergError, Throttled, Unavailable, WriteRefused
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.storage.registry import Stores

Part = tuple[RowPointer, TableState | None, TableMetadata]
"""A table, what it was planned on (None: it is created), and what it becomes."""


def swap_together(rows: PointerRows, stores: Stores, parts: Sequence[Part]) -> list[TableState]:
    """All tables change or none. Raises CommitConflict, CommitUnknown."""
    swaps: list[PointerSwap] = []
    try:
        for pointer, base, new in parts:
            expected = None if base is None else base.metadata_location
            holds = base is not None and new is base.metadata
            location = expected if holds and expected else pointer.write_file(new, base_location=expected)
            swaps.append(PointerSwap(pointer.key, expected, location))
        swapped = rows.swap_all(swaps)
    except Throttled as refused:
        _discard(stores, swaps)
        raise CommitConflict(f"{_named(parts)}: the catalog refused for now: {refused}") from refused
    except Unavailable as failed:
        swapped = len(swaps) == len(parts) and _settle(parts, swaps, failed)
        if len(swaps) < len(parts):  # a metadata file could not be written: no row was touched
            _discard(stores, swaps)
            raise
    except FloebergError as error:
        if len(swaps) < len(parts) or isinstance(error, WriteRefused) or error.cleanup_safe:
            _discard(stores, swaps)
        raise
    if not swapped:
        _discard(stores, swaps)
        raise CommitConflict(f"{_named(parts)}: another commit came first to one of them")
    for _, base, new in parts:
        delete_dropped_metadata(stores, None if base is None else base.metadata, new)
    return [
        TableState(pointer.identifier, new, swap.location) for (pointer, _, new), swap in zip(parts, swaps, strict=True)
    ]


def _settle(parts: Sequence[Part], swaps: Sequence[PointerSwap], failed: Unavailable) -> bool:
    """After an error that does not say whether the rows were put. They are put together, so what is proved of one table is
    proved of all. Raises CommitUnknown."""
    for (pointer, _, new), swap in zip(parts, swaps, strict=True):
        if swap.only_holds:
            continue
        try:
            decided = pointer.became_current(new, expected=swap.expected, location=swap.location)
        except FloebergError as error:
            failed.add_note(f"reading the pointer of {pointer.identifier} failed too: {error}")
            continue
        if decided is not None:
            return decided
    raise CommitUnknown(
        f"{_named(parts)}: the catalog did not say whether the commit took effect ({failed})"
    ) from failed


def _discard(stores: Stores, swaps: Sequence[PointerSwap]) -> None:
    """Removes the metadata files that were written; that of a table that stays as it is was not."""
    for one in swaps:
        if not one.only_holds:
            discard(stores.for_location(one.location), one.location)


def _named(parts: Sequence[Part]) -> str:
    return f"tables {', '.join(pointer.identifier for pointer, _, _ in parts)}"
