"""Avro object container files: header, blocks, codecs: https://avro.apache.org/docs/1.12.0/specification/

Every length and count is checked against what remains before anything is sliced or allocated.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Final

from floeberg.errors import LimitExceeded, ManifestCorrupt, UnsupportedFeature
from floeberg.files.compression import CorruptStream, avro_decompressor, compress_avro_block
from floeberg.files.limits import DEFAULT_LIMITS, DecodeLimits

MAGIC: Final = b"Obj\x01"
ENCRYPTED_MAGIC: Final = b"AGS1"
SYNC_BYTES: Final = 16
BLOCK_BYTES: Final = 64_000
"""Uncompressed size at which a block is closed when writing, as the reference implementation has it."""

_SMALL_BLOCK_BYTES: Final = 8_192
_TAKING_TURNS: Final = threading.Lock()
"""Held while small blocks are decompressed: threads that do so at one time lose more by handing Python's lock to each other,
some microseconds for each block, than they win. Meanwhile others decode what they have."""


@dataclass(frozen=True, slots=True)
class Header:
    """A container's key-value metadata, and where its blocks begin."""

    metadata: Mapping[str, bytes]
    sync: bytes
    body_offset: int

    @property
    def codec(self) -> str:
        return self.metadata.get("avro.codec", b"null").decode("utf-8", "replace") or "null"

    def text(self, key: str) -> str | None:
        """A metadata value as text. Raises ManifestCorrupt if it is not UTF-8."""
        value = self.metadata.get(key)
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError as error:
            raise ManifestCorrupt(f"the value of {key!r} in the Avro header is not UTF-8", key=key) from error


def read_long(data: bytes | memoryview, offset: int) -> tuple[int, int]:
    """A zigzag varint and the offset behind it. Raises ManifestCorrupt."""
    if offset < len(data) and (byte := data[offset]) < 0x80:
        return (byte >> 1) ^ -(byte & 1), offset + 1
    value = shift = 0
    while True:
        if offset >= len(data):
            raise ManifestCorrupt("an Avro number runs past the end of the file; it is truncated")
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise ManifestCorrupt("an Avro number has more than 64 bits")
    value &= 0xFFFFFFFFFFFFFFFF
    return (value >> 1) ^ -(value & 1), offset


