"""A manifest as a columnar frame: one row for each entry, one column for each field, named as in the specification.

`data_file`'s fields stand beside the entry's. `partition` is a struct of physical values whose members are named by
partition field id; metrics are lists of (key, value). https://iceberg.apache.org/spec/#manifests
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import polars as pl

from floeberg.errors import ManifestCorrupt
from floeberg.files.avro_container import Header, read_block_groups, read_header
from floeberg.files.avro_decode import DecodePlan, Decoder, decode_columns, plan_decoding
from floeberg.files.avro_wire import WireField, WireType, parse_writer_schema
from floeberg.files.limits import DEFAULT_LIMITS, DecodeLimits
from floeberg.files.manifest_columns import (
    BOUNDS,
    COUNTS,
    DATA_FILE_COLUMNS,
    DATA_FILE_ID,
    ENTRY_COLUMNS,
    PARTITION_ID,
    check_kind,
    is_field,
    match,
    matcher,
    nulls,
    typed,
)
from floeberg.files.metric_columns import METRIC_MAPS, with_metric_columns
from floeberg.files.partition_columns import inferred_partition_type, partition_series, resolve_partition
from floeberg.files.regular_metrics import decode_regular
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
METRICS: Final = frozenset(column.name for column in DATA_FILE_COLUMNS if column.dtype in (COUNTS, BOUNDS))
_RANGES: Final = (("status", 2), ("content", 2), ("record_count", 2**63 - 1), ("file_size_in_bytes", 2**63 - 1))
_CACHED_SCHEMA_BYTES: Final = 256 * 1024
_BYTES_AT_ONCE: Final = 512 * 1024
_METRICS_BYTES_AT_ONCE: Final = 768 * 1024
"""How much of a manifest is held as columns at a time. Metrics maps take many times their bytes in that form, until what is
wanted is taken out of them; to take it out costs something for each part, so that these parts are larger."""

_ENTRY_BY_ID, _ENTRY_BY_NAME = matcher(ENTRY_COLUMNS)
_FILE_BY_ID, _FILE_BY_NAME = matcher(DATA_FILE_COLUMNS)


@dataclass(frozen=True, slots=True)
class _Layout:
    """A manifest's record flattened: how its fields are decoded, and which of them hold the partition."""

    plan: DecodePlan
    partition: tuple[WireField, ...]
    partition_is_nullable: bool


def decode_manifest(
    data: bytes,
    *,
    partition_type: StructType | None = None,
    select: Collection[str] | None = None,
    limits: DecodeLimits = DEFAULT_LIMITS,
    decoder: Decoder = "auto",
    metrics_of: Collection[int] = (),
) -> pl.DataFrame:
    """The entries as they stand in the file, without inheritance. Fields that the file's version lacks are null, but
    sequence numbers of a v1 manifest are 0. Without `partition_type` the file's own Avro schema says it.

    `select` names the columns wanted besides `ALWAYS_READ`; the metrics of the fields in `metrics_of` are columns of
    their own (`files.metric_columns`). Raises ManifestCorrupt, LimitExceeded, UnsupportedFeature."""
    header = read_header(data, limits)
    layout = _layout_of(header, limits)
    names = frozenset(COLUMN_NAMES if select is None else {*select, *ALWAYS_READ})
    at_once = _METRICS_BYTES_AT_ONCE if metrics_of or names & METRICS else _BYTES_AT_ONCE
    part = _PartDecoder(layout.plan, names, sorted(metrics_of), decoder)
    parts = [part.decode(body, records) for records, body in read_block_groups(data, header, limits, at_once=at_once)]
    entries = parts[0] if len(parts) == 1 else pl.concat(parts, rechunk=True)
    return _as_specified(entries, layout, names, partition_type)


