"""32-bit Murmur3 over whole arrays, in numpy: https://iceberg.apache.org/spec/#appendix-b-32-bit-hash-requirements

Equal to `spec/values/murmur3.py` on every value. Work goes in slices that stay in the processor's cache.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from floeberg.spec.values.murmur3 import C1, C2, hash_bytes

_SLICE_ROWS: Final = 16_384
_LONGEST_VECTORISED: Final = 1_024
"""A longer value is hashed alone: a round over the few that are left costs more than it saves."""

_TAIL_MASKS: Final = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], dtype=np.uint32)
_C1: Final = np.uint32(C1)
_C2: Final = np.uint32(C2)
_FIVE: Final = np.uint32(5)
_N: Final = np.uint32(0xE6546B64)
_F1: Final = np.uint32(0x85EBCA6B)
_F2: Final = np.uint32(0xC2B2AE35)


def hash_longs(values: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The hash of each 64-bit integer, unsigned."""
    words = np.ascontiguousarray(values, dtype="<i8").view("<u4").reshape(-1, 2)
    result = np.empty(len(values), dtype=np.uint32)
    for start in range(0, len(values), _SLICE_ROWS):
        part = words[start : start + _SLICE_ROWS]
        h = result[start : start + _SLICE_ROWS]
        h[:] = 0
        _mix(h, part[:, 0].copy())
        _mix(h, part[:, 1].copy())
        h ^= np.uint32(8)
        _finish(h)
    return result


def hash_slices(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The hash of each run of `lengths[i]` bytes from `starts[i]`, unsigned."""
    result = np.empty(len(starts), dtype=np.uint32)
    # Room for four bytes from any place, so that one gather reads a word.
    padded = np.concatenate((data, np.zeros(4, dtype=np.uint8)))
    words: NDArray[np.uint32] = np.ndarray(shape=(len(data) + 1,), dtype="<u4", buffer=padded.data, strides=(1,))
    for start in range(0, len(starts), _SLICE_ROWS):
        part = slice(start, start + _SLICE_ROWS)
        result[part] = _hash_short(words, starts[part], lengths[part])
    for row in np.flatnonzero(lengths > _LONGEST_VECTORISED):
        run = data[starts[row] : starts[row] + lengths[row]].tobytes()
        result[row] = hash_bytes(run) & 0xFFFFFFFF
    return result


def _hash_short(words: NDArray[np.uint32], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Rounds over blocks of four bytes, longest values first, so that those with a block left are always a prefix."""
    capped = np.where(lengths > _LONGEST_VECTORISED, 0, lengths)
    blocks = capped >> 2
    # Small unsigned keys let numpy sort by radix, in linear time.
    order = np.argsort((_LONGEST_VECTORISED - blocks).astype(np.uint16), kind="stable")
    places, sizes = starts[order], capped[order]
    counts = len(blocks) - np.cumsum(np.bincount(blocks))[:-1]
    h = np.zeros(len(places), dtype=np.uint32)
    for count in counts:
        _mix(h[:count], words[places[:count]])
        places[:count] += 4
    _mix_tail(h, words, places, sizes & 3)
    h ^= sizes.astype(np.uint32)
    _finish(h)
    result = np.empty_like(h)
    result[order] = h
    return result


def _mix_tail(
    h: NDArray[np.uint32], words: NDArray[np.uint32], places: NDArray[np.int64], sizes: NDArray[np.int64]
) -> None:
    block = words[places]
    block &= _TAIL_MASKS[sizes]  # no tail is a block of zeros, which leaves the hash as it is
    _scramble(block)
    h ^= block


def _scramble(block: NDArray[np.uint32]) -> None:
    block *= _C1
    high = block << np.uint32(15)
    block >>= np.uint32(17)
    block |= high
    block *= _C2


def _mix(h: NDArray[np.uint32], block: NDArray[np.uint32]) -> None:
    _scramble(block)
    h ^= block
    high = h << np.uint32(13)
    h >>= np.uint32(19)
    h |= high
    h *= _FIVE
    h += _N


def _finish(h: NDArray[np.uint32]) -> None:
    h ^= h >> np.uint32(16)
    h *= _F1
    h ^= h >> np.uint32(13)
    h *= _F2
    h ^= h >> np.uint32(16)
