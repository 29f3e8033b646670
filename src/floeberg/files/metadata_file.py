"""Table metadata files, plain and gzip: https://iceberg.apache.org/spec/#naming-for-gzip-compressed-metadata-json-files

The content decides how a file is read, not its name: gzip begins with two bytes that no JSON begins with.
"""

from __future__ import annotations

import gzip
from typing import Final

from floeberg.errors import InvalidInput, MetadataCorrupt
from floeberg.files.compression import CorruptStream, inflate
from floeberg.files.limits import DecodeLimits
from floeberg.spec.json.limits import DEFAULT_LIMITS, Limits

GZIP_MAGIC: Final = b"\x1f\x8b"
PLAIN_SUFFIX: Final = ".metadata.json"
GZIP_SUFFIX: Final = ".gz.metadata.json"
_OLD_GZIP_SUFFIX: Final = ".metadata.json.gz"
_RATIO: Final = DecodeLimits(max_decoded_bytes=1 << 62, max_ratio=100, ratio_free_bytes=64 * 1024 * 1024)


def codec_of_name(name: str) -> str | None:
    """The codec that a metadata file's name says (`none` or `gzip`), None if the name is no metadata file's."""
    if name.endswith((GZIP_SUFFIX, _OLD_GZIP_SUFFIX)):
        return "gzip"
    return "none" if name.endswith(PLAIN_SUFFIX) else None


def suffix_of(codec: str) -> str:
    """The ending of a metadata file's name for `write.metadata.compression-codec`. Raises InvalidInput."""
    return GZIP_SUFFIX if _is_gzip(codec) else PLAIN_SUFFIX


def decode_metadata_file(data: bytes, *, name: str = "the metadata file", limits: Limits = DEFAULT_LIMITS) -> bytes:
    """The JSON in a metadata file. Raises MetadataCorrupt, LimitExceeded."""
    if data[:2] == GZIP_MAGIC:
        may_hold = min(limits.metadata_bytes, _RATIO.output_bytes(len(data)))
        try:
            return inflate(data, may_hold, window_bits=31)
        except CorruptStream as error:
            raise MetadataCorrupt(f"{name} cannot be decompressed: {error}", file=name) from error
    limits.check("metadata_bytes", len(data), name)
    return data


def encode_metadata_file(json: bytes, codec: str = "none") -> bytes:
    """A metadata file's bytes; the same JSON gives the same bytes. Raises InvalidInput."""
    return gzip.compress(json, mtime=0) if _is_gzip(codec) else json


def _is_gzip(codec: str) -> bool:
    match codec.lower():
        case "gzip":
            return True
        case "none" | "uncompressed":
            return False
    raise InvalidInput(f"unknown metadata compression codec {codec!r}; use gzip or none", codec=codec)
