"""64-bit Roaring bitmaps in the portable format, checked before any library sees them.

https://github.com/RoaringBitmap/RoaringFormatSpec. A bitmap that is well-formed byte by byte can still break a library
that trusts its order and cardinalities, and a few bytes of runs can stand for billions of positions; so the whole
structure is walked here first.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from floeberg.errors import LimitExceeded, PuffinCorrupt
from floeberg.files.limits import DEFAULT_LIMITS, DecodeLimits

Positions = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

MAX_KEY: Final = 0x7FFFFFFF
"""Positions are positive 64-bit numbers: the highest bit of a key must be 0."""

_COOKIE_NO_RUNS: Final = 12346
_COOKIE_RUNS: Final = 12347
_OFFSETS_FROM: Final = 4
_ARRAY_MAX: Final = 4096
_BITSET_BYTES: Final = 8192
_SPAN: Final = 1 << 16
_ONE_ARRAY: Final = struct.Struct("<QIIIHHI")
"""The count of keys, the key, cookie, count of containers, container's key and cardinality, and its offset: all that stands
before the values of a bitmap of one array."""
_FEW: Final = 64


@dataclass(frozen=True, slots=True)
class _Containers:
    """The containers of one 32-bit bitmap, each of 65,536 positions from its base, and where they are in the data."""

    bases: Numbers
    cards: Numbers
    starts: Numbers
    is_run: npt.NDArray[np.bool_]
    run_counts: Numbers

    @property
    def sizes(self) -> Numbers:
        packed = np.where(self.cards <= _ARRAY_MAX, 2 * self.cards, _BITSET_BYTES)
        return np.where(self.is_run, 2 + 4 * self.run_counts, packed)


def cardinality(data: bytes, *, limits: DecodeLimits = DEFAULT_LIMITS) -> int:
    """How many positions there are, after checking all of the structure. Raises PuffinCorrupt, LimitExceeded."""
    if (few := _few_positions(data)) is not None:
        return few
    octets = np.frombuffer(data, dtype=np.uint8)
    total = 0
    for containers in _bitmaps(data, limits):
        _check(octets, containers)
        total += int(containers.cards.sum())
    return total


def _few_positions(data: bytes) -> int | None:
    """How many positions a valid bitmap of one small array has; None for any other. Most deletion vectors are such bitmaps, for
    which numpy's calls take far longer than the check itself."""
    count, odd = divmod(len(data) - _ONE_ARRAY.size, 2)
    if odd or not 0 < count <= _FEW:
        return None
    keys, key, cookie, containers, _, card, offset = _ONE_ARRAY.unpack_from(data)
    if (keys, cookie, containers, card + 1, offset) != (1, _COOKIE_NO_RUNS, 1, count, 16) or key > MAX_KEY:
        return None
    values = struct.unpack_from(f"<{count}H", data, _ONE_ARRAY.size)
    return count if all(one < other for one, other in pairwise(values)) else None


