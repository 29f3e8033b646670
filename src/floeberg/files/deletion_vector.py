"""Deletion vectors: the blob, and Puffin files of them: https://iceberg.apache.org/puffin-spec/#deletion-vector-v1-blob-type"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from pyroaring import BitMap64

from floeberg.errors import InvalidInput, LimitExceeded, PuffinCorrupt
from floeberg.files import roaring
from floeberg.files.limits import DEFAULT_LIMITS, DecodeLimits
from floeberg.files.puffin import DELETION_VECTOR_V1, Blob, write_puffin
from floeberg.spec.schemas.metadata_columns import ROW_POSITION

MAGIC: Final = b"\xd1\xd3\x39\x64"
MAX_POSITION: Final = (0x7FFFFFFE << 32) | 0x80000000
"""The greatest position that the reference implementation takes; no file has as many rows."""

_OVERHEAD: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenVector:
    """Where a data file's deletion vector is in the Puffin file, as its manifest entry must say."""

    referenced_data_file: str
    content_offset: int
    content_size_in_bytes: int
    cardinality: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenVectors:
    """A Puffin file of deletion vectors."""

    data: bytes
    vectors: tuple[WrittenVector, ...]


def encode_deletion_vector(positions: BitMap64) -> bytes:
    """The blob of a set of positions; equal sets give equal bytes. Raises InvalidInput for a position out of range."""
    if positions and positions.max() > MAX_POSITION:
        raise InvalidInput(f"position {positions.max()} is beyond {MAX_POSITION}, the last that a file can have")
    compact = BitMap64(positions)
    compact.run_optimize()
    body = MAGIC + compact.serialize()
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def decode_deletion_vector(
    blob: bytes, *, cardinality: int | None = None, limits: DecodeLimits = DEFAULT_LIMITS
) -> BitMap64:
    """The positions of a blob as a bitmap, which stays small however many they are. `cardinality` is what the manifest
    entry says (`record_count`). Raises PuffinCorrupt, LimitExceeded."""
    return BitMap64.deserialize(_vector(blob, cardinality, limits))


def decode_positions(
    blob: bytes, *, cardinality: int | None = None, limits: DecodeLimits = DEFAULT_LIMITS
) -> roaring.Positions:
    """The positions of a blob in ascending order. Raises PuffinCorrupt, LimitExceeded."""
    return roaring.positions(_vector(blob, cardinality, limits), limits=limits)


def bitmap_of(positions: Iterable[int] | roaring.Positions) -> BitMap64:
    """A bitmap of positions in any order. Raises InvalidInput for a negative one."""
    if isinstance(positions, np.ndarray):
        if positions.dtype.kind == "i" and len(positions) and int(positions.min()) < 0:
            raise InvalidInput(f"position {int(positions.min())} is negative")
        return BitMap64(positions.astype(np.uint64))
    try:
        return BitMap64(positions)
    except OverflowError as error:
        raise InvalidInput("a position is negative or beyond 64 bits") from error


def write_deletion_vectors(
    vectors: Mapping[str, BitMap64], *, properties: Mapping[str, str] | None = None
) -> WrittenVectors:
    """A Puffin file with one vector for each data file, by the path that the table's metadata has for it. Raises
    InvalidInput for an empty vector."""
    blobs: list[Blob] = []
    counts: list[int] = []
    for path, positions in vectors.items():
        if not positions:
            raise InvalidInput(f"the deletion vector of {path} deletes nothing", path=path)
        counts.append(len(positions))
        blobs.append(
            Blob(
                type=DELETION_VECTOR_V1,
                fields=(ROW_POSITION.field_id,),
                data=encode_deletion_vector(positions),
                properties={"referenced-data-file": path, "cardinality": str(len(positions))},
            )
        )
    written = write_puffin(blobs, properties=properties)
    return WrittenVectors(
        data=written.data,
        vectors=tuple(
            WrittenVector(
                referenced_data_file=path,
                content_offset=blob.offset,
                content_size_in_bytes=blob.length,
                cardinality=count,
            )
            for path, blob, count in zip(vectors, written.footer.blobs, counts, strict=True)
        ),
    )


def _vector(blob: bytes, cardinality: int | None, limits: DecodeLimits) -> bytes:
    """The Roaring bitmap in a blob, all of it checked."""
    if len(blob) > limits.max_decoded_bytes:
        raise LimitExceeded(f"a deletion vector of {len(blob)} bytes is more than {limits.max_decoded_bytes}")
    if len(blob) < _OVERHEAD:
        raise PuffinCorrupt(f"a deletion vector of {len(blob)} bytes is truncated")
    (length,) = struct.unpack_from(">I", blob)
    if length != len(blob) - 8:
        raise PuffinCorrupt(f"a deletion vector of {len(blob)} bytes claims {length} bytes of content")
    if blob[4:8] != MAGIC:
        raise PuffinCorrupt(f"a deletion vector begins with {blob[4:8].hex()} instead of {MAGIC.hex()}")
    if zlib.crc32(blob[4:-4]) != struct.unpack(">I", blob[-4:])[0]:
        raise PuffinCorrupt("the checksum of a deletion vector does not match; the file is damaged")
    vector = blob[8:-4]
    found = roaring.cardinality(vector, limits=limits)
    if cardinality is not None and found != cardinality:
        raise PuffinCorrupt(f"a deletion vector has {found} positions, its manifest entry says {cardinality}")
    return vector