class _PartDecoder:
    """Decodes the parts of one manifest: as those of one whose metrics lie alike in all entries, for as long as they do."""

    def __init__(self, plan: DecodePlan, names: frozenset[str], metrics_of: list[int], decoder: Decoder) -> None:
        self._plan = plan
        self._metrics_of = metrics_of
        self._decoder = decoder
        self._kept_maps = names & METRICS
        needed = self._kept_maps | set(METRIC_MAPS if metrics_of else ())
        self._needed_maps = [column for column in DATA_FILE_COLUMNS if column.name in needed]
        self._plain = {code for code in plan.columns if code.split(".")[0] in names - METRICS}
        self._may_be_regular = bool(metrics_of) and not self._kept_maps and decoder != "fastavro"

    def decode(self, body: bytes | bytearray, records: int) -> pl.DataFrame:
        if self._may_be_regular:
            regular = decode_regular(body, records, self._plan, select=self._plain, metrics_of=self._metrics_of)
            if regular is not None:
                return pl.DataFrame(list(regular.values()))
            self._may_be_regular = False
        select = self._plain | {column.name for column in self._needed_maps}
        found = decode_columns(body, records, self._plan, select=select, decoder=self._decoder)
        maps = pl.DataFrame(list(typed(found, self._needed_maps, records).values()))
        metrics = with_metric_columns(maps, self._metrics_of).get_columns()
        plain = [series for name, series in found.items() if name in self._plain]
        return pl.DataFrame([*plain, *(one for one in metrics if one.name not in METRICS - self._kept_maps)])


def _as_specified(
    entries: pl.DataFrame, layout: _Layout, names: frozenset[str], partition_type: StructType | None
) -> pl.DataFrame:
    """The entries with their columns in the order of `COLUMN_NAMES`, typed and checked; others follow as they are."""
    found = {series.name: series for series in entries.get_columns()}
    known = [column for column in (*ENTRY_COLUMNS, *DATA_FILE_COLUMNS) if column.name in names - METRICS]
    columns = {name: series for name, series in found.items() if name not in layout.plan.columns or name in METRICS}
    columns |= typed(found, known, entries.height)
    _set_defaults(columns, layout, entries.height)
    _check(columns)
    if "partition" in names:
        columns["partition"] = _partition(found, layout, partition_type, entries.height)
    ordered = [columns.pop(name) for name in COLUMN_NAMES if name in columns]
    return pl.DataFrame([*ordered, *columns.values()])


def inherit(frame: pl.DataFrame, manifest: ManifestFile) -> pl.DataFrame:
    """The entries with what they take from their manifest when it is null in the file: snapshot id, sequence numbers of
    added entries, first_row_id of live data files. Adds `spec_id`.

    https://iceberg.apache.org/spec/#sequence-number-inheritance, #first-row-id-inheritance"""
    columns = {series.name: series for series in frame.get_columns()}
    snapshot_id = columns["snapshot_id"]
    if snapshot_id.null_count() and manifest.added_snapshot_id is not None:
        columns["snapshot_id"] = snapshot_id.fill_null(manifest.added_snapshot_id)
    for name in ("sequence_number", "file_sequence_number"):
        if columns[name].null_count():
            inherits = columns[name].is_null()
            if manifest.sequence_number != 0:
                inherits &= columns["status"] == EntryStatus.ADDED
            columns[name] = _constant(name, manifest.sequence_number, frame.height).zip_with(inherits, columns[name])
    columns["first_row_id"] = _first_row_id(columns, manifest, frame.height)
    columns["spec_id"] = _constant("spec_id", manifest.partition_spec_id, frame.height).cast(pl.Int32)
    return pl.DataFrame(list(columns.values()))


def manifest_frame(
    data: bytes,
    manifest: ManifestFile,
    *,
    partition_type: StructType | None = None,
    select: Collection[str] | None = None,
    limits: DecodeLimits = DEFAULT_LIMITS,
    metrics_of: Collection[int] = (),
) -> pl.DataFrame:
    """`decode_manifest` and `inherit`, for the manifest that the list describes so. Raises ManifestCorrupt also when
    the manifest holds another kind of files than the list says, or an existing file has no sequence number."""
    frame = decode_manifest(data, partition_type=partition_type, select=select, limits=limits, metrics_of=metrics_of)
    frame = inherit(frame, manifest)
    is_data = frame.get_column("content") == FileContent.DATA
    if not (is_data if manifest.content is ManifestContent.DATA else ~is_data).all():
        raise ManifestCorrupt(
            f"manifest {manifest.manifest_path} is listed as one of {manifest.content.name} files and holds others",
            manifest=manifest.manifest_path,
        )
    numbers = frame.get_column("sequence_number")
    if numbers.null_count() and (numbers.is_null() & (frame.get_column("status") == EntryStatus.EXISTING)).any():
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
    fields = _layout_of(read_header(data, limits), limits).partition
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


