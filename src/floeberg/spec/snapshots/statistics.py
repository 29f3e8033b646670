"""Statistics files, partition statistics files and encryption keys, as table metadata registers them:
https://iceberg.apache.org/spec/#table-statistics, #partition-statistics, #encryption-keys"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from floeberg.errors import MetadataCorrupt
from floeberg.spec.json.documents import Document, DocumentKind
from floeberg.spec.json.fields import INT_MAX, Int32, Int64, JsonFields


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobMetadata:
    """A blob in a statistics file, computed from the named snapshot."""

    type: str
    snapshot_id: int
    sequence_number: int
    fields: tuple[int, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsFile:
    """A Puffin file with statistics of a snapshot. `key_metadata` is base64, as stored."""

    snapshot_id: int
    statistics_path: str
    file_size_in_bytes: int
    file_footer_size_in_bytes: int
    blob_metadata: tuple[BlobMetadata, ...] = ()
    key_metadata: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatisticsFile:
    """A file with statistics of every partition of a snapshot."""

    snapshot_id: int
    statistics_path: str
    file_size_in_bytes: int
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncryptedKey:
    """A key of an encrypted table, itself encrypted (v3)."""

    key_id: str
    encrypted_key_metadata: bytes
    encrypted_by_id: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)


_BLOB_FIELDS: Final = frozenset(("type", "snapshot-id", "sequence-number", "fields", "properties"))
_STATISTICS_FIELDS: Final = frozenset(
    ("snapshot-id", "statistics-path", "file-size-in-bytes", "file-footer-size-in-bytes", "key-metadata",
     "blob-metadata")
)  # fmt: skip
_PARTITION_STATISTICS_FIELDS: Final = frozenset(("snapshot-id", "statistics-path", "file-size-in-bytes"))
_KEY_FIELDS: Final = frozenset(("key-id", "encrypted-key-metadata", "encrypted-by-id", "properties"))


def statistics_file_from_json(value: object, where: str = "statistics file") -> StatisticsFile:
    fields = JsonFields(value, where)
    fields.required("blob-metadata")
    return StatisticsFile(
        snapshot_id=fields.long("snapshot-id"),
        statistics_path=fields.text("statistics-path"),
        file_size_in_bytes=fields.long("file-size-in-bytes"),
        file_footer_size_in_bytes=fields.long("file-footer-size-in-bytes"),
        blob_metadata=tuple(
            _blob_from_json(blob, f"{where}: blob-metadata[{position}]")
            for position, blob in enumerate(fields.objects("blob-metadata"))
        ),
        key_metadata=fields.optional_text("key-metadata"),
        extra=fields.unknown(_STATISTICS_FIELDS),
    )


def statistics_file_to_json(file: StatisticsFile) -> Document:
    document: Document = {
        "snapshot-id": file.snapshot_id,
        "statistics-path": file.statistics_path,
        "file-size-in-bytes": file.file_size_in_bytes,
        "file-footer-size-in-bytes": file.file_footer_size_in_bytes,
    }
    if file.key_metadata is not None:
        document["key-metadata"] = file.key_metadata
    document["blob-metadata"] = [_blob_to_json(blob) for blob in file.blob_metadata]
    return {**document, **file.extra}


def _blob_from_json(value: object, where: str) -> BlobMetadata:
    fields = JsonFields(value, where)
    return BlobMetadata(
        type=fields.text("type"),
        snapshot_id=fields.long("snapshot-id"),
        sequence_number=fields.long("sequence-number"),
        fields=fields.integers("fields", highest=INT_MAX),
        properties=fields.optional_text_map("properties"),
        extra=fields.unknown(_BLOB_FIELDS),
    )


def _blob_to_json(blob: BlobMetadata) -> Document:
    document: Document = {
        "type": blob.type,
        "snapshot-id": blob.snapshot_id,
        "sequence-number": blob.sequence_number,
        "fields": list(blob.fields),
    }
    if blob.properties:
        document["properties"] = dict(blob.properties)
    return {**document, **blob.extra}


def partition_statistics_file_from_json(
    value: object, where: str = "partition statistics file"
) -> PartitionStatisticsFile:
    fields = JsonFields(value, where)
    return PartitionStatisticsFile(
        snapshot_id=fields.long("snapshot-id"),
        statistics_path=fields.text("statistics-path"),
        file_size_in_bytes=fields.long("file-size-in-bytes"),
        extra=fields.unknown(_PARTITION_STATISTICS_FIELDS),
    )


def partition_statistics_file_to_json(file: PartitionStatisticsFile) -> Document:
    return {
        "snapshot-id": file.snapshot_id,
        "statistics-path": file.statistics_path,
        "file-size-in-bytes": file.file_size_in_bytes,
        **file.extra,
    }


def encrypted_key_from_json(value: object, where: str = "encryption key") -> EncryptedKey:
    fields = JsonFields(value, where)
    try:
        metadata = base64.b64decode(fields.text("encrypted-key-metadata"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise MetadataCorrupt(f"{where}: encrypted-key-metadata is not base64: {error}", where=where) from error
    return EncryptedKey(
        key_id=fields.text("key-id"),
        encrypted_key_metadata=metadata,
        encrypted_by_id=fields.optional_text("encrypted-by-id"),
        properties=fields.optional_text_map("properties"),
        extra=fields.unknown(_KEY_FIELDS),
    )


def encrypted_key_to_json(key: EncryptedKey) -> Document:
    document: Document = {
        "key-id": key.key_id,
        "encrypted-key-metadata": base64.b64encode(key.encrypted_key_metadata).decode("ascii"),
    }
    if key.encrypted_by_id is not None:
        document["encrypted-by-id"] = key.encrypted_by_id
    if key.properties:
        document["properties"] = dict(key.properties)
    return {**document, **key.extra}


class _BlobShape(msgspec.Struct, rename="kebab", gc=False):
    type: str
    snapshot_id: Int64
    sequence_number: Int64
    fields: list[Int32]
    properties: dict[str, str] | None = None


class _StatisticsShape(msgspec.Struct, rename="kebab", gc=False):
    snapshot_id: Int64
    statistics_path: str
    file_size_in_bytes: Int64
    file_footer_size_in_bytes: Int64
    blob_metadata: list[_BlobShape]
    key_metadata: str | None = None


class _PartitionStatisticsShape(msgspec.Struct, rename="kebab", gc=False):
    snapshot_id: Int64
    statistics_path: str
    file_size_in_bytes: Int64


STATISTICS: Final = DocumentKind(
    "statistics", statistics_file_from_json, statistics_file_to_json, list[_StatisticsShape]
)
PARTITION_STATISTICS: Final = DocumentKind(
    "partition-statistics",
    partition_statistics_file_from_json,
    partition_statistics_file_to_json,
    list[_PartitionStatisticsShape],
)
ENCRYPTION_KEYS: Final = DocumentKind("encryption-keys", encrypted_key_from_json, encrypted_key_to_json)
