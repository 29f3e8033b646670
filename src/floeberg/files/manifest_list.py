"""Manifest lists: https://iceberg.apache.org/spec/#manifest-lists"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import msgspec
import polars as pl

from floeberg.effects.leniencies import Leniency, tolerate
from floeberg.errors import InvalidInput, ManifestCorrupt
from floeberg.files.avro_container import blocked, encode_long, read_blocks, read_header, write_container
from floeberg.files.avro_decode import DecodePlan, Decoder, decode_columns, plan_decoding
from floeberg.files.avro_encode import encode_optional_bytes, encode_optional_long, encode_text, long_bytes
from floeberg.files.avro_schemas import manifest_list_schema
from floeberg.files.avro_wire import WireType, parse_writer_schema
from floeberg.files.compression import avro_codec
from floeberg.files.limits import DEFAULT_LIMITS, DecodeLimits
from floeberg.files.manifest_columns import (
    MANIFEST_FILE_COLUMNS,
    SUMMARIES_ID,
    SUMMARY_COLUMNS,
    Column,
    check_kind,
    is_field,
    match,
    matcher,
    symbols_of,
    typed,
)
from floeberg.spec.snapshots.manifest_entry import FieldSummary, ManifestContent, ManifestFile

_BY_ID, _BY_NAME = matcher(MANIFEST_FILE_COLUMNS)
_SUMMARY_BY_ID, _SUMMARY_BY_NAME = matcher(SUMMARY_COLUMNS)
_CACHED_SCHEMA_BYTES: Final = 64 * 1024
_BOOLEANS: Final = {None: b"\x00", False: b"\x02\x00", True: b"\x02\x01"}


def read_manifest_list(
    data: bytes,
    *,
    limits: DecodeLimits = DEFAULT_LIMITS,
    decoder: Decoder = "auto",
    location: str = "manifest list",
) -> tuple[ManifestFile, ...]:
    """The manifests of a snapshot, in the list's order. In a v1 list every manifest is of data files and has sequence
    number 0. `location` names the list where something about it is to be said. Raises
    ManifestCorrupt, LimitExceeded, UnsupportedFeature."""
    header = read_header(data, limits)
    if (schema := header.metadata.get("avro.schema")) is None:
        raise ManifestCorrupt("the Avro header has no schema")
    plan, summary = (_cached_layout if len(schema) <= _CACHED_SCHEMA_BYTES else _layout)(schema, limits)
    records, body = read_blocks(data, header, limits)
    known = {name for name in plan.columns if "." not in name}
    raw = decode_columns(body, records, plan, select=known, decoder=decoder)
    for name in raw:
        if plan.columns[name].logical == "enum":
            raw[name] = symbols_of(raw[name], plan.columns[name])
    if _has_optional_summaries(plan):
        tolerate(Leniency.OPTIONAL_ITEM, location, "declares the elements of partitions as optional")
    values = {name: series.to_list() for name, series in typed(raw, MANIFEST_FILE_COLUMNS, records).items()}
    values["partitions"] = _summaries(
        raw.get("partitions"), summary, records, are_optional=_has_optional_summaries(plan)
    )
    values["content"] = [_content(number) for number in values["content"]]
    for name in ("sequence_number", "min_sequence_number"):
        values[name] = [number or 0 for number in values[name]]
    # A delete manifest has no row ids to give, whatever its writer put there.
    values["first_row_id"] = [
        first if content is ManifestContent.DATA else None
        for first, content in zip(values["first_row_id"], values["content"], strict=True)
    ]
    if any(length < 0 for length in values["manifest_length"]):
        raise ManifestCorrupt("the manifest list has a manifest of negative length")
    names = list(values)
    return tuple(
        ManifestFile(**dict(zip(names, row, strict=True)))
        for row in zip(*(values[name] for name in names), strict=True)
    )


def write_manifest_list(
    manifests: Iterable[ManifestFile],
    *,
    format_version: int,
    snapshot_id: int,
    parent_snapshot_id: int | None,
    sequence_number: int = 0,
    first_row_id: int | None = None,
    codec: str = "gzip",
) -> bytes:
    """A manifest list's bytes. Every value that the format version requires must be there: sequence numbers and
    first_row_id are assigned by the commit before. Raises InvalidInput."""
    metadata = {"snapshot-id": str(snapshot_id), "parent-snapshot-id": _text(parent_snapshot_id)}
    if format_version >= 2:
        metadata["sequence-number"] = str(sequence_number)
    if format_version >= 3:
        metadata["first-row-id"] = _text(first_row_id)
    metadata["format-version"] = str(format_version)
    schema = msgspec.json.encode(manifest_list_schema(format_version))
    records = _encode_v1(manifests) if format_version == 1 else _encode(manifests, format_version)
    return write_container(schema, blocked(records), metadata=metadata, codec=avro_codec(codec))


def _layout(schema: bytes, limits: DecodeLimits) -> tuple[DecodePlan, dict[str, Column]]:
    """How the record's fields are decoded, and what the members of a partition summary are."""
    columns: dict[str, WireType] = {}
    summary: dict[str, Column] = {}
    for field in parse_writer_schema(schema, limits):
        if is_field(field, SUMMARIES_ID, "partitions"):
            name, summary = "partitions", _summary_members(field.type)
        elif column := match(field, _BY_ID, _BY_NAME):
            check_kind(column, field.type)
            name = column.name
        else:
            name = f"skip.{len(columns)}"
        if name in columns and field.field_id is None:
            name = f"skip.{len(columns)}"  # a writer without ids gave a count under its older and its newer name
        if name in columns:
            raise ManifestCorrupt(f"the manifest list's Avro schema has {name} twice", column=name)
        columns[name] = field.type
    if "manifest_path" not in columns:
        raise ManifestCorrupt("this Avro file is no manifest list: its records have no manifest_path")
    return plan_decoding(columns), summary


