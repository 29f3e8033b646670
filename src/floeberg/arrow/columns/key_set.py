"""A set of rows, by some of their columns, that tells of whole batches at once which rows are in it.

Rows are found by a hash, in buckets; those whose hash is there are compared by value. Null equals
null, NaN equals NaN, and the zeros of both signs differ, as in the reference implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.columns.transforms import hash_array
from floeberg.spec.types import BINARY

Hashes: TypeAlias = npt.NDArray[np.uint64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_NULL_HASH: Final = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER: Final = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT: Final = np.uint64(31)
_BUCKETS_PER_KEY: Final = 4
_MAX_TABLE_BITS: Final = 28


class KeySet:
    """Distinct rows of key columns; columns of any other primitive type than those it was made with never match."""

    def __init__(self, columns: Sequence[pa.Array | pa.ChunkedArray]) -> None:
        names = [str(i) for i in range(len(columns))]
        keys = pa.table([as_comparable(_whole(column)) for column in columns], names=names)
        distinct = keys.group_by(names, use_threads=False).aggregate([]).select(names)
        columns = [_whole(column) for column in distinct.columns]
        hashes = _hash_rows(columns)
        order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[order]
        self._columns = [column.take(pa.array(order)) for column in columns]
        # Bucket i holds the rows from starts[i] up to starts[i + 1]: the hashes are sorted, their first bits count them.
        bits = max(8, min(_MAX_TABLE_BITS, int(len(hashes) * _BUCKETS_PER_KEY).bit_length()))
        self._drop = np.uint64(64 - bits)
        sizes = np.bincount((self._hashes >> self._drop).astype(np.int64), minlength=1 << bits)
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)

    def __len__(self) -> int:
        return len(self._hashes)

    @property
    def nbytes(self) -> int:
        return int(self._hashes.nbytes + self._starts.nbytes + sum(column.nbytes for column in self._columns))

    def contains(self, columns: Sequence[pa.Array]) -> Mask:
        """Which rows of a batch's key columns, in the same order and of the same types, are in the set."""
        rows = len(columns[0])
        found = np.zeros(rows, dtype=np.bool_)
        if not len(self) or not rows:
            return found
        comparable = [as_comparable(column) for column in columns]
        hashes = _hash_rows(comparable)
        bucket = (hashes >> self._drop).astype(np.int64)
        position, end = self._starts[bucket], self._starts[bucket + 1]
        at = np.flatnonzero(position < end)
        position, end = position[at], end[at]
        while len(at):
            same_hash = np.flatnonzero(self._hashes[position] == hashes[at])
            equal = np.zeros(len(at), dtype=np.bool_)
            equal[same_hash] = self._equal(comparable, at[same_hash], position[same_hash])
            found[at[equal]] = True
            # The next row of the bucket, for those that have one and were not found yet.
            position = position + 1
            left = ~equal & (position < end)
            at, position, end = at[left], position[left], end[left]
        return found

    def _equal(self, columns: Sequence[pa.Array], at: npt.NDArray[Any], position: npt.NDArray[Any]) -> Mask:
        rows, keys = pa.array(at), pa.array(position)
        equal: Mask = np.ones(len(at), dtype=np.bool_)
        for column, own in zip(columns, self._columns, strict=True):
            left, right = column.take(rows), own.take(keys)
            same = pc.fill_null(pc.equal(left, right), False)
            if left.null_count:
                same = pc.or_(same, pc.and_(pc.is_null(left), pc.is_null(right)))
            equal &= same.to_numpy(zero_copy_only=False)
        return equal


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    combined = column.combine_chunks()
    # A column beyond 2 GiB of text stays in chunks; it must become one array to be indexed.
    if isinstance(combined, pa.ChunkedArray):
        return pa.concat_arrays(combined.chunks)
    return combined


def as_comparable(array: pa.Array) -> pa.Array:
    """The values as a type of which equality is equality of keys."""
    kind = array.type
    if pa.types.is_floating(kind):
        return _float_bits(array)
    if pa.types.is_fixed_size_binary(kind):
        return array.cast(pa.binary())
    if pa.types.is_date32(kind):
        return array.view(pa.int32())
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return array.view(pa.int64())
    return array


def _float_bits(array: pa.Array) -> pa.Array:
    numbers = array.fill_null(0).to_numpy(zero_copy_only=False)
    width: Any = np.int32 if array.type == pa.float32() else np.int64
    bits = np.where(np.isnan(numbers), np.array(np.nan, dtype=numbers.dtype), numbers).view(width)
    mask = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(bits, mask=mask)


def _hash_rows(columns: Sequence[pa.Array]) -> Hashes:
    combined = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        combined = _mix(combined * np.uint64(31) + _hash_column(column))
    return combined


def _hash_column(array: pa.Array) -> Hashes:
    kind = array.type
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
        kind = array.type
    if pa.types.is_integer(kind):
        numbers = array.fill_null(0) if array.null_count else array
        hashes = _mix(numbers.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64))
    elif pa.types.is_decimal(kind):
        hashes = _hash_decimals(array)
    else:
        hashes = hash_array(BINARY, array.cast(pa.large_binary())).astype(np.uint64)
    if array.null_count:
        hashes = np.where(array.is_null().to_numpy(zero_copy_only=False), _NULL_HASH, hashes)
    return hashes


def _hash_decimals(array: pa.Array) -> Hashes:
    """Of the two words of each value; what lies under a null is arbitrary."""
    words = np.frombuffer(array.buffers()[1], dtype=np.uint64).reshape(-1, 2)
    low, high = words[array.offset : array.offset + len(array)].T
    return _mix(_mix(low) + high)


def _mix(values: Hashes) -> Hashes:
    mixed = values * _MULTIPLIER
    return mixed ^ (mixed >> _SHIFT)
