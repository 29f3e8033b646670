"""Manifests as entries: read through the frame, written with what a manifest list says of them.

https://iceberg.apache.org/spec/#manifests
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
import polars as pl

from floeberg.errors import InvalidInput, ManifestCorrupt, UnsupportedFeature
from floeberg.files.avro_container import Header, blocked, read_header, write_container
from floeberg.files.avro_schemas import manifest_entry_schema
from floeberg.files.compression import avro_codec
from floeberg.files.limits import DEFAULT_LIMITS, DecodeLimits
from floeberg.files.manifest_encode import entry_encoder
from floeberg.files.manifest_frame import manifest_frame
from floeberg.files.partition_summary import PartitionSummaries
from floeberg.spec.partitions.specs import PartitionSpec, partition_fields_to_json
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.schemas.schema_json import schema_to_json
from floeberg.spec.snapshots.manifest_entry import (
    DataFile,
    EntryStatus,
    FieldSummary,
    FileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
)
from floeberg.spec.types import StructType, UuidType

UNASSIGNED_SEQUENCE_NUMBER: Final = -1
"""Stands for the sequence number that the commit will have, until the manifest list is written."""

_MAPS: Final = (
    "column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds",
)  # fmt: skip
_PLAIN: Final = (
    "file_path", "record_count", "file_size_in_bytes", "key_metadata", "sort_order_id", "first_row_id",
    "referenced_data_file", "content_offset", "content_size_in_bytes",
)  # fmt: skip
_LISTS: Final = ("split_offsets", "equality_ids")
_FEW: Final = 64
_STATUSES: Final = tuple(EntryStatus)
_CONTENTS: Final = tuple(FileContent)


@dataclass(frozen=True, slots=True)
class ManifestHeader:
    """A manifest's key-value metadata. Writers leave any of it out: what is None comes from the table's metadata."""

    schema: str | None
    schema_id: int | None
    partition_spec: str | None
    partition_spec_id: int | None
    format_version: int | None
    content: ManifestContent | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenManifest:
    """A manifest's bytes and what the manifest list will say of it."""

    data: bytes
    partition_spec_id: int
    content: ManifestContent
    snapshot_id: int | None
    added_files_count: int
    existing_files_count: int
    deleted_files_count: int
    added_rows_count: int
    existing_rows_count: int
    deleted_rows_count: int
    min_sequence_number: int | None
    partitions: tuple[FieldSummary, ...]

    def to_manifest_file(self, manifest_path: str, sequence_number: int = UNASSIGNED_SEQUENCE_NUMBER) -> ManifestFile:
        """The manifest as a list describes it, its sequence numbers unassigned until a commit assigns them. Without a
        live entry that has a sequence number, the least one will be the commit's."""
        least = self.min_sequence_number
        return ManifestFile(
            manifest_path=manifest_path,
            manifest_length=len(self.data),
            partition_spec_id=self.partition_spec_id,
            content=self.content,
            sequence_number=sequence_number,
            min_sequence_number=sequence_number if least is None else least,
            added_snapshot_id=self.snapshot_id,
            added_files_count=self.added_files_count,
            existing_files_count=self.existing_files_count,
            deleted_files_count=self.deleted_files_count,
            added_rows_count=self.added_rows_count,
            existing_rows_count=self.existing_rows_count,
            deleted_rows_count=self.deleted_rows_count,
            partitions=self.partitions,
        )


def read_manifest(
    data: bytes,
    manifest: ManifestFile,
    *,
    partition_type: StructType,
    limits: DecodeLimits = DEFAULT_LIMITS,
) -> list[ManifestEntry]:
    """The entries of the manifest that a list describes so, after inheritance. Raises ManifestCorrupt, LimitExceeded,
    UnsupportedFeature."""
    return entries(manifest_frame(data, manifest, partition_type=partition_type, limits=limits), partition_type)


