"""A manifest as a columnar frame: one row for each entry, one column for each field, named as in the specification.

`data_file`'s fields stand beside the entry's. `partition` is a struct of physical values whose members are named by
partition field id; metrics are lists of (key, value). https://iceberg.apache.org/spec/#manifests
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from floeberg.errors import ManifestCorrupt
from floeberg.files.avro_container import Header, read_body, read_header
from floeberg.files.avro_decode import Decoder, decode_columns
from floeberg.files.avro_wire import WireField, WireType, parse_writer_schema
from floeberg.files.limits import DEFAULT_LIMITS, DecodeLimits
from floeberg.files.manifest_columns import (
    DATA_FILE_COLUMNS,
    DATA_FILE_ID,
    ENTRY_COLUMNS,
    PARTITION_ID,
    check_kind,
    is_field,
    match,
    matcher,
    typed,
)  # fmt: skip
from floeberg.files.partition_columns import inferred_partition_type, partition_series, resolve_partition
from floeberg.spec.data_file import EntryStatus, FileContent, ManifestContent, ManifestFile
from floeberg.spec.types import StructType, UnknownType

ALWAYS_READ: Final = frozenset(
    {"status", "snapshot_id", "sequence_number", "file_sequence_number", "content", "record_count", "first_row_id"}
)
"""Columns without which inheritance cannot be applied."""

COLUMN_NAMES: Final = (
    "status", "snapshot_id", "sequence_number", "file_sequence_number", "content", "file_path", "file_format",
    "partition",
    *(column.name for column in DATA_FILE_COLUMNS[3:]),
)  # fmt: skip
_SIGNED: Final = ("record_count", "file_size_in_bytes")
_ENTRY_BY_ID, _ENTRY_BY_NAME = matcher(ENTRY_COLUMNS)
_FILE_BY_ID, _FILE_BY_NAME = matcher(DATA_FILE_COLUMNS)


@dataclass(frozen=True, slots=True)
class _Layout:
    """A manifest's record flattened: its fields in the order of the bytes, and which of them hold the partition."""

    columns: Mapping[str, WireType]
    partition: tuple[WireField, ...]
    partition_is_nullable: bool


def decode_manifest(
    data: bytes,
    *,
    partition_type: StructType | None = None,
    select: Collection[str] | None = None,
    limits: DecodeLimits = DEFAULT_LIMITS,
    decoder: Decoder = "auto",
) -> pl.DataFrame:
    """The entries as they stand in the file, without inheritance. Fields that the file's version lacks are null, but
    sequence numbers of a v1 manifest are 0. Without `partition_type` the file's own Avro schema says it.

    `select` names the columns wanted besides `ALWAYS_READ`. Raises ManifestCorrupt, LimitExceeded,
    UnsupportedFeature."""
    header = read_header(data, limits)
    layout = _layout(_writer_fields(header, limits))
    records, body = read_body(data, header, limits)
    wanted = None if select is None else _codes_of({*select, *ALWAYS_READ}, layout)
    raw = decode_columns(body, records, layout.columns, select=wanted, decoder=decoder)
    names = frozenset(COLUMN_NAMES if select is None else {*select, *ALWAYS_READ})
    series = typed(raw, [column for column in (*ENTRY_COLUMNS, *DATA_FILE_COLUMNS) if column.name in names])
    if "partition" in names:
        series.append(_partition(raw, layout, partition_type))
    frame = pl.DataFrame(series).select([name for name in COLUMN_NAMES if name in names])
    return _checked(_defaulted(frame, layout))


def inherit(frame: pl.DataFrame, manifest: ManifestFile) -> pl.DataFrame:
    """The entries with what they take from their manifest when it is null in the file: snapshot id, sequence numbers of
    added entries, first_row_id of live data files. Adds `spec_id`.

    https://iceberg.apache.org/spec/#sequence-number-inheritance, #first-row-id-inheritance"""
    sequence = pl.lit(manifest.sequence_number, dtype=pl.Int64)
    may_inherit = pl.lit(True) if manifest.sequence_number == 0 else pl.col("status") == EntryStatus.ADDED
    inherited = [
        pl.col("snapshot_id").fill_null(pl.lit(manifest.added_snapshot_id, dtype=pl.Int64)),
        *(
            pl.when(pl.col(name).is_null() & may_inherit).then(sequence).otherwise(pl.col(name)).alias(name)
            for name in ("sequence_number", "file_sequence_number")
        ),
        _first_row_id(manifest),
        pl.lit(manifest.partition_spec_id, dtype=pl.Int32).alias("spec_id"),
    ]
    return frame.with_columns(inherited)


def manifest_frame(
    data: bytes,
    manifest: ManifestFile,
    *,
    partition_type: StructType | None = None,
    select: Collection[str] | None = None,
    limits: DecodeLimits = DEFAULT_LIMITS,
) -> pl.DataFrame:
    """`decode_manifest` and `inherit`, for the manifest that the list describes so. Raises ManifestCorrupt also when
    the manifest holds another kind of files than the list says, or an existing file has no sequence number."""
    frame = decode_manifest(data, partition_type=partition_type, select=select, limits=limits)
    is_data = pl.col("content") == FileContent.DATA
    stranger = ~is_data if manifest.content is ManifestContent.DATA else is_data
    frame = inherit(frame, manifest)
    lost = (pl.col("status") == EntryStatus.EXISTING) & pl.col("sequence_number").is_null()
    has_stranger, has_lost = frame.select(stranger.any(), lost.any().alias("lost")).row(0)
    if has_stranger:
        raise ManifestCorrupt(
            f"manifest {manifest.manifest_path} is listed as one of {manifest.content.name} files and holds others",
            manifest=manifest.manifest_path,
        )
    if has_lost:
        raise ManifestCorrupt(
            f"manifest {manifest.manifest_path} has an existing file without a sequence number",
            manifest=manifest.manifest_path,
        )
    return frame


