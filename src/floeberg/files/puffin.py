"""Puffin files: https://iceberg.apache.org/puffin-spec/

Blobs of any type are carried through. A file's footer can be read from its tail alone, and a blob from its own range.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from floeberg.errors import InvalidInput, LimitExceeded, MetadataCorrupt, PuffinCorrupt, UnsupportedFeature
from floeberg.files.compression import CorruptStream, lz4_compress, unlz4, unzstd, zstd_compress
from floeberg.files.limits import DEFAULT_LIMITS, DecodeLimits
from floeberg.spec.json.strict import decode_object

MAGIC: Final = b"PFA1"
TAIL_BYTES: Final = 12
"""Payload size, flags and magic: with these the length of the whole footer is known."""

DELETION_VECTOR_V1: Final = "deletion-vector-v1"
THETA_SKETCH_V1: Final = "apache-datasketches-theta-v1"
_COMPRESSED: Final = b"\x01\x00\x00\x00"
_PLAIN: Final = b"\x00\x00\x00\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobMetadata:
    """A blob as the footer describes it: https://iceberg.apache.org/puffin-spec/#blobmetadata"""

    type: str
    fields: tuple[int, ...]
    snapshot_id: int
    sequence_number: int
    offset: int
    length: int
    compression_codec: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PuffinFooter:
    """What a Puffin file holds."""

    blobs: tuple[BlobMetadata, ...]
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """A blob to be written; `data` is what it holds before compression."""

    type: str
    fields: tuple[int, ...]
    data: bytes
    snapshot_id: int = -1
    sequence_number: int = -1
    compression_codec: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPuffin:
    """A Puffin file's bytes and where its blobs are in it."""

    data: bytes
    footer: PuffinFooter
    footer_size_in_bytes: int


def footer_length(tail: bytes, *, limits: DecodeLimits = DEFAULT_LIMITS) -> int:
    """The length of the whole footer, from the file's last `TAIL_BYTES`. Raises PuffinCorrupt, LimitExceeded."""
    if len(tail) < TAIL_BYTES or tail[-4:] != MAGIC:
        raise PuffinCorrupt("not a Puffin file, or truncated: it does not end with 'PFA1'")
    (size,) = struct.unpack_from("<i", tail, len(tail) - TAIL_BYTES)
    if size < 0:
        raise PuffinCorrupt(f"the Puffin footer claims a payload of {size} bytes")
    if size > limits.max_footer_bytes:
        raise LimitExceeded(f"the Puffin footer has {size} bytes, more than {limits.max_footer_bytes}", size=size)
    return len(MAGIC) + int(size) + TAIL_BYTES


def read_footer(
    data: bytes, *, file_size_in_bytes: int | None = None, limits: DecodeLimits = DEFAULT_LIMITS
) -> PuffinFooter:
    """The footer of a file, or of its tail when `file_size_in_bytes` says how long the file is. Raises PuffinCorrupt,
    LimitExceeded, UnsupportedFeature."""
    size = len(data) if file_size_in_bytes is None else file_size_in_bytes
    length = footer_length(data[-TAIL_BYTES:], limits=limits)
    if length > len(data) or length + len(MAGIC) > size:
        raise PuffinCorrupt(f"the Puffin footer claims {length} bytes of {len(data)}; the file is truncated or damaged")
    if len(data) == size and data[:4] != MAGIC:
        raise PuffinCorrupt("not a Puffin file: it does not begin with 'PFA1'")
    footer = data[-length:]
    if footer[:4] != MAGIC:
        raise PuffinCorrupt("the Puffin footer does not begin with 'PFA1'")
    payload = _payload(footer[4:-TAIL_BYTES], footer[-8:-4], limits)
    try:
        return _footer(decode_object(payload, where="the Puffin footer"), size - length, limits)
    except MetadataCorrupt as error:
        raise PuffinCorrupt(str(error)) from error


def read_blob(data: bytes, blob: BlobMetadata, *, limits: DecodeLimits = DEFAULT_LIMITS) -> bytes:
    """A blob's content out of the whole file."""
    return decode_blob(data[blob.offset : blob.offset + blob.length], blob, limits=limits)


def decode_blob(stored: bytes, blob: BlobMetadata, *, limits: DecodeLimits = DEFAULT_LIMITS) -> bytes:
    """A blob's content from the bytes of its range. Raises PuffinCorrupt, LimitExceeded, UnsupportedFeature."""
    if len(stored) != blob.length:
        raise PuffinCorrupt(f"blob {blob.type} has {len(stored)} bytes, the footer says {blob.length}", type=blob.type)
    try:
        match blob.compression_codec:
            case None:
                return stored
            case "lz4":
                return unlz4(stored, limits.output_bytes(len(stored)))
            case "zstd":
                return unzstd(stored, limits.output_bytes(len(stored)))
    except CorruptStream as error:
        raise PuffinCorrupt(f"blob {blob.type} cannot be decompressed: {error}", type=blob.type) from error
    raise UnsupportedFeature(
        f"Puffin codec {blob.compression_codec[:40]!r} is not supported; the format has lz4 and zstd"
    )


