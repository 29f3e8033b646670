"""128-bit Murmur3 over whole arrays, in numpy: the hash of DataSketches, of values in their single-value serialization."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from floeberg.arrow.columns.physical import physical_value
from floeberg.spec.types import DecimalType, IcebergType
from floeberg.spec.values.single_value import to_bytes

Words: TypeAlias = NDArray[np.uint64]
_BLOCK: Final = 16
_SLICE_ROWS: Final = 16_384
_C1: Final = np.uint64(0x87C37B91114253D5)
_C2: Final = np.uint64(0x4CF5AD432745937F)
_F1: Final = np.uint64(0xFF51AFD7ED558CCD)
_F2: Final = np.uint64(0xC4CEB9FE1A85EC53)


def distinct_hashes(array: Any, data_type: IcebergType, *, seed: int) -> Words:
    """The upper half of each distinct value's hash, without its lowest bit, as DataSketches has it. Nulls and values of no
    bytes have none."""
    values = (array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array).unique().drop_null()
    data, starts, lengths = _serialized(values, data_type)
    filled = lengths > 0
    return hash_slices(data, starts[filled], lengths[filled], seed=seed) >> np.uint64(1)


def _serialized(values: Any, data_type: IcebergType) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """https://iceberg.apache.org/spec/#binary-single-value-serialization: the bytes of all values, and where each lies."""
    if isinstance(data_type, DecimalType):
        parts = [to_bytes(data_type, physical_value(value, data_type)) for value in values]
        values = pa.array(parts, pa.large_binary())
    kind = values.type
    if pa.types.is_boolean(kind):
        values, kind = values.cast(pa.uint8()), pa.uint8()
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind) or (
        pa.types.is_large_binary(kind)
    ):  # fmt: skip
        wide = values.cast(pa.large_binary())
        _, offsets, data = wide.buffers()
        ends = np.frombuffer(offsets, np.int64)[wide.offset : wide.offset + len(wide) + 1]
        octets = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        return octets, ends[:-1].copy(), np.diff(ends)
    width = kind.byte_width if pa.types.is_fixed_size_binary(kind) else kind.bit_width // 8
    octets = np.frombuffer(values.buffers()[1], np.uint8)
    return octets, (np.arange(len(values)) + values.offset) * width, np.full(len(values), width)


def hash_slices(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64], *, seed: int) -> Words:
    """The first 64 bits of the hash of each run of `lengths[i]` bytes from `starts[i]`."""
    result = np.empty(len(starts), dtype=np.uint64)
    padded = np.concatenate((data, np.zeros(_BLOCK, np.uint8)))
    words: Words = np.ndarray(shape=(len(data) + 1, 2), dtype="<u8", buffer=padded.data, strides=(1, 8))
    for start in range(0, len(starts), _SLICE_ROWS):
        part = slice(start, start + _SLICE_ROWS)
        result[part] = _hash(words, starts[part], lengths[part], np.uint64(seed))
    return result


def _hash(words: Words, starts: NDArray[np.int64], lengths: NDArray[np.int64], seed: np.uint64) -> Words:
    """Rounds over blocks of sixteen bytes, longest values first, so that those with a block left are always a prefix."""
    blocks = lengths // _BLOCK
    order = np.argsort(-blocks, kind="stable")
    places, sizes, left = starts[order], lengths[order], blocks[order]
    h1, h2 = np.full(len(order), seed), np.full(len(order), seed)
    for number in range(int(left[0]) if len(left) else 0):
        count = int(np.searchsorted(-left, -number, side="left"))
        block = words[places[:count]]
        _mix(h1[:count], h2[:count], block[:, 0], block[:, 1])
        places[:count] += _BLOCK
    _mix_tail(h1, h2, words[places], (sizes % _BLOCK).astype(np.uint64))
    h1 ^= sizes.astype(np.uint64)
    h2 ^= sizes.astype(np.uint64)
    h1 += h2
    h2 += h1
    result = np.empty_like(h1)
    result[order] = _finished(h1) + _finished(h2)
    return result


def _mix(h1: Words, h2: Words, k1: Words, k2: Words) -> None:
    h1 ^= _scrambled(k1, 31, _C1, _C2)
    h1[:] = _rotated(h1, 27)
    h1 += h2
    h1 *= np.uint64(5)
    h1 += np.uint64(0x52DCE729)
    h2 ^= _scrambled(k2, 33, _C2, _C1)
    h2[:] = _rotated(h2, 31)
    h2 += h1
    h2 *= np.uint64(5)
    h2 += np.uint64(0x38495AB5)


def _mix_tail(h1: Words, h2: Words, block: Words, sizes: Words) -> None:
    """A tail of no bytes is a block of zeros, which leaves the hash as it is."""
    h2 ^= _scrambled(block[:, 1] & _low_bytes(np.maximum(sizes, np.uint64(8)) - np.uint64(8)), 33, _C2, _C1)
    h1 ^= _scrambled(block[:, 0] & _low_bytes(np.minimum(sizes, np.uint64(8))), 31, _C1, _C2)


def _low_bytes(counts: Words) -> Words:
    """A mask of the lowest 0 to 8 bytes of a word."""
    shift = np.uint64(64) - np.minimum(counts, np.uint64(8)) * np.uint64(8)
    full = np.uint64(0xFFFFFFFFFFFFFFFF)
    return np.where(counts == 0, np.uint64(0), full >> np.minimum(shift, np.uint64(63)))


def _scrambled(block: Words, bits: int, first: np.uint64, second: np.uint64) -> Words:
    scrambled: Words = _rotated(block * first, bits) * second
    return scrambled


def _rotated(words: Words, bits: int) -> Words:
    rotated: Words = (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
    return rotated


def _finished(h: Words) -> Words:
    h = h ^ (h >> np.uint64(33))
    h = h * _F1
    h = h ^ (h >> np.uint64(33))
    h = h * _F2
    return h ^ (h >> np.uint64(33))