def entries(frame: pl.DataFrame, partition_type: StructType) -> list[ManifestEntry]:
    """The rows of a whole frame (`files.manifest_frame`) as entries. Raises UnsupportedFeature for a file format not known."""
    columns: dict[str, list[object]] = {name: frame.get_column(name).to_list() for name in _PLAIN}
    columns |= {name: _maps(frame.get_column(name)) for name in _MAPS}
    columns |= {name: list(number_tuples(frame.get_column(name))) for name in _LISTS}
    columns["content"] = [_CONTENTS[number] for number in frame.get_column("content").to_list()]
    columns["file_format"] = _formats(frame.get_column("file_format"))
    columns["partition"] = list(partition_tuples(frame.get_column("partition"), partition_type))
    columns["spec_id"] = frame.get_column("spec_id").to_list()
    names = list(columns)
    data_files = (
        DataFile(**dict(zip(names, row, strict=True))) for row in zip(*(columns[name] for name in names), strict=True)
    )
    tracking = frame.select("status", "snapshot_id", "sequence_number", "file_sequence_number").rows()
    return [
        ManifestEntry(
            status=_STATUSES[status],
            data_file=data_file,
            snapshot_id=snapshot_id,
            data_sequence_number=sequence_number,
            file_sequence_number=file_sequence_number,
        )
        for data_file, (status, snapshot_id, sequence_number, file_sequence_number) in zip(
            data_files, tracking, strict=True
        )
    ]


def write_manifest(
    manifest_entries: Iterable[ManifestEntry],
    *,
    schema: Schema,
    spec: PartitionSpec,
    format_version: int,
    snapshot_id: int | None,
    content: ManifestContent = ManifestContent.DATA,
    partition_type: StructType | None = None,
    codec: str = "gzip",
    level: int | None = None,
) -> WrittenManifest:
    """A manifest of these entries, in their order. `snapshot_id` is that of the commit: an entry without sequence
    number must be an added one of it. `partition_type` is needed only where the spec's source column was dropped:
    entries of an older manifest are written with its `stored_partition_type`. Raises InvalidInput for what the version
    cannot hold."""
    partition_type = spec.partition_type(schema) if partition_type is None else partition_type
    tally = _Tally(PartitionSummaries(partition_type), snapshot_id, content)
    encode = entry_encoder(partition_type, format_version)
    records = (encode(tally.counted(entry)) for entry in manifest_entries)
    data = write_container(
        msgspec.json.encode(manifest_entry_schema(partition_type, format_version)),
        blocked(records),
        metadata=manifest_metadata(schema, spec, format_version, content),
        codec=avro_codec(codec),
        level=level,
    )
    return tally.written(data, spec.spec_id)


def read_manifest_header(data: bytes, *, limits: DecodeLimits = DEFAULT_LIMITS) -> ManifestHeader:
    """What a manifest says of itself. Raises ManifestCorrupt."""
    header = read_header(data, limits)
    content = header.text("content")
    if content is not None and content.lower() not in ("data", "deletes"):
        raise ManifestCorrupt(f"the manifest's header says content {content[:40]!r}")
    return ManifestHeader(
        schema=header.text("schema"),
        schema_id=_number(header, "schema-id"),
        partition_spec=header.text("partition-spec"),
        partition_spec_id=_number(header, "partition-spec-id"),
        format_version=_number(header, "format-version"),
        content=None if content is None else ManifestContent[content.upper()],
    )


def unlisted_manifest(data: bytes, path: str, *, snapshot_id: int, default_spec_id: int) -> ManifestFile:
    """A v1 manifest that its snapshot names without a manifest list: its own header says which spec it has."""
    spec_id = read_manifest_header(data).partition_spec_id
    return ManifestFile(
        manifest_path=path,
        manifest_length=len(data),
        partition_spec_id=default_spec_id if spec_id is None else spec_id,
        added_snapshot_id=snapshot_id,
    )