def _first_row_id(columns: Mapping[str, pl.Series], manifest: ManifestFile, height: int) -> pl.Series:
    found = columns["first_row_id"]
    if manifest.content is not ManifestContent.DATA or manifest.first_row_id is None:
        return nulls("first_row_id", pl.Int64(), height)
    inherits = found.is_null() & (columns["status"] != EntryStatus.DELETED)
    rows = columns["record_count"].zip_with(inherits, _constant("rows", 0, height))
    return (rows.cum_sum() - rows + manifest.first_row_id).zip_with(inherits, found).alias("first_row_id")


def _constant(name: str, value: int, height: int) -> pl.Series:
    return pl.Series(name, [value], dtype=pl.Int64).new_from_index(0, height)


def _layout_of(header: Header, limits: DecodeLimits) -> _Layout:
    if (schema := header.metadata.get("avro.schema")) is None:
        raise ManifestCorrupt("the Avro header has no schema")
    if len(schema) > _CACHED_SCHEMA_BYTES:
        return _layout(parse_writer_schema(schema, limits))
    return _cached_layout(schema, limits)


@lru_cache(maxsize=256)
def _cached_layout(schema: bytes, limits: DecodeLimits) -> _Layout:
    """The manifests of a table have few schemas: one for each spec and format version."""
    return _layout(parse_writer_schema(schema, limits))


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
    return _Layout(plan_decoding(columns), () if partition is None else partition.type.fields, nullable)


def _put_partition(columns: dict[str, WireType], partition: WireField) -> None:
    if partition.type.null_index is not None:
        columns["partition"] = partition.type
        return
    for place, field in enumerate(partition.type.fields):
        columns[f"partition.{place}"] = field.type


def _partition(
    raw: Mapping[str, pl.Series], layout: _Layout, partition_type: StructType | None, height: int
) -> pl.Series:
    wanted = inferred_partition_type(layout.partition) if partition_type is None else partition_type
    if not len(wanted):
        return pl.Series("partition", [{}], dtype=pl.Struct([])).new_from_index(0, height)
    series: list[pl.Series] = []
    for member, place in resolve_partition(layout.partition, wanted):
        wire = None if place is None else layout.partition[place].type
        found = None if place is None or wire is None or wire.is_empty else _partition_column(raw, layout, place)
        series.append(partition_series(found, wire, member, height))
    return pl.DataFrame(series).to_struct("partition")


def _partition_column(raw: Mapping[str, pl.Series], layout: _Layout, place: int) -> pl.Series:
    if layout.partition_is_nullable:
        return raw["partition"].struct.field(f"f{place}")
    return raw[f"partition.{place}"]


def _set_defaults(columns: dict[str, pl.Series], layout: _Layout, height: int) -> None:
    if columns["content"].null_count():
        columns["content"] = columns["content"].fill_null(int(FileContent.DATA))
    if "file_format" in columns:
        columns["file_format"] = columns["file_format"].str.to_lowercase()
    if "sequence_number" not in layout.plan.columns:
        for name in ("sequence_number", "file_sequence_number"):
            columns[name] = _constant(name, 0, height)


def _check(columns: Mapping[str, pl.Series]) -> None:
    for name, top in _RANGES:
        if name in columns and len(columns[name]):
            least, most = columns[name].min(), columns[name].max()
            if not isinstance(least, int) or not isinstance(most, int) or least < 0 or most > top:
                raise ManifestCorrupt(f"the manifest has an entry whose {name} is out of range", column=name)
