"""Bounded decompression: no codec here returns more bytes than it was told it may."""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable
from typing import Final

import cramjam
import deflate

if sys.version_info >= (3, 14):  # pragma: no cover
    from compression import zstd
else:
    from backports import zstd

from floeberg.errors import InvalidInput, LimitExceeded, UnsupportedFeature

ZSTD_WINDOW_LOG_MAX: Final = 27
"""128 MiB: what the zstd library itself allows by default, said aloud so that a frame cannot ask for more."""

GZIP: Final = 31
"""The window bits by which zlib knows gzip members."""

_LIKELY_RATIO: Final = 16
_LIKELY_BYTES: Final = 16 * 1024
_SMALL_BYTES: Final = _LIKELY_BYTES // _LIKELY_RATIO
_CHECKSUM_REST: Final = 4
"""Some Avro writers cut a zlib stream's head off and leave its checksum, or part of it, behind."""

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_BLOCK_BYTES: Final = 4 * 1024 * 1024
_LZ4_MAX_RATIO: Final = 256

_AVRO_CODECS: Final = {
    "null": "null",
    "uncompressed": "null",
    "none": "null",
    "deflate": "deflate",
    "gzip": "deflate",
    "zlib": "deflate",
    "snappy": "snappy",
    "zstandard": "zstandard",
    "zstd": "zstandard",
}


class CorruptStream(Exception):
    """A compressed stream that cannot be decompressed; the caller knows of which file and raises its own error."""


def avro_codec(name: str) -> str:
    """The Avro name of a codec from a table property (`gzip`, `zstd`, `uncompressed`, …). Raises InvalidInput."""
    if (codec := _AVRO_CODECS.get(name.lower())) is None:
        raise InvalidInput(
            f"unknown Avro compression codec {name!r}; use gzip, snappy, zstd or uncompressed", codec=name
        )
    return codec


def avro_decompressor(codec: str) -> Callable[[bytes | memoryview, int], bytes | bytearray | memoryview]:
    """What makes of one Avro block its bytes, of which there may be so many; it raises LimitExceeded, CorruptStream.
    Raises UnsupportedFeature."""
    match codec:
        case "null":
            return lambda data, _: data
        case "deflate":
            return inflate_block
        case "snappy":
            return _unsnap
        case "zstandard":
            return unzstd
    raise UnsupportedFeature(
        f"Avro codec {codec[:40]!r} is not supported; rewrite the file with null, deflate, snappy or zstandard",
        codec=codec,
    )


def compress_avro_block(codec: str, data: bytes, level: int | None = None) -> bytes:
    """The inverse of `avro_decompressor`; `codec` is an Avro name."""
    match codec:
        case "null":
            return data
        case "deflate":
            packer = zlib.compressobj(6 if level is None else level, zlib.DEFLATED, -15)
            return packer.compress(data) + packer.flush()
        case "snappy":
            return bytes(cramjam.snappy.compress_raw(data)) + struct.pack(">I", zlib.crc32(data))
        case "zstandard":
            return zstd.compress(data, level=level)
    raise InvalidInput(f"cannot write Avro codec {codec!r}; use null, deflate, snappy or zstandard", codec=codec)


def inflate_block(data: bytes | memoryview, max_bytes: int) -> bytes | bytearray:
    """One stream of raw deflate, by a library that takes half of zlib's time where manifests have a stream for each of
    their records. It wants to know what room to give; what does not fit, or is damaged, zlib looks into."""
    room = _LIKELY_RATIO * len(data) if len(data) > _SMALL_BYTES else _LIKELY_BYTES
    try:
        return deflate.deflate_decompress(data, room if room < max_bytes else max_bytes)
    except deflate.DeflateError:
        return inflate(data, max_bytes, window_bits=-15)


def inflate(data: bytes | memoryview, max_bytes: int, *, window_bits: int) -> bytes:
    """One stream of raw deflate (-15) or zlib (15), or one gzip member after another (31)."""
    parts: list[bytes] = []
    held = 0
    rest: bytes | memoryview = data
    while True:
        unpacker = zlib.decompressobj(window_bits)
        try:
            part = unpacker.decompress(rest, max_bytes - held + 1)
        except zlib.error as error:
            raise CorruptStream(f"not a deflate stream ({error})") from error
        parts.append(part)
        held += len(part)
        rest = unpacker.unused_data
        if held > max_bytes:
            raise _too_large(max_bytes)
        if not unpacker.eof:
            raise CorruptStream("the deflate stream ends before its end")
        if window_bits != GZIP:
            if len(rest) > _CHECKSUM_REST:
                raise CorruptStream("bytes follow the end of the deflate stream")
            return part
        if not rest:
            return parts[0] if len(parts) == 1 else b"".join(parts)