_cached_layout = lru_cache(maxsize=64)(_layout)


def _summary_members(wire: WireType) -> dict[str, Column]:
    if wire.kind != "array" or wire.item is None or wire.item.kind != "record":
        raise ManifestCorrupt("the manifest list's Avro schema has partitions that are no list of records")
    members: dict[str, Column] = {}
    for place, field in enumerate(wire.item.fields):
        if column := match(field, _SUMMARY_BY_ID, _SUMMARY_BY_NAME):
            check_kind(column, field.type)
            members[f"f{place}"] = column
    if not any(column.name == "contains_null" for column in members.values()):
        raise ManifestCorrupt("the manifest list's partition summaries have no contains_null")
    return members


def _has_optional_summaries(plan: DecodePlan) -> bool:
    wire = plan.columns.get("partitions")
    return wire is not None and wire.item is not None and wire.item.null_index is not None


def _summaries(
    partitions: pl.Series | None, members: dict[str, Column], height: int, *, are_optional: bool
) -> list[tuple[FieldSummary, ...] | None]:
    """The summaries of each manifest; none at all where one of them is null, since nothing is known of that field."""
    if partitions is None:
        return [None] * height
    lengths = partitions.list.len().to_list()
    if not any(lengths):
        return [None if length is None else () for length in lengths]
    flat = partitions.explode(empty_as_null=False, keep_nulls=False).struct.unnest()
    values = {column.name: flat.get_column(code).cast(column.dtype).to_list() for code, column in members.items()}
    names = list(values)
    if None in values["contains_null"] and not are_optional:
        raise ManifestCorrupt("the manifest list has a partition summary without contains_null")
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(values[name] for name in names), strict=True)]
    built = [None if row["contains_null"] is None else FieldSummary(**row) for row in rows]
    out: list[tuple[FieldSummary, ...] | None] = []
    at = 0
    for length in lengths:
        here = [summary for summary in built[at : at + (length or 0)] if summary is not None]
        out.append(tuple(here) if len(here) == length else None)
        at += length or 0
    return out


def _content(number: int | None) -> ManifestContent:
    try:
        return ManifestContent(number or 0)
    except ValueError as error:
        raise ManifestCorrupt(f"the manifest list has a manifest of content {number}", content=number) from error


def _encode(manifests: Iterable[ManifestFile], format_version: int) -> Iterator[bytes]:
    for manifest in manifests:
        required = (
            manifest.added_snapshot_id, manifest.added_files_count, manifest.existing_files_count,
            manifest.deleted_files_count, manifest.added_rows_count, manifest.existing_rows_count,
            manifest.deleted_rows_count,
        )  # fmt: skip
        numbers = (manifest.content, manifest.sequence_number, manifest.min_sequence_number, *required)
        if None in required or manifest.sequence_number < 0 or manifest.min_sequence_number < 0:
            raise InvalidInput(
                f"manifest {manifest.manifest_path} lacks a snapshot id, a sequence number or a count, which a "
                f"v{format_version} manifest list requires",
                manifest=manifest.manifest_path,
            )
        record = _head(manifest) + b"".join([long_bytes(number or 0) for number in numbers])
        record += _encode_summaries(manifest.partitions) + encode_optional_bytes(manifest.key_metadata)
        yield record + (encode_optional_long(_list_first_row_id(manifest)) if format_version >= 3 else b"")


def _encode_v1(manifests: Iterable[ManifestFile]) -> Iterator[bytes]:
    for manifest in manifests:
        if manifest.content is not ManifestContent.DATA or manifest.added_snapshot_id is None:
            raise InvalidInput(
                f"manifest {manifest.manifest_path} is of deletes or lacks a snapshot id: not for a v1 manifest list",
                manifest=manifest.manifest_path,
            )
        files = (manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count)
        rows = (manifest.added_rows_count, manifest.existing_rows_count, manifest.deleted_rows_count)
        yield b"".join(
            (
                _head(manifest),
                encode_long(manifest.added_snapshot_id),
                *map(encode_optional_long, files),
                _encode_summaries(manifest.partitions),
                *map(encode_optional_long, rows),
                encode_optional_bytes(manifest.key_metadata),
            )
        )


def _head(manifest: ManifestFile) -> bytes:
    path, length, spec = manifest.manifest_path, manifest.manifest_length, manifest.partition_spec_id
    return encode_text(path) + long_bytes(length) + long_bytes(spec)


def _list_first_row_id(manifest: ManifestFile) -> int | None:
    return manifest.first_row_id if manifest.content is ManifestContent.DATA else None


def _encode_summaries(summaries: tuple[FieldSummary, ...] | None) -> bytes:
    if summaries is None:
        return b"\x00"
    if not summaries:
        return b"\x02\x00"
    parts = [b"\x02", long_bytes(len(summaries))]
    for summary in summaries:
        parts += (
            b"\x01" if summary.contains_null else b"\x00",
            _BOOLEANS[summary.contains_nan],
            encode_optional_bytes(summary.lower_bound),
            encode_optional_bytes(summary.upper_bound),
        )
    parts.append(b"\x00")
    return b"".join(parts)


def _text(number: int | None) -> str:
    """As the reference writes the absence of a number."""
    return "null" if number is None else str(number)