def positions(data: bytes, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Positions:
    """The positions in ascending order. Raises PuffinCorrupt, LimitExceeded."""
    if (count := cardinality(data, limits=limits)) > limits.max_positions:
        raise LimitExceeded(f"a bitmap of {count} positions is more than {limits.max_positions}", positions=count)
    octets = np.frombuffer(data, dtype=np.uint8)
    parts = [part for containers in _bitmaps(data, limits) for part in _expanded(octets, containers)]
    out = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    out.sort(kind="stable")
    return out.view(np.uint64)


def _bitmaps(data: bytes, limits: DecodeLimits) -> Iterator[_Containers]:
    """The 32-bit bitmaps, their places and order checked, their contents not yet."""
    if len(data) < 8:
        raise PuffinCorrupt("a Roaring bitmap is shorter than its count")
    (count,) = struct.unpack_from("<Q", data)
    at = 8
    last = -1
    if count > (len(data) - at) // 12:
        raise PuffinCorrupt(f"a Roaring bitmap of {len(data)} bytes claims {count} keys")
    if count > limits.max_bitmap_keys:
        raise LimitExceeded(f"a Roaring bitmap has {count} keys, more than {limits.max_bitmap_keys}", keys=count)
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
        containers, at = _bitmap(data, at + 4, key << 32)
        yield containers
    if at != len(data):
        raise PuffinCorrupt(f"{len(data) - at} bytes follow the end of a Roaring bitmap")


def _bitmap(data: bytes, start: int, base: int) -> tuple[_Containers, int]:
    """The containers of the 32-bit bitmap at `start`, and the offset behind it."""
    count, runs, at = _cookie(data, start)
    has_offsets = runs is None or count >= _OFFSETS_FROM
    body = at + 4 * count + (4 * count if has_offsets else 0)
    if count > _SPAN or body > len(data):
        raise PuffinCorrupt(f"a Roaring bitmap claims {count} containers where {len(data) - at} bytes remain")
    header = np.frombuffer(data, dtype="<u2", count=2 * count, offset=at).astype(np.int64)
    is_run = np.zeros(count, dtype=np.bool_)
    if runs is not None:
        is_run = np.unpackbits(np.frombuffer(runs, dtype=np.uint8), bitorder="little")[:count].astype(np.bool_)
    starts = _starts(data, start, at + 4 * count, body, header[1::2] + 1, is_run, has_offsets)
    if count and (int(starts.min()) < body or int(starts.max()) + 2 > len(data)):
        raise PuffinCorrupt("a container of a Roaring bitmap is truncated")
    run_counts = np.zeros(count, dtype=np.int64)
    run_counts[is_run] = _u16(np.frombuffer(data, dtype=np.uint8), starts[is_run])
    containers = _Containers(base + (header[0::2] << 16), header[1::2] + 1, starts, is_run, run_counts)
    ends = body + np.cumsum(containers.sizes)
    end = int(ends[-1]) if count else body
    if end > len(data) or not np.array_equal(starts, ends - containers.sizes):
        raise PuffinCorrupt("a container of a Roaring bitmap is truncated or not where the header says")
    return containers, end


def _cookie(data: bytes, at: int) -> tuple[int, bytes | None, int]:
    """The number of containers, which of them are runs (a bitset, None if none can be), and the offset behind."""
    if at + 4 > len(data):
        raise PuffinCorrupt("a Roaring bitmap is truncated")
    (cookie,) = struct.unpack_from("<I", data, at)
    at += 4
    if cookie & 0xFFFF == _COOKIE_RUNS:
        count = (cookie >> 16) + 1
        flags = (count + 7) // 8
        if at + flags > len(data):
            raise PuffinCorrupt("a Roaring bitmap is truncated")
        return count, data[at : at + flags], at + flags
    if cookie == _COOKIE_NO_RUNS and at + 4 <= len(data):
        return struct.unpack_from("<I", data, at)[0], None, at + 4
    raise PuffinCorrupt(f"a Roaring bitmap begins with {cookie}, which is no cookie of the format")


def _starts(
    data: bytes,
    start: int,
    offsets_at: int,
    body: int,
    cards: Numbers,
    is_run: npt.NDArray[np.bool_],
    has_offsets: bool,
) -> Numbers:
    """Where each container begins: from the offset header, or one after the other where there are too few for one."""
    if has_offsets:
        return start + np.frombuffer(data, dtype="<u4", count=len(cards), offset=offsets_at).astype(np.int64)
    out: list[int] = []
    at = body
    for card, run in zip(cards.tolist(), is_run.tolist(), strict=True):
        out.append(at)
        if run:
            if at + 2 > len(data):
                raise PuffinCorrupt("a container of a Roaring bitmap is truncated")
            at += 2 + 4 * int(struct.unpack_from("<H", data, at)[0])
        else:
            at += 2 * card if card <= _ARRAY_MAX else _BITSET_BYTES
    return np.array(out, dtype=np.int64)


def _check(octets: npt.NDArray[np.uint8], containers: _Containers) -> None:
    """Raises PuffinCorrupt unless containers and values are in order, and as many as the headers say."""
    is_array = ~containers.is_run & (containers.cards <= _ARRAY_MAX)
    values = _array_values(octets, containers, is_array)
    starts, lengths, owners = _runs(octets, containers)
    run_cards = np.bincount(owners, weights=lengths, minlength=len(containers.cards)).astype(np.int64)
    ordered = (
        bool((np.diff(containers.bases) > 0).all())
        and bool((np.diff(values) > 0).all())
        and bool((starts[1:] >= starts[:-1] + lengths[:-1]).all())
        and bool((starts % _SPAN + lengths <= _SPAN).all())
        and bool((run_cards[containers.is_run] == containers.cards[containers.is_run]).all())
    )
    for place in np.flatnonzero(~containers.is_run & ~is_array).tolist():
        at = int(containers.starts[place])
        found = int(np.bitwise_count(octets[at : at + _BITSET_BYTES].view(np.uint64)).sum())
        ordered = ordered and found == int(containers.cards[place])
    if not ordered:
        raise PuffinCorrupt("a container of a Roaring bitmap is not in order, or not of the cardinality it claims")


def _expanded(octets: npt.NDArray[np.uint8], containers: _Containers) -> Iterator[Numbers]:
    """The positions of the arrays, of the runs, and of each bitset."""
    is_array = ~containers.is_run & (containers.cards <= _ARRAY_MAX)
    yield _array_values(octets, containers, is_array)
    starts, lengths, _ = _runs(octets, containers)
    yield np.arange(int(lengths.sum())) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    for place in np.flatnonzero(~containers.is_run & ~is_array).tolist():
        at = int(containers.starts[place])
        bits = np.unpackbits(octets[at : at + _BITSET_BYTES], bitorder="little")
        yield np.flatnonzero(bits) + containers.bases[place]


def _array_values(octets: npt.NDArray[np.uint8], containers: _Containers, is_array: npt.NDArray[np.bool_]) -> Numbers:
    counts = containers.cards[is_array]
    places = _within(counts)
    found = _u16(octets, np.repeat(containers.starts[is_array], counts) + 2 * places)
    return found + np.repeat(containers.bases[is_array], counts)


def _runs(octets: npt.NDArray[np.uint8], containers: _Containers) -> tuple[Numbers, Numbers, Numbers]:
    """First position, length and container of every run."""
    counts = containers.run_counts[containers.is_run]
    at = np.repeat(containers.starts[containers.is_run] + 2, counts) + 4 * _within(counts)
    owners = np.repeat(np.flatnonzero(containers.is_run), counts)
    return _u16(octets, at) + containers.bases[owners], _u16(octets, at + 2) + 1, owners


def _within(counts: Numbers) -> Numbers:
    """0, 1, 2 … for each of the counts."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def _u16(octets: npt.NDArray[np.uint8], at: Numbers) -> Numbers:
    return octets[at].astype(np.int64) | octets[at + 1].astype(np.int64) << 8
