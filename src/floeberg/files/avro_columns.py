"""Avro records to bytes, column by column: what `avro_encode` does for one record, numpy does here for thousands.

A column of values of different lengths is `Ragged`: all their bytes, and the length of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

Lengths = npt.NDArray[np.int64]
Valid = npt.NDArray[np.bool_]

_VARINT_BYTES: Final = 10


@dataclass(frozen=True, slots=True)
class Ragged:
    """Values behind one another, and how many bytes each takes."""

    data: npt.NDArray[np.uint8]
    lengths: Lengths

    @classmethod
    def of(cls, values: Sequence[bytes]) -> Ragged:
        lengths = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
        return cls(np.frombuffer(b"".join(values), dtype=np.uint8), lengths)


def varints(values: npt.NDArray[np.int64]) -> Ragged:
    """Each number as a zigzag varint."""
    zigzag = ((values << 1) ^ (values >> 63)).view(np.uint64)
    lengths = np.ones(len(values), dtype=np.int64)
    for place in range(1, _VARINT_BYTES):
        longer = zigzag >= np.uint64(1 << (7 * place))
        if not longer.any():
            break
        lengths += longer
    width = int(lengths.max(initial=1))
    groups = np.empty((len(values), width), dtype=np.uint8)
    for place in range(width):
        groups[:, place] = (zigzag >> np.uint64(7 * place)) & np.uint64(0x7F)
        groups[:, place] |= (place < lengths - 1).astype(np.uint8) << 7
    return Ragged(groups[np.arange(width) < lengths[:, None]], lengths)


def joined(columns: Sequence[Ragged]) -> Ragged:
    """The columns of each row behind one another: the bytes of records from those of their fields."""
    total = np.zeros(len(columns[0].lengths), dtype=np.int64)
    for column in columns:
        total += column.lengths
    out = np.empty(int(total.sum()), dtype=np.uint8)
    starts = np.cumsum(total) - total
    for column in columns:
        sources = np.cumsum(column.lengths) - column.lengths
        out[np.arange(len(column.data)) + np.repeat(starts - sources, column.lengths)] = column.data
        starts = starts + column.lengths
    return Ragged(out, total)


def longs(series: pl.Series) -> Ragged:
    """A required number."""
    return varints(series.cast(pl.Int64).to_numpy())


def texts(series: pl.Series) -> Ragged:
    """A required text or byte array."""
    values = Ragged.of(series.cast(pl.Binary).to_list())
    return joined([varints(values.lengths), values])


def optional_longs(series: pl.Series) -> Ragged:
    """A number, or null."""
    return _optional(longs(series.drop_nulls()), series)


def optional_texts(series: pl.Series) -> Ragged:
    """A text or byte array, or null."""
    return _optional(texts(series.drop_nulls()), series)


def optional_lists(series: pl.Series) -> Ragged:
    """A list of numbers, or null."""
    return _arrays(series, longs)


def optional_counts(series: pl.Series) -> Ragged:
    """A list of (int, long) pairs, or null."""
    return _arrays(series, lambda flat: joined([longs(flat.struct.field("key")), longs(flat.struct.field("value"))]))


def optional_bounds(series: pl.Series) -> Ragged:
    """A list of (int, bytes) pairs, or null."""
    return _arrays(series, lambda flat: joined([longs(flat.struct.field("key")), texts(flat.struct.field("value"))]))


def _optional(values: Ragged, series: pl.Series) -> Ragged:
    """The values of the rows that have one, behind the index of their branch in the union with null."""
    valid = series.is_not_null().to_numpy()
    return joined([_flags(valid), _spread(values, valid)])


def _arrays(series: pl.Series, encode: Callable[[pl.Series], Ragged]) -> Ragged:
    """Arrays of one block each: index in the union, count, items, end; an empty one has no block."""
    valid = series.is_not_null().to_numpy()
    counts = series.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    filled = counts > 0
    if not filled.any():
        return joined([_flags(valid), _constant(0, valid)])
    items = encode(series.explode(empty_as_null=False, keep_nulls=False))
    ends = np.concatenate(([0], np.cumsum(items.lengths)))
    last = np.cumsum(counts)
    rows = Ragged(items.data, ends[last] - ends[last - counts])
    return joined([_flags(valid), _spread(varints(counts[filled]), filled), rows, _constant(0, valid)])


def _spread(values: Ragged, where: Valid) -> Ragged:
    """The values in the rows that have one; the others take no bytes."""
    lengths = np.zeros(len(where), dtype=np.int64)
    lengths[where] = values.lengths
    return Ragged(values.data, lengths)


def _flags(valid: Valid) -> Ragged:
    return Ragged(np.where(valid, 2, 0).astype(np.uint8), np.ones(len(valid), dtype=np.int64))


def _constant(byte: int, where: Valid) -> Ragged:
    return Ragged(np.full(int(where.sum()), byte, dtype=np.uint8), where.astype(np.int64))