def encode_long(value: int) -> bytes:
    """A zigzag varint."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def read_header(data: bytes, limits: DecodeLimits = DEFAULT_LIMITS) -> Header:
    """Raises ManifestCorrupt, LimitExceeded, or UnsupportedFeature for an encrypted file."""
    if len(data) > limits.max_file_bytes:
        raise LimitExceeded(f"the file has {len(data)} bytes, more than {limits.max_file_bytes}", size=len(data))
    if data[:4] == ENCRYPTED_MAGIC:
        raise UnsupportedFeature("the file is encrypted (AES-GCM stream); reading encrypted metadata is not supported")
    if data[:4] != MAGIC:
        raise ManifestCorrupt("not an Avro file: it does not begin with 'Obj' and version 1")
    metadata: dict[str, bytes] = {}
    offset = 4
    while True:
        count, offset = read_long(data, offset)
        if count == 0:
            break
        if count < 0:
            count = -count
            _, offset = read_long(data, offset)
        if count > limits.max_header_keys or count > len(data) - offset:
            raise ManifestCorrupt(f"the Avro header claims {count} keys", keys=count)
        for _ in range(count):
            key, offset = _header_bytes(data, offset, limits)
            value, offset = _header_bytes(data, offset, limits)
            metadata[key.decode("utf-8", "replace")] = value
        if len(metadata) > limits.max_header_keys:
            raise LimitExceeded(f"the Avro header has more than {limits.max_header_keys} keys")
    if offset + SYNC_BYTES > len(data):
        raise ManifestCorrupt("the Avro header is truncated")
    return Header(metadata, data[offset : offset + SYNC_BYTES], offset + SYNC_BYTES)


def read_blocks(data: bytes, header: Header, limits: DecodeLimits = DEFAULT_LIMITS) -> tuple[int, bytearray]:
    """How many records there are, and their bytes, those of all blocks. Raises ManifestCorrupt, LimitExceeded."""
    (everything,) = read_block_groups(data, header, limits, at_once=limits.max_decoded_bytes + 1)
    return everything


def read_block_groups(
    data: bytes, header: Header, limits: DecodeLimits = DEFAULT_LIMITS, *, at_once: int
) -> Iterator[tuple[int, bytearray]]:
    """`read_blocks`, in groups of blocks that hold `at_once` bytes together; one group at least, if of no records."""
    blocks = _blocks(data, header)
    first = next(blocks, None)
    if first is None:
        yield 0, bytearray()
        return
    inflater = _Inflater(header.codec, limits, limits.output_bytes(len(data)), chain((first,), blocks))
    taking_turns = _TAKING_TURNS if len(first[1]) < _SMALL_BLOCK_BYTES else nullcontext()
    while True:
        with taking_turns:
            records, body = inflater.group(at_once)
        if not records:
            return
        yield records, body


@dataclass(slots=True)
class _Inflater:
    """Decompresses the blocks of one file, within its limits."""

    codec: str
    limits: DecodeLimits
    may_hold: int
    blocks: Iterator[tuple[int, memoryview]]
    records: int = 0
    held: int = 0

    def group(self, at_once: int) -> tuple[int, bytearray]:
        """What is in the next blocks, and how many records that is."""
        body = bytearray()
        decompress, records, may_hold = avro_decompressor(self.codec), 0, self.may_hold - self.held
        most_records, most_bytes = self.limits.max_records - self.records, self.limits.max_decoded_bytes
        enough = min(at_once, most_bytes - self.held + 1)
        for count, block in self.blocks:
            try:
                plain = decompress(block, may_hold - len(body))
            except CorruptStream as error:
                raise ManifestCorrupt(f"an Avro block cannot be decompressed: {error}") from error
            records += count
            if count > len(plain) or records > most_records:
                raise ManifestCorrupt(f"an Avro block of {len(plain)} bytes claims {count} records", records=count)
            body += plain
            if len(body) >= enough:
                break
        self.records += records
        self.held += len(body)
        if self.held > most_bytes:
            raise LimitExceeded(f"the Avro blocks hold more than {most_bytes} bytes")
        return records, body


def _blocks(data: bytes, header: Header) -> Iterator[tuple[int, memoryview]]:
    view, sync, total = memoryview(data), header.sync, len(data)
    offset = header.body_offset
    while offset < total:
        # Where each record is a block there are many, whose numbers take one and two bytes: these are read right here.
        if data[offset] < 0x80 and offset + 2 < total and data[offset + 1] >= 0x80 > data[offset + 2]:
            count, size = data[offset], data[offset + 1] & 0x7F | data[offset + 2] << 7
            count, size, offset = count >> 1 ^ -(count & 1), size >> 1 ^ -(size & 1), offset + 3
        else:
            count, offset = read_long(data, offset)
            size, offset = read_long(data, offset)
        end = offset + size
        if count < 0 or size < 0 or end + SYNC_BYTES > total:
            raise ManifestCorrupt(
                f"an Avro block claims {count} records in {size} bytes where {total - offset} remain; "
                "the file is truncated or damaged"
            )
        if data[end : end + SYNC_BYTES] != sync:
            raise ManifestCorrupt("the sync marker behind an Avro block is not the header's; the file is damaged")
        if count:
            yield count, view[offset:end]
        offset = end + SYNC_BYTES


def write_container(
    schema_json: bytes,
    blocks: Iterable[tuple[int, bytes]],
    *,
    metadata: Mapping[str, str],
    codec: str,
    level: int | None = None,
) -> bytes:
    """A container of blocks of encoded records, each with its count. The same input gives the same bytes: the sync
    marker is a digest of the header. `codec` is an Avro name."""
    pairs = {"avro.schema": schema_json, **{k: v.encode() for k, v in metadata.items()}, "avro.codec": codec.encode()}
    head = bytearray(MAGIC + encode_long(len(pairs)))
    for key, value in pairs.items():
        head += encode_long(len(key.encode())) + key.encode() + encode_long(len(value)) + value
    head += b"\x00"
    sync = hashlib.blake2b(head, digest_size=SYNC_BYTES).digest()
    out = [bytes(head), sync]
    for count, block in blocks:
        packed = compress_avro_block(codec, block, level)
        out += (encode_long(count), encode_long(len(packed)), packed, sync)
    return b"".join(out)


def blocked(records: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Records in blocks of about `BLOCK_BYTES`."""
    block: list[bytes] = []
    held = 0
    for record in records:
        block.append(record)
        held += len(record)
        if held >= BLOCK_BYTES:
            yield len(block), b"".join(block)
            block, held = [], 0
    if block:
        yield len(block), b"".join(block)


def _header_bytes(data: bytes, offset: int, limits: DecodeLimits) -> tuple[bytes, int]:
    size, offset = read_long(data, offset)
    if size < 0 or size > len(data) - offset:
        raise ManifestCorrupt(f"the Avro header claims a value of {size} bytes where {len(data) - offset} remain")
    if size > limits.max_header_bytes:
        raise LimitExceeded(f"the Avro header has a value of {size} bytes, more than {limits.max_header_bytes}")
    return data[offset : offset + size], offset + size