def stored_partition_type(
    data: bytes, partition_type: StructType | None = None, *, limits: DecodeLimits = DEFAULT_LIMITS
) -> StructType:
    """The partition type of a manifest's values: the given one, and where that is unknown (the source column was
    dropped) or not given, what the manifest's own Avro schema says."""
    fields = _layout(_writer_fields(read_header(data, limits), limits)).partition
    stored = inferred_partition_type(fields)
    if partition_type is None:
        return stored
    places = [place for _, place in resolve_partition(fields, partition_type)]
    return StructType(
        tuple(
            replace(member, type=stored.members[place].type)
            if isinstance(member.type, UnknownType) and place is not None
            else member
            for member, place in zip(partition_type, places, strict=True)
        )
    )


def _first_row_id(manifest: ManifestFile) -> pl.Expr:
    if manifest.content is not ManifestContent.DATA or manifest.first_row_id is None:
        return pl.lit(None, dtype=pl.Int64).alias("first_row_id")
    inherits = pl.col("first_row_id").is_null() & (pl.col("status") != EntryStatus.DELETED)
    rows = pl.when(inherits).then(pl.col("record_count")).otherwise(0)
    start = manifest.first_row_id + rows.cum_sum() - rows
    return pl.when(inherits).then(start).otherwise(pl.col("first_row_id")).cast(pl.Int64).alias("first_row_id")


def _writer_fields(header: Header, limits: DecodeLimits) -> tuple[WireField, ...]:
    if (schema := header.metadata.get("avro.schema")) is None:
        raise ManifestCorrupt("the Avro header has no schema")
    return parse_writer_schema(schema, limits)


def _layout(fields: tuple[WireField, ...]) -> _Layout:
    columns: dict[str, WireType] = {}
    partition: WireField | None = None
    data_file: WireField | None = None

    def put(name: str, wire: WireType) -> None:
        if name in columns:
            raise ManifestCorrupt(f"the manifest's Avro schema has {name} twice", column=name)
        columns[name] = wire

    for field in fields:
        if is_field(field, DATA_FILE_ID, "data_file"):
            if data_file is not None or field.type.kind != "record" or field.type.null_index is not None:
                raise ManifestCorrupt("the manifest's Avro schema has no record data_file that every entry has")
            data_file = field
            for member in field.type.fields:
                if is_field(member, PARTITION_ID, "partition"):
                    if partition is not None or member.type.kind != "record":
                        raise ManifestCorrupt("the manifest's Avro schema has a partition that is no record")
                    partition = member
                    _put_partition(columns, member)
                elif column := match(member, _FILE_BY_ID, _FILE_BY_NAME):
                    check_kind(column, member.type)
                    put(column.name, member.type)
                else:
                    put(f"skip.{len(columns)}", member.type)
        elif column := match(field, _ENTRY_BY_ID, _ENTRY_BY_NAME):
            check_kind(column, field.type)
            put(column.name, field.type)
        else:
            put(f"skip.{len(columns)}", field.type)
    if data_file is None:
        raise ManifestCorrupt("this Avro file is no manifest: its records have no data_file")
    nullable = partition is not None and partition.type.null_index is not None
    return _Layout(columns, () if partition is None else partition.type.fields, nullable)


def _put_partition(columns: dict[str, WireType], partition: WireField) -> None:
    if partition.type.null_index is not None:
        columns["partition"] = partition.type
        return
    for place, field in enumerate(partition.type.fields):
        columns[f"partition.{place}"] = field.type


def _codes_of(names: Collection[str], layout: _Layout) -> set[str]:
    return {code for code in layout.columns if code.split(".")[0] in names}


def _partition(raw: pl.DataFrame, layout: _Layout, partition_type: StructType | None) -> pl.Series:
    wanted = inferred_partition_type(layout.partition) if partition_type is None else partition_type
    if not len(wanted):
        return pl.Series("partition", [{}], dtype=pl.Struct([])).new_from_index(0, raw.height)
    series: list[pl.Series] = []
    for member, place in resolve_partition(layout.partition, wanted):
        wire = None if place is None else layout.partition[place].type
        found = None if place is None or wire is None or wire.is_empty else _partition_column(raw, layout, place)
        series.append(partition_series(found, wire, member, raw.height))
    return pl.DataFrame(series).to_struct("partition")


def _partition_column(raw: pl.DataFrame, layout: _Layout, place: int) -> pl.Series:
    if layout.partition_is_nullable:
        return raw.get_column("partition").struct.field(f"f{place}")
    return raw.get_column(f"partition.{place}")


def _defaulted(frame: pl.DataFrame, layout: _Layout) -> pl.DataFrame:
    defaults = [pl.col("content").fill_null(int(FileContent.DATA))]
    if "file_format" in frame.columns:
        defaults.append(pl.col("file_format").str.to_lowercase())
    if "sequence_number" not in layout.columns:
        defaults += [pl.lit(0, dtype=pl.Int64).alias(name) for name in ("sequence_number", "file_sequence_number")]
    return frame.with_columns(defaults)


def _checked(frame: pl.DataFrame) -> pl.DataFrame:
    checks: dict[str, pl.Expr] = {
        "status": pl.col("status").is_between(0, 2),
        "content": pl.col("content").is_between(0, 2),
        **{name: pl.col(name) >= 0 for name in _SIGNED if name in frame.columns},
    }
    for name, holds in frame.select(**{name: check.all() for name, check in checks.items()}).row(0, named=True).items():
        if not holds:
            raise ManifestCorrupt(f"the manifest has an entry whose {name} is out of range", column=name)
    return frame
