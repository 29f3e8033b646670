"""Snapshots and the logs of what was current when: https://iceberg.apache.org/spec/#snapshots"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import msgspec

from floeberg.errors import MetadataCorrupt
from floeberg.spec.json.documents import Document, DocumentKind
from floeberg.spec.json.fields import LONG_MAX, Int64, JsonFields

OPERATION_KEY: Final = "operation"
UNSIGNED_LONG_MAX: Final = 2 * LONG_MAX + 1


class Operation(StrEnum):
    """What a snapshot did. Snapshots keep the text they were read with: others may be there."""

    APPEND = "append"
    REPLACE = "replace"
    OVERWRITE = "overwrite"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state of a table at one time. `summary` holds everything but the operation; `manifests` is only there for a
    v1 snapshot without a manifest list."""

    snapshot_id: int
    parent_snapshot_id: int | None = None
    sequence_number: int = 0
    timestamp_ms: int
    manifest_list: str | None = None
    manifests: tuple[str, ...] | None = None
    operation: str | None = None
    summary: Mapping[str, str] = field(default_factory=dict)
    schema_id: int | None = None
    first_row_id: int | None = None
    added_rows: int | None = None
    key_id: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SnapshotLogEntry:
    """That a snapshot became the current one."""

    timestamp_ms: int
    snapshot_id: int


@dataclass(frozen=True, slots=True)
class MetadataLogEntry:
    """A former metadata file, with the `last-updated-ms` it had."""

    timestamp_ms: int
    metadata_file: str


SNAPSHOT_FIELDS: Final = frozenset(
    ("snapshot-id", "parent-snapshot-id", "sequence-number", "timestamp-ms", "manifest-list", "manifests", "summary",
     "schema-id", "first-row-id", "added-rows", "key-id")
)  # fmt: skip


def snapshot_from_json(value: object, where: str = "snapshot", *, highest_id: int = LONG_MAX) -> Snapshot:
    """A snapshot from its JSON. Snapshots keep to what v1 required, because upgraded tables hold such ones. A summary
    without an operation counts as an overwrite, as in the reference implementation."""
    fields = JsonFields(value, where)
    fields.required("snapshot-id")
    snapshot_id = fields.optional_integer("snapshot-id", highest=highest_id)
    assert snapshot_id is not None
    summary = fields.optional_text_map("summary")
    operation = summary.pop(OPERATION_KEY, None)
    if operation is None and summary:
        operation = Operation.OVERWRITE.value
    manifest_list = fields.optional_text("manifest-list")
    if manifest_list is None and not fields.has("manifests"):
        raise MetadataCorrupt(f"{where} has neither manifest-list nor manifests", where=where)
    return Snapshot(
        snapshot_id=snapshot_id,
        parent_snapshot_id=fields.optional_integer("parent-snapshot-id", highest=highest_id),
        sequence_number=fields.optional_integer("sequence-number") or 0,
        timestamp_ms=fields.long("timestamp-ms"),
        manifest_list=manifest_list,
        manifests=fields.texts("manifests") if manifest_list is None else None,
        operation=operation,
        summary=summary,
        schema_id=fields.optional_int32("schema-id"),
        first_row_id=fields.optional_integer("first-row-id"),
        added_rows=fields.optional_integer("added-rows"),
        key_id=fields.optional_text("key-id"),
        extra=fields.unknown(SNAPSHOT_FIELDS),
    )


def snapshot_to_json(snapshot: Snapshot) -> Document:
    """The snapshot's JSON, in the reference implementation's order."""
    document: Document = {}
    if snapshot.sequence_number > 0:
        document["sequence-number"] = snapshot.sequence_number
    document["snapshot-id"] = snapshot.snapshot_id
    if snapshot.parent_snapshot_id is not None:
        document["parent-snapshot-id"] = snapshot.parent_snapshot_id
    document["timestamp-ms"] = snapshot.timestamp_ms
    if snapshot.operation is not None:
        document["summary"] = {OPERATION_KEY: str(snapshot.operation), **snapshot.summary}
    if snapshot.manifest_list is not None:
        document["manifest-list"] = snapshot.manifest_list
    else:
        document["manifests"] = list(snapshot.manifests or ())
    for key, value in (
        ("schema-id", snapshot.schema_id),
        ("first-row-id", snapshot.first_row_id),
        ("added-rows", snapshot.added_rows),
        ("key-id", snapshot.key_id),
    ):
        if value is not None:
            document[key] = value
    return {**document, **snapshot.extra}


def _lenient_snapshot_from_json(value: object, where: str) -> Snapshot:
    return snapshot_from_json(value, where, highest_id=UNSIGNED_LONG_MAX)


def snapshot_log_entry_from_json(value: object, where: str = "snapshot-log entry") -> SnapshotLogEntry:
    fields = JsonFields(value, where)
    fields.required("snapshot-id")
    snapshot_id = fields.optional_integer("snapshot-id", highest=UNSIGNED_LONG_MAX)
    assert snapshot_id is not None
    return SnapshotLogEntry(fields.long("timestamp-ms"), snapshot_id)


def snapshot_log_entry_to_json(entry: SnapshotLogEntry) -> Document:
    return {"timestamp-ms": entry.timestamp_ms, "snapshot-id": entry.snapshot_id}


def metadata_log_entry_from_json(value: object, where: str = "metadata-log entry") -> MetadataLogEntry:
    fields = JsonFields(value, where)
    return MetadataLogEntry(fields.long("timestamp-ms"), fields.text("metadata-file"))


def metadata_log_entry_to_json(entry: MetadataLogEntry) -> Document:
    return {"timestamp-ms": entry.timestamp_ms, "metadata-file": entry.metadata_file}


class _SnapshotLogShape(msgspec.Struct, rename="kebab", gc=False):
    timestamp_ms: Int64
    snapshot_id: int


class _MetadataLogShape(msgspec.Struct, rename="kebab", gc=False):
    timestamp_ms: Int64
    metadata_file: str


SNAPSHOTS: Final = DocumentKind("snapshots", snapshot_from_json, snapshot_to_json)
LENIENT_SNAPSHOTS: Final = DocumentKind("snapshots", _lenient_snapshot_from_json, snapshot_to_json)
SNAPSHOT_LOG: Final = DocumentKind(
    "snapshot-log", snapshot_log_entry_from_json, snapshot_log_entry_to_json, list[_SnapshotLogShape]
)
METADATA_LOG: Final = DocumentKind(
    "metadata-log", metadata_log_entry_from_json, metadata_log_entry_to_json, list[_MetadataLogShape]
)
