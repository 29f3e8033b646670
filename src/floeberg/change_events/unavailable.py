"""Values that the source did not send: PostgreSQL leaves unchanged TOAST values out, and Debezium puts a placeholder there.
They are taken from the earlier row of the key in the same batch."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from floeberg.change_events.events import KIND, PREFIX, EventKind

Mask = npt.NDArray[np.bool_]


def texts_of_lists(placeholder: str) -> tuple[str, ...]:
    """The one element of a list of texts, or of uuids, that was not sent."""
    digest = hashlib.md5(placeholder.encode(), usedforsecurity=False).digest()
    return placeholder, str(uuid.UUID(bytes=digest, version=3))


def numbers_of_lists(placeholder: str) -> list[int]:
    """The elements of a list of numbers that was not sent."""
    return list(placeholder.encode())


def _list_mask(column: pa.Array, placeholder: str) -> Mask:
    """https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-toasted-values"""
    texts = texts_of_lists(placeholder)
    sent: list[list[Any]] = [[text] for text in texts] + [[placeholder.encode()], [uuid.UUID(texts[1]).bytes]]
    sent.append(numbers_of_lists(placeholder))
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    mask: Mask = np.zeros(len(column), dtype=np.bool_)
    for row in np.flatnonzero(np.isin(lengths, [len(one) for one in sent])):
        mask[row] = column[int(row)].as_py() in sent
    return mask


def placeholder_mask(column: pa.Array, placeholder: str) -> Mask | None:
    """Which values of a column are the placeholder; None where none is, or its type cannot hold one."""
    kind = column.type
    if pa.types.is_list(kind) and not pa.types.is_temporal(kind.value_type):
        found = _list_mask(column, placeholder)
        return found if found.any() else None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        wanted: Any = placeholder
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        wanted = placeholder.encode()
    else:
        return None
    mask: Mask = pc.fill_null(pc.equal(column, pa.scalar(wanted, kind)), False).to_numpy(zero_copy_only=False)
    return mask if mask.any() else None


def fill_unavailable(
    events: pa.RecordBatch, first: Mask, placeholder: str
) -> tuple[pa.RecordBatch, dict[int, str], frozenset[int]]:
    """Sorted events of whole keys with placeholders replaced by what the row of the key held before, and the events that
    bring a row in which one is left, with its column; then those among them that follow a delete of their key, of which the
    table has no row with the value either. `first` marks the first event of each key."""
    kind = events.column(KIND).to_numpy(zero_copy_only=False)
    brings_row = kind >= EventKind.INSERT
    left: dict[int, str] = {}
    for number, name in enumerate(events.schema.names):
        if name.startswith(PREFIX):
            continue
        column = events.column(number)
        mask = placeholder_mask(column, placeholder)
        if mask is None:
            continue
        source = _sources(mask, brings_row, kind, column, first)
        for row in np.flatnonzero(mask & (source < 0) & brings_row):
            left.setdefault(int(row), name)
        taken = np.where(mask & (source >= 0), source, np.arange(len(mask)))
        events = events.set_column(number, events.schema.field(number), column.take(pa.array(taken)))
    key = np.cumsum(first)
    deletes = np.flatnonzero(kind == EventKind.DELETE)
    deleted = dict(zip(key[deletes][::-1].tolist(), deletes[::-1].tolist(), strict=True))
    return events, left, frozenset(row for row in left if deleted.get(int(key[row]), row) < row)


def _sources(
    mask: Mask, brings_row: Mask, kind: npt.NDArray[np.int8], column: pa.Array, first: Mask
) -> npt.NDArray[np.int64]:
    """For each event the latest earlier one of its key whose row has the value, or -1. A delete ends a row."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    before_image = (kind == EventKind.UPDATE_BEFORE) & valid
    holds = ~mask & (brings_row | before_image)
    ends = kind == EventKind.DELETE
    found = np.full(len(mask), -1, dtype=np.int64)
    last = -1
    for row in range(len(mask)):
        if first[row]:
            last = -1
        found[row] = last
        if ends[row]:
            last = -1
        elif holds[row]:
            last = row
    return found