def unzstd(data: bytes | memoryview, max_bytes: int) -> bytes:
    """One zstd frame after another."""
    parts: list[bytes] = []
    held = 0
    rest = bytes(data)
    while rest or not parts:
        unpacker = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG_MAX})
        try:
            part = unpacker.decompress(rest, max_length=max_bytes - held + 1)
        except zstd.ZstdError as error:
            raise CorruptStream(f"not a zstd frame ({error})") from error
        held += len(part)
        parts.append(part)
        if held > max_bytes:
            raise _too_large(max_bytes)
        if not unpacker.eof:
            raise CorruptStream("the zstd frame ends before its end")
        rest = unpacker.unused_data
    return b"".join(parts)


def zstd_compress(data: bytes) -> bytes:
    """One zstd frame with its content size."""
    return bytes(zstd.compress(data))


def unlz4(data: bytes | memoryview, max_bytes: int) -> bytes:
    """One LZ4 frame, with or without its content size in the header."""
    stated = _lz4_content_size(data)
    if stated is not None and stated > max_bytes:
        raise _too_large(max_bytes)
    room = min(max_bytes, len(data) * _LZ4_MAX_RATIO) if stated is None else stated
    output = bytearray(room)
    try:
        written = cramjam.lz4.decompress_into(bytes(data), output)
    except (cramjam.DecompressionError, ValueError) as error:
        raise CorruptStream(f"not an LZ4 frame, or more than {room} bytes in it ({error})") from error
    if stated is not None and written != stated:
        raise CorruptStream(f"the LZ4 frame holds {written} bytes, its header says {stated}")
    return bytes(memoryview(output)[:written])


def lz4_compress(data: bytes) -> bytes:
    """One LZ4 frame of independent blocks, with the content size that Puffin requires."""
    descriptor = struct.pack("<BBQ", 0x68, 0x70, len(data))
    out = [_LZ4_MAGIC, descriptor, bytes([_xxh32_short(descriptor) >> 8 & 0xFF])]
    for start in range(0, len(data), _LZ4_BLOCK_BYTES):
        plain = data[start : start + _LZ4_BLOCK_BYTES]
        packed = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(packed) < len(plain):
            out += (struct.pack("<I", len(packed)), packed)
        else:
            out += (struct.pack("<I", len(plain) | 0x80000000), plain)
    out.append(bytes(4))
    return b"".join(out)


def _xxh32_short(data: bytes) -> int:
    """xxHash-32 with seed 0 of less than 16 bytes, which is all that an LZ4 frame's header needs."""
    mask = 0xFFFFFFFF
    hashed = (374761393 + len(data)) & mask
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        hashed = (hashed + word * 3266489917) & mask
        hashed = ((hashed << 17 | hashed >> 15) & mask) * 668265263 & mask
    for byte in data[whole:]:
        hashed = (hashed + byte * 374761393) & mask
        hashed = ((hashed << 11 | hashed >> 21) & mask) * 2654435761 & mask
    hashed = (hashed ^ hashed >> 15) * 2246822519 & mask
    hashed = (hashed ^ hashed >> 13) * 3266489917 & mask
    return hashed ^ hashed >> 16


def _lz4_content_size(data: bytes | memoryview) -> int | None:
    """The content size in an LZ4 frame's header. Raises CorruptStream if this is no LZ4 frame."""
    head = bytes(data[:15])
    if len(head) < 7 or head[:4] != _LZ4_MAGIC or head[4] >> 6 != 1:
        raise CorruptStream("not an LZ4 frame")
    if not head[4] & 0x08:
        return None
    if len(head) < 14:
        raise CorruptStream("the LZ4 frame header is truncated")
    size: int = struct.unpack_from("<Q", head, 6)[0]
    return size


def _unsnap(data: bytes | memoryview, max_bytes: int) -> bytes:
    if len(data) < 5:
        raise CorruptStream("a snappy block is shorter than its checksum")
    body = bytes(data[:-4])
    try:
        if cramjam.snappy.decompress_raw_len(body) > max_bytes:
            raise _too_large(max_bytes)
        plain = bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise CorruptStream(f"not a snappy block ({error})") from error
    if zlib.crc32(plain) != struct.unpack(">I", data[-4:])[0]:
        raise CorruptStream("the checksum of a snappy block does not match")
    return plain


def _too_large(max_bytes: int) -> LimitExceeded:
    return LimitExceeded(
        f"decompressing would give more than {max_bytes} bytes; raise the limit if this file is to be trusted",
        limit_bytes=max_bytes,
    )
