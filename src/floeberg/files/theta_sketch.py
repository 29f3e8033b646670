"""Theta sketches of Apache DataSketches in their compact form: how many distinct values there are, in bounded space.

https://iceberg.apache.org/puffin-spec/#apache-datasketches-theta-v1-blob-type. A sketch keeps the smallest of the values'
hashes; `theta` is the hash below which it kept all of them. https://datasketches.apache.org/docs/Theta/ThetaSketchFramework.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from floeberg.errors import PuffinCorrupt

Hashes = NDArray[np.uint64]

NOMINAL_ENTRIES: Final = 4096
"""How many hashes are kept, as in the library: a relative error of about 1.6 %."""
MAX_THETA: Final = 2**63 - 1
DEFAULT_SEED: Final = 9001
_SEED_HASH: Final = 0x93CC
"""Of the default seed: sketches of different seeds are never put together."""

_VERSION: Final = 3
_COMPACT_FAMILY: Final = 3
_READ_ONLY, _EMPTY, _COMPACT, _ORDERED, _SINGLE = 0x02, 0x04, 0x08, 0x10, 0x20
_HEAD: Final = struct.Struct("<BBBBBBH")
_COUNT: Final = struct.Struct("<if")


def _no_hashes() -> Hashes:
    return np.empty(0, dtype=np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class ThetaSketch:
    """The distinct hashes below `theta`, in ascending order."""

    hashes: Hashes = field(default_factory=_no_hashes)
    theta: int = MAX_THETA

    @property
    def estimate(self) -> float:
        """About how many distinct values there are; exact while theta is at its maximum."""
        return len(self.hashes) * (MAX_THETA / self.theta)

    @property
    def is_empty(self) -> bool:
        return self.theta == MAX_THETA and not len(self.hashes)


def sketch_of(hashes: Iterable[Hashes], *, theta: int = MAX_THETA) -> ThetaSketch:
    """The sketch of values by their hashes: 63 bits each, 0 for none."""
    kept = np.unique(np.concatenate([_no_hashes(), *hashes]))
    kept = kept[(kept > 0) & (kept < np.uint64(theta))]
    if len(kept) > NOMINAL_ENTRIES:
        theta = int(kept[NOMINAL_ENTRIES])
        kept = kept[:NOMINAL_ENTRIES]
    return ThetaSketch(kept, theta)


def union(sketches: Iterable[ThetaSketch]) -> ThetaSketch:
    """The sketch of all the values of several sketches."""
    given = list(sketches)
    return sketch_of((one.hashes for one in given), theta=min((one.theta for one in given), default=MAX_THETA))


def write_sketch(sketch: ThetaSketch) -> bytes:
    """The compact, ordered form."""
    count = len(sketch.hashes)
    flags = _READ_ONLY | _COMPACT | _ORDERED
    content = sketch.hashes.astype("<u8").tobytes()
    if sketch.is_empty:
        return _HEAD.pack(1, _VERSION, _COMPACT_FAMILY, 0, 0, flags | _EMPTY, _SEED_HASH)
    if sketch.theta == MAX_THETA and count == 1:
        return _HEAD.pack(1, _VERSION, _COMPACT_FAMILY, 0, 0, flags | _SINGLE, _SEED_HASH) + content
    if sketch.theta == MAX_THETA:
        return _HEAD.pack(2, _VERSION, _COMPACT_FAMILY, 0, 0, flags, _SEED_HASH) + _COUNT.pack(count, 1.0) + content
    head = _HEAD.pack(3, _VERSION, _COMPACT_FAMILY, 0, 0, flags, _SEED_HASH)
    return head + _COUNT.pack(count, 1.0) + struct.pack("<q", sketch.theta) + content


def read_sketch(data: bytes) -> ThetaSketch:
    """A compact sketch of version 3. Raises PuffinCorrupt."""
    if len(data) < _HEAD.size:
        raise PuffinCorrupt(f"a theta sketch has at least {_HEAD.size} bytes, not {len(data)}")
    longs, version, family, _, _, flags, seed_hash = _HEAD.unpack_from(data)
    if (version, family) != (_VERSION, _COMPACT_FAMILY) or not flags & _COMPACT or not 1 <= longs & 0x3F <= 3:
        raise PuffinCorrupt(f"not a compact theta sketch of version {_VERSION}: {data[:8].hex()}")
    if flags & _EMPTY:
        return ThetaSketch()
    if seed_hash != _SEED_HASH:
        raise PuffinCorrupt(f"a theta sketch of another seed than the default: its seed's hash is {seed_hash:#x}")
    longs &= 0x3F
    count = 1 if longs == 1 else _COUNT.unpack_from(data, _HEAD.size)[0]
    theta = struct.unpack_from("<q", data, 16)[0] if longs == 3 and len(data) >= 24 else MAX_THETA
    if count < 0 or len(data) != 8 * (longs + count):
        raise PuffinCorrupt(f"a theta sketch of {count} hashes has {8 * (longs + count)} bytes, not {len(data)}")
    hashes = np.sort(np.frombuffer(data, "<u8", offset=8 * longs).astype(np.uint64))
    return ThetaSketch(hashes, theta)
