"""The table properties that shape data files: codecs, sizes, targets. Names and defaults are the Java library's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.spec.snapshots.manifest_entry import FileFormat

TARGET_FILE_SIZE: Final = "write.target-file-size-bytes"
DEFAULT_TARGET_FILE_BYTES: Final = 512 << 20
DEFAULT_DELETE_TARGET_BYTES: Final = 64 << 20

_PARQUET_CODECS: Final = {
    "uncompressed": "NONE", "none": "NONE", "snappy": "SNAPPY", "gzip": "GZIP", "zstd": "ZSTD", "brotli": "BROTLI",
    "lz4": "LZ4", "lz4_raw": "LZ4",
}  # fmt: skip
_AVRO_CODECS: Final = {
    "uncompressed": "null", "none": "null", "snappy": "snappy", "gzip": "deflate", "deflate": "deflate",
    "zstd": "zstandard",
}  # fmt: skip
_ORC_CODECS: Final = {
    "none": "uncompressed", "uncompressed": "uncompressed", "snappy": "snappy", "zlib": "zlib", "gzip": "zlib",
    "lz4": "lz4", "zstd": "zstd",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteProperties:
    """How files of a table are written."""

    file_format: FileFormat = FileFormat.PARQUET
    target_file_bytes: int = DEFAULT_TARGET_FILE_BYTES
    parquet_codec: str = "ZSTD"
    avro_codec: str = "deflate"
    orc_codec: str = "zlib"
    compression_level: int | None = None
    row_group_bytes: int = 128 << 20
    page_bytes: int = 1 << 20
    page_rows: int = 20_000
    dictionary_bytes: int = 2 << 20
    stripe_bytes: int = 64 << 20
    shred_variants: bool = False
    variant_inference_rows: int = 100


def write_properties(properties: Mapping[str, str], *, deletes: bool = False) -> WriteProperties:
    """The write properties in a table's properties; those for delete files fall back on those for data files.

    Raises InvalidInput for values that make no sense.
    """
    reader = _Reader(properties, deletes=deletes)
    stated = reader.text("format.default", "parquet", plain="write.format.default")
    if stated.lower() not in (FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO):
        raise InvalidInput(f"write.format.default is {stated!r}; it must be parquet, orc or avro")
    target_name = "write.delete.target-file-size-bytes" if deletes else TARGET_FILE_SIZE
    target = DEFAULT_DELETE_TARGET_BYTES if deletes else DEFAULT_TARGET_FILE_BYTES
    level = reader.text("parquet.compression-level", "")
    file_format = FileFormat(stated.lower())
    if file_format is FileFormat.AVRO:
        level = reader.text("avro.compression-level", "")
    return WriteProperties(
        file_format=file_format,
        target_file_bytes=_positive(target_name, properties.get(target_name, str(target))),
        parquet_codec=reader.codec("parquet.compression-codec", "zstd", _PARQUET_CODECS),
        avro_codec=reader.codec("avro.compression-codec", "gzip", _AVRO_CODECS),
        orc_codec=reader.codec("orc.compression-codec", "zlib", _ORC_CODECS),
        compression_level=_level(level),
        row_group_bytes=reader.number("parquet.row-group-size-bytes", 128 << 20),
        page_bytes=reader.number("parquet.page-size-bytes", 1 << 20),
        page_rows=reader.number("parquet.page-row-limit", 20_000),
        dictionary_bytes=reader.number("parquet.dict-size-bytes", 2 << 20),
        stripe_bytes=reader.number("orc.stripe-size-bytes", 64 << 20),
        shred_variants=not deletes and reader.flag("parquet.shred-variants", default=False),
        variant_inference_rows=reader.number("parquet.variant-inference-buffer-size", 100),
    )


class _Reader:
    def __init__(self, properties: Mapping[str, str], *, deletes: bool) -> None:
        self._properties = properties
        self._prefixes = ("write.delete.", "write.") if deletes else ("write.",)

    def text(self, name: str, default: str, *, plain: str | None = None) -> str:
        for prefix in self._prefixes:
            if prefix + name in self._properties:
                return self._properties[prefix + name]
        return self._properties.get(plain, default) if plain else default

    def number(self, name: str, default: int) -> int:
        return _positive(f"write.{name}", self.text(name, str(default)))

    def flag(self, name: str, *, default: bool) -> bool:
        stated = self.text(name, str(default)).lower()
        if stated not in ("true", "false"):
            raise InvalidInput(f"table property write.{name} is {stated!r:.60}; it must be true or false")
        return stated == "true"

    def codec(self, name: str, default: str, known: Mapping[str, str]) -> str:
        stated = self.text(name, default).lower()
        if stated not in known:
            raise InvalidInput(f"table property write.{name} is {stated!r}; it must be one of {', '.join(known)}")
        return known[stated]


def _positive(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise InvalidInput(f"table property {name} must be a positive number, not {text[:60]!r}")
    return int(text)


def _level(text: str) -> int | None:
    if text in ("", "null"):
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(f"the compression level must be a number, not {text[:60]!r}") from None