def write_puffin(
    blobs: Iterable[Blob], *, properties: Mapping[str, str] | None = None, compress_footer: bool = False
) -> WrittenPuffin:
    """A Puffin file of these blobs, in their order. Raises InvalidInput."""
    parts = [MAGIC]
    offset = len(MAGIC)
    written: list[BlobMetadata] = []
    for blob in blobs:
        stored = _compressed(blob)
        written.append(
            BlobMetadata(
                type=blob.type,
                fields=blob.fields,
                snapshot_id=blob.snapshot_id,
                sequence_number=blob.sequence_number,
                offset=offset,
                length=len(stored),
                compression_codec=blob.compression_codec,
                properties=dict(blob.properties),
            )
        )
        parts.append(stored)
        offset += len(stored)
    footer = PuffinFooter(blobs=tuple(written), properties=dict(properties or {}))
    payload = msgspec.json.encode(_footer_json(footer))
    if compress_footer:
        payload = lz4_compress(payload)
    flags = _COMPRESSED if compress_footer else _PLAIN
    tail = b"".join((MAGIC, payload, struct.pack("<i", len(payload)), flags, MAGIC))
    return WrittenPuffin(data=b"".join((*parts, tail)), footer=footer, footer_size_in_bytes=len(tail))


def with_blob_properties(
    data: bytes, edit: Callable[[Mapping[str, str]], Mapping[str, str]], *, limits: DecodeLimits = DEFAULT_LIMITS
) -> bytes:
    """The file with other properties of its blobs, which stay where they are; the footer is the only part that changes."""
    footer = read_footer(data, limits=limits)
    blobs = tuple(replace(blob, properties=dict(edit(blob.properties))) for blob in footer.blobs)
    payload = msgspec.json.encode(_footer_json(replace(footer, blobs=blobs)))
    kept = data[: len(data) - footer_length(data[-TAIL_BYTES:], limits=limits)]
    return b"".join((kept, MAGIC, payload, struct.pack("<i", len(payload)), _PLAIN, MAGIC))


def _payload(payload: bytes, flags: bytes, limits: DecodeLimits) -> bytes:
    if flags == _PLAIN:
        return payload
    if flags != _COMPRESSED:
        raise UnsupportedFeature(f"the Puffin footer has flags {flags.hex()}, which are not known", flags=flags.hex())
    try:
        return unlz4(payload, min(limits.max_footer_bytes, limits.output_bytes(len(payload))))
    except CorruptStream as error:
        raise PuffinCorrupt(f"the Puffin footer cannot be decompressed: {error}") from error


def _footer(obj: Mapping[str, object], blobs_end: int, limits: DecodeLimits) -> PuffinFooter:
    blobs = obj.get("blobs")
    if not isinstance(blobs, list):
        raise PuffinCorrupt("the Puffin footer has no list of blobs")
    if len(blobs) > limits.max_blobs:
        raise LimitExceeded(f"the Puffin footer has {len(blobs)} blobs, more than {limits.max_blobs}")
    read = tuple(_blob(blob, blobs_end) for blob in blobs)
    return PuffinFooter(blobs=read, properties=_texts(obj.get("properties")))


def _blob(obj: object, blobs_end: int) -> BlobMetadata:
    if not isinstance(obj, dict):
        raise PuffinCorrupt("the Puffin footer has a blob that is no JSON object")
    kind, fields, codec = obj.get("type"), obj.get("fields"), obj.get("compression-codec")
    if not isinstance(kind, str) or not isinstance(fields, list) or not all(type(item) is int for item in fields):
        raise PuffinCorrupt("the Puffin footer has a blob without type or fields")
    if codec is not None and not isinstance(codec, str):
        raise PuffinCorrupt(f"blob {kind[:60]!r} has a compression-codec that is no text")
    numbers = {key: obj.get(key) for key in ("snapshot-id", "sequence-number", "offset", "length")}
    if not all(type(number) is int for number in numbers.values()):
        raise PuffinCorrupt(f"blob {kind[:60]!r} lacks snapshot-id, sequence-number, offset or length")
    offset, length = obj["offset"], obj["length"]
    if offset < len(MAGIC) or length < 0 or offset + length > blobs_end:
        raise PuffinCorrupt(f"blob {kind[:60]!r} at {offset} of {length} bytes lies outside of the file", offset=offset)
    return BlobMetadata(
        type=kind,
        fields=tuple(fields),
        snapshot_id=obj["snapshot-id"],
        sequence_number=obj["sequence-number"],
        offset=offset,
        length=length,
        compression_codec=codec,
        properties=_texts(obj.get("properties")),
    )


def _texts(obj: object) -> dict[str, str]:
    if obj is None:
        return {}
    if not isinstance(obj, dict) or not all(isinstance(value, str) for value in obj.values()):
        raise PuffinCorrupt("the Puffin footer has properties that are no texts")
    return obj


def _compressed(blob: Blob) -> bytes:
    match blob.compression_codec:
        case None:
            return blob.data
        case "lz4" if blob.type != DELETION_VECTOR_V1:
            return lz4_compress(blob.data)
        case "zstd" if blob.type != DELETION_VECTOR_V1:
            return zstd_compress(blob.data)
    raise InvalidInput(f"blob {blob.type} cannot be compressed with {blob.compression_codec!r}", type=blob.type)


def _footer_json(footer: PuffinFooter) -> dict[str, object]:
    blobs = [
        {
            "type": blob.type,
            "fields": list(blob.fields),
            "snapshot-id": blob.snapshot_id,
            "sequence-number": blob.sequence_number,
            "offset": blob.offset,
            "length": blob.length,
            **({"compression-codec": blob.compression_codec} if blob.compression_codec else {}),
            **({"properties": dict(blob.properties)} if blob.properties else {}),
        }
        for blob in footer.blobs
    ]
    return {"blobs": blobs, **({"properties": dict(footer.properties)} if footer.properties else {})}
