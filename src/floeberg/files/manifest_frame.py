"""A manifest as a columnar frame: one row for each entry, one column for each field, named as in the specification.

`data_file`'s fields stand beside the entry's. `partition` is a struct of physical values whose members are named by
partition field id; metrics are lists of (key, value). https://iceberg.apache.org/spec/#manifests
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from floeberg.effects.leniencies import Leniency, tolerate
from floeberg.errors import ManifestCorrupt
from floeberg.files.avro_container import read_block_groups, read_header
from floeberg.files.avro_decode import DecodePlan, Decoder, decode_columns
from floeberg.files.limits import DEFAULT_LIMITS, DecodeLimits
from floeberg.files.manifest_columns import (
    BOUNDS,
    COUNTS,
    DATA_FILE_COLUMNS,
    ENTRY_COLUMNS,
    nulls,
    symbols_of,
    typed,
    without_null_items,
)
from floeberg.files.manifest_layout import ManifestLayout, has_lengths, is_plausible, layout_of
from floeberg.files.metric_columns import METRIC_MAPS, with_metric_columns
from floeberg.files.partition_columns import inferred_partition_type, partition_series, resolve_partition
from floeberg.files.regular_metrics import decode_regular
from floeberg.spec.snapshots.manifest_entry import EntryStatus, FileContent, ManifestContent, ManifestFile
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
_BYTES_AT_ONCE: Final = 512 * 1024
_METRICS_BYTES_AT_ONCE: Final = 768 * 1024
"""How much of a manifest is held as columns at a time. Metrics maps take many times their bytes in that form, until what is
wanted is taken out of them; to take it out costs something for each part, so that these parts are larger."""


def decode_manifest(
    data: bytes,
    *,
    partition_type: StructType | None = None,
    select: Collection[str] | None = None,
    limits: DecodeLimits = DEFAULT_LIMITS,
    decoder: Decoder = "auto",
    metrics_of: Collection[int] = (),
    listed: ManifestFile | None = None,
) -> pl.DataFrame:
    """The entries as they stand in the file, without inheritance. Fields that the file's version lacks are null, but
    sequence numbers of a v1 manifest are 0. Without `partition_type` the file's own Avro schema says it.

    `select` names the columns wanted besides `ALWAYS_READ`; the metrics of the fields in `metrics_of` are columns of
    their own (`files.metric_columns`). `listed` is what the manifest list says of the manifest, to name it and to tell
    apart what its bytes could mean. Raises ManifestCorrupt, LimitExceeded, UnsupportedFeature."""
    header = read_header(data, limits)
    layout = layout_of(header, limits)
    names = frozenset(COLUMN_NAMES if select is None else {*select, *ALWAYS_READ})
    location = "manifest" if listed is None else listed.manifest_path

    def decoded(plan: DecodePlan) -> pl.DataFrame:
        at_once = _METRICS_BYTES_AT_ONCE if metrics_of or names & METRICS else _BYTES_AT_ONCE
        part = _PartDecoder(replace(layout, plan=plan), names, sorted(metrics_of), decoder)
        groups = read_block_groups(data, header, limits, at_once=at_once)
        parts = [part.decode(body, records) for records, body in groups]
        entries = parts[0] if len(parts) == 1 else pl.concat(parts, rechunk=True)
        version = header.metadata.get("format-version")
        is_v1 = version == b"1" or (version is None and listed is None)
        return _as_specified(entries, replace(layout, plan=plan), names, partition_type, is_v1=is_v1)

    for leniency, message in layout.leniencies:
        tolerate(leniency, location, message)
    if layout.with_lengths is None:
        return decoded(layout.plan)
    first, body = next(iter(read_block_groups(data, header, limits, at_once=1)))
    can_be_plain = is_plausible(body, first, layout)
    if has_lengths(body, first, layout) or not can_be_plain:
        try:
            frame = decoded(layout.with_lengths)
        except ManifestCorrupt:
            return decoded(layout.plan)
        # The Java library writes a length before each. Bytes that can be read both ways are rare: there the counts of rows
        # in the manifest list decide.
        if not can_be_plain or listed is None or _has_rows(frame, listed):
            tolerate(
                Leniency.FIXED_WITH_LENGTH, location, "has a length before each partition value of Avro's fixed type"
            )
            return frame
    return decoded(layout.plan)


def _has_rows(frame: pl.DataFrame, listed: ManifestFile) -> bool:
    """Whether the entries have as many rows as the manifest list says."""
    return all(
        stated is None
        or stated == frame.filter(pl.col("status") == status).get_column("record_count").cast(pl.Int128).sum()
        for status, stated in (
            (EntryStatus.ADDED, listed.added_rows_count),
            (EntryStatus.EXISTING, listed.existing_rows_count),
            (EntryStatus.DELETED, listed.deleted_rows_count),
        )
    )


class _PartDecoder:
    """Decodes the parts of one manifest: as those of one whose metrics lie alike in all entries, for as long as they do."""

    def __init__(self, layout: ManifestLayout, names: frozenset[str], metrics_of: list[int], decoder: Decoder) -> None:
        self._plan = plan = layout.plan
        self._nullable_items = layout.nullable_items
        self._metrics_of = metrics_of
        self._decoder = decoder
        self._kept_maps = names & METRICS
        needed = self._kept_maps | set(METRIC_MAPS if metrics_of else ())
        self._needed_maps = [column for column in DATA_FILE_COLUMNS if column.name in needed]
        self._plain = {code for code in plan.columns if code.split(".")[0] in names - METRICS} | {*layout.branches}
        self._may_be_regular = (
            bool(metrics_of) and not self._kept_maps and decoder != "fastavro" and not layout.nullable_items
        )

    def decode(self, body: bytes | bytearray, records: int) -> pl.DataFrame:
        if self._may_be_regular:
            regular = decode_regular(body, records, self._plan, select=self._plain, metrics_of=self._metrics_of)
            if regular is not None:
                return pl.DataFrame(list(regular.values()))
            self._may_be_regular = False
        select = self._plain | {column.name for column in self._needed_maps}
        found = decode_columns(body, records, self._plan, select=select, decoder=self._decoder)
        for column in DATA_FILE_COLUMNS:
            if column.name in self._nullable_items & found.keys():
                found[column.name] = without_null_items(found[column.name], column)
        maps = pl.DataFrame(list(typed(found, self._needed_maps, records).values()))
        metrics = with_metric_columns(maps, self._metrics_of).get_columns()
        plain = [series for name, series in found.items() if name in self._plain]
        return pl.DataFrame([*plain, *(one for one in metrics if one.name not in METRICS - self._kept_maps)])


def _as_specified(
    entries: pl.DataFrame,
    layout: ManifestLayout,
    names: frozenset[str],
    partition_type: StructType | None,
    *,
    is_v1: bool,
) -> pl.DataFrame:
    """The entries with their columns in the order of `COLUMN_NAMES`, typed and checked; others follow as they are."""
    found = {series.name: series for series in entries.get_columns()}
    for name, branch in layout.branches.items():
        if not (found.pop(name) == branch).all():
            raise ManifestCorrupt("the manifest has an entry without data_file")
    for name, wire in layout.plan.columns.items():
        if wire.logical == "enum" and name in found and not name.startswith("partition"):
            found[name] = symbols_of(found[name], wire)
    known = [column for column in (*ENTRY_COLUMNS, *DATA_FILE_COLUMNS) if column.name in names - METRICS]
    columns = {name: series for name, series in found.items() if name not in layout.plan.columns or name in METRICS}
    columns |= typed(found, known, entries.height)
    _set_defaults(columns, layout, entries.height, is_v1=is_v1)
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
    frame = decode_manifest(
        data, partition_type=partition_type, select=select, limits=limits, metrics_of=metrics_of, listed=manifest
    )
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
    fields = layout_of(read_header(data, limits), limits).partition
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


def _partition(
    raw: Mapping[str, pl.Series], layout: ManifestLayout, partition_type: StructType | None, height: int
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


def _partition_column(raw: Mapping[str, pl.Series], layout: ManifestLayout, place: int) -> pl.Series:
    if layout.partition_is_nullable:
        return raw["partition"].struct.field(f"f{place}")
    return raw[f"partition.{place}"]


def _set_defaults(columns: dict[str, pl.Series], layout: ManifestLayout, height: int, *, is_v1: bool) -> None:
    if columns["content"].null_count():
        columns["content"] = columns["content"].fill_null(int(FileContent.DATA))
    if "file_format" in columns:
        columns["file_format"] = columns["file_format"].str.to_lowercase()
    # Some writers of v2 leave them out, and mean that they are inherited.
    if "sequence_number" not in layout.plan.columns and is_v1:
        for name in ("sequence_number", "file_sequence_number"):
            columns[name] = _constant(name, 0, height)


def _check(columns: Mapping[str, pl.Series]) -> None:
    for name, top in _RANGES:
        if name in columns and len(columns[name]):
            least, most = columns[name].min(), columns[name].max()
            if not isinstance(least, int) or not isinstance(most, int) or least < 0 or most > top:
                raise ManifestCorrupt(f"the manifest has an entry whose {name} is out of range", column=name)
