"""Compares the rows of a changelog: which are carried over, which are updates of each other, which are left as net changes.

Rows are compared whole: null equals null, NaN equals NaN, and the zeros of both signs differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.columns.key_set import as_comparable
from floeberg.arrow.columns.nested import counted_type, shown_rows
from floeberg.errors import InvalidInput
from floeberg.scan.change_form import ChangeForm
from floeberg.scan.changelog_tasks import ChangeType
from floeberg.spec.schemas.metadata_columns import CHANGE_ORDINAL, CHANGE_TYPE, CHANGELOG_COLUMNS

Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_NAMES = frozenset(field.name for field in CHANGELOG_COLUMNS)


def settled(changes: pa.Table, form: ChangeForm) -> pa.Table:
    """The changes of whole snapshots, or of all of their rows with certain values, in a form. Raises InvalidInput when rows
    that the identifier columns shall tell apart have the same values there."""
    if not changes.num_rows or form.keep_carried_over:
        return changes
    rows = [column for column, field in zip(changes.columns, changes.schema, strict=True) if field.name not in _NAMES]
    deleted = np.asarray(pc.equal(changes.column(CHANGE_TYPE.name), ChangeType.DELETE.value))
    ordinals = changes.column(CHANGE_ORDINAL.name).to_numpy()
    kept = ~carried_over(row_codes([*rows, changes.column(CHANGE_ORDINAL.name)]), deleted)
    if not kept.all():
        changes = changes.filter(pa.array(kept))
        rows = [column.filter(pa.array(kept)) for column in rows]
        deleted, ordinals = deleted[kept], ordinals[kept]
    if form.net_changes:
        return changes.take(pa.array(_net(row_codes(rows), deleted, ordinals)))
    return _with_update_images(changes, form.identifier_columns, deleted) if form.identifier_columns else changes


def carried_over(codes: Codes, deleted: Mask) -> Mask:
    """Which rows are one half of a pair of a deleted and an inserted row of one code."""
    carried = np.zeros(len(codes), dtype=np.bool_)
    if not len(codes):
        return carried
    groups = int(codes.max()) + 1
    pairs = np.minimum(np.bincount(codes[deleted], minlength=groups), np.bincount(codes[~deleted], minlength=groups))
    for half in (deleted, ~deleted):
        at = np.flatnonzero(half)
        order = at[np.argsort(codes[at], kind="stable")]
        own = codes[order]
        starts = np.flatnonzero(np.r_[True, own[1:] != own[:-1]]) if len(own) else own
        rank = np.arange(len(own)) - np.repeat(starts, np.diff(np.r_[starts, len(own)]))
        carried[order] = rank < pairs[own]
    return carried


def _net(codes: Codes, deleted: Mask, ordinals: Codes) -> Codes:
    """The places of the changes that no later change of an equal row undoes, in the order of the snapshots.

    Among equal rows, each change undoes the last one before it of the other kind: `height` counts those that stand, above 0
    for inserts and below for deletes, and a change is left when the height never falls back below it.
    """
    order = np.lexsort((~deleted, ordinals, codes))
    own, step = codes[order], np.where(deleted[order], -1, 1)
    group = np.cumsum(np.r_[False, own[1:] != own[:-1]])
    total = np.cumsum(step)
    first = np.flatnonzero(np.r_[True, own[1:] != own[:-1]])
    height = total - (total[first] - step[first])[group]
    left = np.zeros(len(own), dtype=np.bool_)
    beyond = 2 * len(own) + 2  # the groups are apart, so that one minimum from the end on is a minimum in each group
    for sign in (1, -1):
        above = sign * height
        least = np.minimum.accumulate((above + group * beyond)[::-1])[::-1] - group * beyond
        left |= (step == sign) & (above > 0) & (least >= above)
    places = order[left]
    return places[np.argsort(ordinals[places], kind="stable")]


def _with_update_images(changes: pa.Table, columns: Sequence[str], deleted: Mask) -> pa.Table:
    """A deleted and an inserted row of one snapshot and identity as the two images of an update, one after the other."""
    keys = row_codes([*(changes.column(name) for name in columns), changes.column(CHANGE_ORDINAL.name)])
    counts = np.bincount(keys[deleted], minlength=int(keys.max()) + 1 if len(keys) else 0)
    if len(counts) and counts.max() > 1:
        place = int(np.flatnonzero(deleted & (counts[keys] > 1))[0])
        (row,) = shown_rows(changes.slice(place, 1).select(list(columns)).to_batches()[0])
        raise InvalidInput(
            f"updates cannot be computed: one snapshot deletes several rows with the identifier columns {row!r:.200}; give "
            "identifier_columns that tell all rows apart, or compute_updates => false"
        )
    paired = carried_over(keys, deleted)
    names = {
        (True, True): ChangeType.UPDATE_BEFORE,
        (True, False): ChangeType.UPDATE_AFTER,
        (False, True): ChangeType.DELETE,
        (False, False): ChangeType.INSERT,
    }
    kinds = np.array([names[pair, gone].value for pair in (False, True) for gone in (False, True)], dtype=object)
    number = changes.schema.get_field_index(CHANGE_TYPE.name)
    field = changes.schema.field(number)
    types = pa.array(kinds[paired * 2 + deleted * 1], field.type)
    ordinals = changes.column(CHANGE_ORDINAL.name).to_numpy()
    order = np.lexsort((~paired, ~deleted, keys, ordinals))
    return changes.set_column(number, field, types).take(pa.array(order))


def row_codes(columns: Iterable[Any]) -> Codes:
    """A number for each row of the columns; equal rows have equal ones."""
    codes: Codes | None = None
    for column in columns:
        own = _codes(column)
        if codes is None:
            codes = own
            continue
        combined = codes * (int(own.max()) + 1 if len(own) else 1) + own
        codes = np.unique(combined, return_inverse=True)[1].astype(np.int64)
    assert codes is not None
    return codes


def _codes(column: pa.Array | pa.ChunkedArray) -> Codes:
    array = column
    if isinstance(column, pa.ChunkedArray):
        array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_nested(array.type):
        numbers: dict[str, int] = {}
        values = array.cast(counted_type(array.type)).to_pylist()
        return np.array([numbers.setdefault(repr(value), len(numbers)) for value in values], dtype=np.int64)
    if pa.types.is_null(array.type):
        return np.zeros(len(array), dtype=np.int64)
    encoded = as_comparable(array).dictionary_encode(null_encoding="encode")
    codes: Codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes
