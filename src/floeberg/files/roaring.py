"""64-bit Roaring bitmaps in the portable format, checked before any library sees them.

https://github.com/RoaringBitmap/RoaringFormatSpec. A bitmap that is well-formed byte by byte can still break a library
that trusts its order and cardinalities, and a few bytes of runs can stand for billions of positions; so the whole
structure is walked here first.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from floeberg.errors import LimitExceeded, PuffinCorrupt
from floeberg.files.limits import DEFAULT_LIMITS, DecodeLimits

Positions = npt.NDArray[np.uint64]

MAX_KEY: Final = 0x7FFFFFFF
"""Positions are positive 64-bit numbers: the highest bit of a key must be 0."""

_COOKIE_NO_RUNS: Final = 12346
_COOKIE_RUNS: Final = 12347
_OFFSETS_FROM: Final = 4
_ARRAY_MAX: Final = 4096
_BITSET_BYTES: Final = 8192


@dataclass(frozen=True, slots=True)
class _Container:
    """65,536 positions from `base`: an array, a bitset or runs, at `start` of the data."""

    base: int
    cardinality: int
    kind: str
    start: int
    end: int


def cardinality(data: bytes) -> int:
    """How many positions there are, after checking all of the structure. Raises PuffinCorrupt."""
    return sum(container.cardinality for container in _containers(data))


def positions(data: bytes, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Positions:
    """The positions in ascending order. Raises PuffinCorrupt, LimitExceeded."""
    containers = list(_containers(data))
    count = sum(container.cardinality for container in containers)
    if count > limits.max_positions:
        raise LimitExceeded(f"a bitmap of {count} positions is more than {limits.max_positions}", positions=count)
    out = np.empty(count, dtype=np.uint64)
    at = 0
    for container in containers:
        low = _low_bits(data, container)
        np.add(low, np.uint64(container.base), out=out[at : at + len(low)], dtype=np.uint64)
        at += len(low)
    return out


def _containers(data: bytes) -> Iterator[_Container]:
    """Every container, each checked when it is reached."""
    if len(data) < 8:
        raise PuffinCorrupt("a Roaring bitmap is shorter than its count")
    (count,) = struct.unpack_from("<Q", data)
    at = 8
    last = -1
    if count > (len(data) - at) // 12:
        raise PuffinCorrupt(f"a Roaring bitmap of {len(data)} bytes claims {count} keys")
    for _ in range(count):
        if at + 4 > len(data):
            raise PuffinCorrupt("a Roaring bitmap is truncated")
        (key,) = struct.unpack_from("<I", data, at)
        if key > MAX_KEY:
            raise PuffinCorrupt(
                f"a Roaring bitmap has the key {key}, above the 31 bits of a positive position", key=key
            )
        if key <= last:
            raise PuffinCorrupt("the keys of a Roaring bitmap are not in ascending order")
        last = key
        at += 4
        containers, at = _containers_of_key(data, at, key << 32)
        yield from containers
    if at != len(data):
        raise PuffinCorrupt(f"{len(data) - at} bytes follow the end of a Roaring bitmap")


def _containers_of_key(data: bytes, at: int, base: int) -> tuple[list[_Container], int]:
    """The containers of a 32-bit bitmap, and the offset behind it."""
    out: list[_Container] = []
    runs, headers, at = _header(data, at)
    keys, cards = headers[0::2].astype(np.int64), headers[1::2].astype(np.int64) + 1
    if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
        raise PuffinCorrupt("the containers of a Roaring bitmap are not in ascending order")
    for place, (key, card) in enumerate(zip(keys.tolist(), cards.tolist(), strict=True)):
        if runs is not None and runs[place >> 3] >> (place & 7) & 1:
            kind, size = "runs", _run_bytes(data, at)
        elif card <= _ARRAY_MAX:
            kind, size = "array", 2 * card
        else:
            kind, size = "bitset", _BITSET_BYTES
        if at + size > len(data):
            raise PuffinCorrupt("a container of a Roaring bitmap is truncated")
        container = _Container(base + (key << 16), card, kind, at, at + size)
        _check(data, container)
        out.append(container)
        at += size
    return out, at


def _header(data: bytes, at: int) -> tuple[bytes | None, npt.NDArray[np.uint16], int]:
    """Which containers are runs, (key, cardinality - 1) of each, and where the first begins."""
    if at + 4 > len(data):
        raise PuffinCorrupt("a Roaring bitmap is truncated")
    (cookie,) = struct.unpack_from("<I", data, at)
    at += 4
    runs: bytes | None = None
    if cookie & 0xFFFF == _COOKIE_RUNS:
        count = (cookie >> 16) + 1
        runs = data[at : at + (count + 7) // 8]
        at += (count + 7) // 8
    elif cookie == _COOKIE_NO_RUNS and at + 4 <= len(data):
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
    else:
        raise PuffinCorrupt(f"a Roaring bitmap begins with {cookie}, which is no cookie of the format")
    offsets = 4 * count if runs is None or count >= _OFFSETS_FROM else 0
    if count > 1 << 16 or at + 4 * count + offsets > len(data):
        raise PuffinCorrupt(f"a Roaring bitmap claims {count} containers where {len(data) - at} bytes remain")
    headers = np.frombuffer(data, dtype="<u2", count=2 * count, offset=at)
    return runs, headers, at + 4 * count + offsets


def _run_bytes(data: bytes, at: int) -> int:
    if at + 2 > len(data):
        raise PuffinCorrupt("a container of a Roaring bitmap is truncated")
    (count,) = struct.unpack_from("<H", data, at)
    return 2 + 4 * int(count)


def _check(data: bytes, container: _Container) -> None:
    """Raises PuffinCorrupt unless the values are in order and as many as the header says."""
    if container.kind == "bitset":
        words = np.frombuffer(data, dtype=np.uint64, count=_BITSET_BYTES // 8, offset=container.start)
        found, ordered = int(np.bitwise_count(words).sum()), True
    elif container.kind == "array":
        values = np.frombuffer(data, dtype="<u2", count=container.cardinality, offset=container.start)
        found, ordered = len(values), bool((values[1:] > values[:-1]).all())
    else:
        starts, lengths = _runs(data, container)
        ends = starts + lengths
        found = int((lengths + 1).sum())
        ordered = bool((starts[1:] > ends[:-1]).all()) and (len(ends) == 0 or int(ends[-1]) < 1 << 16)
    if not ordered or found != container.cardinality:
        raise PuffinCorrupt("a container of a Roaring bitmap is not in order, or not of the cardinality it claims")


def _runs(data: bytes, container: _Container) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    count = (container.end - container.start - 2) // 4
    pairs = np.frombuffer(data, dtype="<u2", count=2 * count, offset=container.start + 2).astype(np.int64)
    return pairs[0::2], pairs[1::2]


def _low_bits(data: bytes, container: _Container) -> Positions:
    if container.kind == "array":
        values = np.frombuffer(data, dtype="<u2", count=container.cardinality, offset=container.start)
        return values.astype(np.uint64)
    if container.kind == "bitset":
        octets = np.frombuffer(data, dtype=np.uint8, count=_BITSET_BYTES, offset=container.start)
        return np.flatnonzero(np.unpackbits(octets, bitorder="little")).astype(np.uint64)
    starts, lengths = _runs(data, container)
    counts = lengths + 1
    skipped = np.repeat(starts - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
    return (np.arange(container.cardinality, dtype=np.int64) + skipped).astype(np.uint64)
