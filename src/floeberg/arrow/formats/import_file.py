"""Describes a data file that another writer left, for adding it to a table: counts and bounds from a Parquet footer,
from the rows of other formats. A footer that says nothing certain of a column leaves it without metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from floeberg.arrow.columns.metrics import MetricsCollector, lower_bound, upper_bound
from floeberg.arrow.columns.metrics_config import MetricsConfig, ModeKind, measured_paths
from floeberg.arrow.formats.file_schema import FileField, file_fields, has_ids, walk
from floeberg.arrow.formats.io import reading
from floeberg.arrow.formats.open_file import read_file
from floeberg.arrow.formats.projection import Projection
from floeberg.arrow.formats.read_parquet import open_parquet, row_group_offset
from floeberg.arrow.formats.resolve_ids import resolve_ids
from floeberg.arrow.formats.row_groups import chunk_statistics, find_leaf
from floeberg.effects.protocols import Store
from floeberg.errors import DataFileCorrupt
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.schema import MAX_COLUMN_FIELD_ID, Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import NestedField


def describe_file(
    store: Store,
    location: str,
    file_format: FileFormat,
    *,
    schema: Schema,
    metrics: MetricsConfig,
    name_mapping: NameMapping | None = None,
    constants: dict[int, object] | None = None,
) -> DataFile:
    """The data file at a location, unpartitioned (the caller sets spec and partition).

    Raises DataFileCorrupt when it could not be read with the schema, or holds row ids that are not the table's.
    """
    if file_format is FileFormat.PARQUET:
        return _describe_parquet(
            store, location, schema, metrics=metrics, name_mapping=name_mapping, constants=constants or {}
        )
    size_bytes = store.size(location)
    file = DataFile(file_path=location, file_format=file_format, record_count=0, file_size_in_bytes=size_bytes)
    collector = MetricsCollector(schema, metrics)
    for found in read_file(store, file, schema, name_mapping=name_mapping, constants=constants):
        collector.update(found.batch)
    gathered = collector.finish()
    return DataFile(
        file_path=location,
        file_format=file_format,
        record_count=gathered.record_count,
        file_size_in_bytes=size_bytes,
        value_counts=gathered.value_counts,
        null_value_counts=gathered.null_value_counts,
        nan_value_counts=gathered.nan_value_counts,
        lower_bounds=gathered.lower_bounds,
        upper_bounds=gathered.upper_bounds,
    )


def _describe_parquet(
    store: Store,
    location: str,
    schema: Schema,
    *,
    metrics: MetricsConfig,
    name_mapping: NameMapping | None,
    constants: dict[int, object],
) -> DataFile:
    size_bytes = store.size(location)
    file = open_parquet(store, location, size_bytes=size_bytes)
    with reading(location):
        fields = resolve_ids(
            file_fields(file.schema_arrow, location=location), location=location, name_mapping=name_mapping
        )
    _refuse_row_ids(fields, location)
    # Whatever could not be read later is refused now.
    Projection(fields, schema, location=location, constants=constants)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    counted = _Counted()
    for field, _ in measured_paths(schema):
        mode = metrics.mode(field.field_id)
        leaf = find_leaf(fields, schema.path_to(field.field_id))
        if leaf is not None and mode.kind is not ModeKind.NONE:
            counted.add(field, [chunk_statistics(group, leaf, field.type) for group in groups], metrics)
    return DataFile(
        file_path=location,
        file_format=FileFormat.PARQUET,
        record_count=sum(group.num_rows for group in groups),
        file_size_in_bytes=size_bytes,
        column_sizes=_column_sizes(groups, fields),
        value_counts=counted.values,
        null_value_counts=counted.nulls,
        lower_bounds=counted.lower,
        upper_bounds=counted.upper,
        split_offsets=tuple(sorted(row_group_offset(group) for group in groups)) or None,
    )


class _Counted:
    """Metrics of columns, put together from those of row groups."""

    def __init__(self) -> None:
        self.values: dict[int, int] = {}
        self.nulls: dict[int, int] = {}
        self.lower: dict[int, bytes] = {}
        self.upper: dict[int, bytes] = {}

    def add(self, field: NestedField, groups: Sequence[Any], metrics: MetricsConfig) -> None:
        mode = metrics.mode(field.field_id)
        self.values[field.field_id] = sum(group.value_count for group in groups)
        if all(group.null_count is not None for group in groups):
            self.nulls[field.field_id] = sum(group.null_count for group in groups)
        filled = [group for group in groups if group.null_count is None or group.null_count < group.value_count]
        if not mode.has_bounds or not filled:
            return
        if all(group.lower is not None for group in filled):
            bound = lower_bound(field.type, min(group.lower for group in filled), mode)
            if bound is not None:
                self.lower[field.field_id] = bound
        if all(group.upper is not None for group in filled):
            bound = upper_bound(field.type, max(group.upper for group in filled), mode)
            if bound is not None:
                self.upper[field.field_id] = bound


def _refuse_row_ids(fields: Sequence[FileField], location: str) -> None:
    """A file of another table may hold that table's row ids, which would clash with this one's."""
    if not has_ids(fields):
        return
    for field in walk(fields):
        if field.field_id is not None and field.field_id > MAX_COLUMN_FIELD_ID:
            raise DataFileCorrupt(
                f"{location} holds the reserved column {field.name!r} (row lineage of the table it was written for); "
                "copy its rows instead of adding the file",
                location=location,
            )


def _column_sizes(groups: Sequence[Any], fields: Sequence[FileField]) -> dict[int, int]:
    leaves = {field.leaves[0]: field.field_id for field in walk(fields) if not field.children}
    sizes: dict[int, int] = {}
    for group in groups:
        for ordinal, field_id in leaves.items():
            if field_id is not None:
                sizes[field_id] = sizes.get(field_id, 0) + group.column(ordinal).total_compressed_size
    return sizes