class _Tally:
    """Counts entries on their way into the file, and refuses what no manifest may hold."""

    def __init__(self, summaries: PartitionSummaries, snapshot_id: int | None, content: ManifestContent) -> None:
        self._summaries = summaries
        self._snapshot_id = snapshot_id
        self._content = content
        self._files = [0, 0, 0]
        self._rows = [0, 0, 0]
        self._least: int | None = None

    def counted(self, entry: ManifestEntry) -> ManifestEntry:
        self._check(entry)
        self._files[entry.status] += 1
        self._rows[entry.status] += entry.data_file.record_count
        number = entry.data_sequence_number
        if (
            entry.status is not EntryStatus.DELETED
            and number is not None
            and (self._least is None or number < self._least)
        ):
            self._least = number
        self._summaries.add(entry.data_file.partition)
        return entry

    def _check(self, entry: ManifestEntry) -> None:
        path, kind = entry.data_file.file_path, entry.data_file.content
        if (kind is FileContent.DATA) is not (self._content is ManifestContent.DATA):
            raise InvalidInput(f"{path} is of {kind.name}, not for a manifest of {self._content.name}", path=path)
        if entry.data_sequence_number is None:
            if entry.status is not EntryStatus.ADDED:
                raise InvalidInput(f"{path} is {entry.status.name} and must keep its sequence number", path=path)
            if entry.snapshot_id is not None and entry.snapshot_id != self._snapshot_id:
                raise InvalidInput(f"{path} of snapshot {entry.snapshot_id} must keep its sequence number", path=path)

    def written(self, data: bytes, spec_id: int) -> WrittenManifest:
        return WrittenManifest(
            data=data,
            partition_spec_id=spec_id,
            content=self._content,
            snapshot_id=self._snapshot_id,
            added_files_count=self._files[EntryStatus.ADDED],
            existing_files_count=self._files[EntryStatus.EXISTING],
            deleted_files_count=self._files[EntryStatus.DELETED],
            added_rows_count=self._rows[EntryStatus.ADDED],
            existing_rows_count=self._rows[EntryStatus.EXISTING],
            deleted_rows_count=self._rows[EntryStatus.DELETED],
            min_sequence_number=self._least,
            partitions=self._summaries.result(),
        )


def manifest_metadata(
    schema: Schema, spec: PartitionSpec, format_version: int, content: ManifestContent
) -> dict[str, str]:
    """The key-value metadata of a manifest, `schema-id` included, which the reference leaves out."""
    metadata = {
        "schema": msgspec.json.encode(schema_to_json(schema)).decode(),
        "schema-id": str(schema.schema_id),
        "partition-spec": msgspec.json.encode(partition_fields_to_json(spec)).decode(),
        "partition-spec-id": str(spec.spec_id),
        "format-version": str(format_version),
    }
    if format_version >= 2:
        metadata["content"] = content.name.lower()
    return metadata


def _maps(series: pl.Series) -> list[object]:
    """Each row's pairs as a dict. Cut out of the two flat columns, which is faster than a dict of every pair unless there
    are few."""
    if len(series) <= _FEW:
        return [None if pairs is None else {p["key"]: p["value"] for p in pairs} for pairs in series.to_list()]
    lengths = series.list.len().to_list()
    if not any(lengths):
        return [None if length is None else {} for length in lengths]
    flat = series.explode(empty_as_null=False, keep_nulls=False)
    keys = flat.struct.field("key").to_list()
    values = flat.struct.field("value").to_list()
    out: list[object] = []
    at = 0
    for length in lengths:
        if length is None:
            out.append(None)
            continue
        out.append(dict(zip(keys[at : at + length], values[at : at + length], strict=True)))
        at += length
    return out


def number_tuples(series: pl.Series) -> list[tuple[int, ...] | None]:
    """Each row's numbers. Cut out of the flat column, as `_maps` does; equal ones, of which there are many, are one object."""
    flat = series.explode(empty_as_null=False, keep_nulls=False).to_list()
    shared: dict[tuple[int, ...], tuple[int, ...]] = {}
    out: list[tuple[int, ...] | None] = []
    at = 0
    for length in series.list.len().to_list():
        if length is None:
            out.append(None)
            continue
        numbers = tuple(flat[at : at + length])
        out.append(shared.setdefault(numbers, numbers))
        at += length
    return out


def _formats(series: pl.Series) -> list[object]:
    known: Mapping[str, FileFormat] = {str(form): form for form in FileFormat}
    try:
        return [known[text] for text in series.to_list()]
    except KeyError as error:
        raise UnsupportedFeature(
            f"file format {str(error.args[0])[:40]!r} is not supported", format=error.args[0]
        ) from error


def partition_tuples(series: pl.Series, partition_type: StructType) -> list[tuple[object, ...]]:
    """The physical values of a frame's `partition` column, in the spec's order."""
    if not len(partition_type):
        return [()] * len(series)
    columns = [
        _physical(series.struct.field(str(member.field_id)), isinstance(member.type, UuidType))
        for member in partition_type
    ]
    return list(zip(*columns, strict=True))


def _physical(series: pl.Series, is_uuid: bool) -> list[object]:
    if not is_uuid:
        return series.to_list()
    return [None if raw is None else uuid.UUID(bytes=raw) for raw in series.to_list()]


def _number(header: Header, key: str) -> int | None:
    text = header.text(key)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 10:
        raise ManifestCorrupt(f"the manifest's header says {key} {text[:40]!r}", key=key)
    return int(text)
