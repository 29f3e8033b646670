"""Describes a data file that another writer left, for adding it to a table: counts and bounds from a Parquet footer,
from the rows of other formats. A footer that says nothing certain of a column leaves it without metrics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as orc
from msgspec import structs

from floeberg.arrow.columns.conversion import takes_every_value
from floeberg.arrow.columns.metrics import MetricsCollector, lower_bound, upper_bound
from floeberg.arrow.columns.metrics_config import MetricsConfig, ModeKind, measured_paths
from floeberg.arrow.columns.physical import repeat
from floeberg.arrow.formats.file_schema import FileField, file_fields, find_child, has_ids, walk
from floeberg.arrow.formats.io import open_source, reading
from floeberg.arrow.formats.open_file import read_file
from floeberg.arrow.formats.projection import Projection
from floeberg.arrow.formats.read_avro import avro_fields
from floeberg.arrow.formats.read_orc import orc_fields
from floeberg.arrow.formats.read_parquet import FileBatch, open_parquet, row_group_offset
from floeberg.arrow.formats.resolve_ids import refuse_ambiguous, resolve_ids, spelled_mapping
from floeberg.arrow.formats.row_groups import chunk_statistics, find_leaf
from floeberg.effects.protocols import Store
from floeberg.errors import DataFileCorrupt
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.schema import MAX_COLUMN_FIELD_ID, Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import IcebergType, ListType, MapType, NestedField, StructType


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A described file, and the name mapping that its columns are found by: the one given, with the file's own spelling of
    names where that differs in case. None for a file with field ids."""

    data_file: DataFile
    name_mapping: NameMapping | None


def describe_file(
    store: Store,
    location: str,
    file_format: FileFormat,
    *,
    schema: Schema,
    metrics: MetricsConfig,
    name_mapping: NameMapping | None = None,
    constants: Mapping[int, object] | None = None,
    known_names: Mapping[int, Collection[str]] | None = None,
) -> ImportedFile:
    """The data file at a location, unpartitioned (the caller sets spec and partition). `constants` are its identity
    partition values; `known_names` are the names that each field id of the table has or had.

    Raises DataFileCorrupt when it could not be read with the schema, holds row ids that are not the table's, has the field ids
    of another table, none of the table's columns, two that are one of them, one whose name was another column's when earlier
    files were added, or other values than `constants` in a partition column.
    """
    opened = open_parquet(store, location) if file_format is FileFormat.PARQUET else None
    stored = _stored_columns(store, location, file_format, schema, opened)
    _refuse_row_ids(stored, location)
    mapping = name_mapping
    if has_ids(stored):
        mapping = None
        _refuse_foreign_ids(stored, known_names or {}, location)
    elif mapping is not None:
        mapping = spelled_mapping(mapping, stored)
        refuse_ambiguous(stored, mapping, location=location)
    fields = resolve_ids(stored, location=location, name_mapping=mapping)
    if mapping is not None:
        _refuse_names_of_others(fields, schema.fields, location)
    constants = constants or {}
    _refuse_unrelated(fields, schema, constants, location)
    file = DataFile(
        file_path=location, file_format=file_format, record_count=0, file_size_in_bytes=store.size(location)
    )
    if opened is None:
        rows = read_file(store, file, schema, name_mapping=mapping, constants=constants)
        file = _measured(file, rows, MetricsCollector(schema, metrics))
    else:
        # Whatever could not be read later is refused now.
        Projection(fields, schema, location=location, constants=constants)
        file = _from_footer(file, opened.metadata, fields, schema, metrics)
    _check_constants(store, file, fields, schema, name_mapping=mapping, constants=constants)
    return ImportedFile(file, mapping)


def _stored_columns(
    store: Store, location: str, file_format: FileFormat, schema: Schema, opened: Any | None
) -> tuple[FileField, ...]:
    """The columns of a file with no other ids than its own."""
    if file_format is FileFormat.AVRO:
        return avro_fields(store, location, schema, name_mapping=NameMapping())
    with reading(location):
        if opened is None:
            file = orc.ORCFile(open_source(store, location))
            return orc_fields(file, schema, location=location, name_mapping=NameMapping())
        return file_fields(opened.schema_arrow, location=location)


def _measured(file: DataFile, rows: Iterable[FileBatch], collector: MetricsCollector) -> DataFile:
    """The file with the metrics of its rows."""
    for found in rows:
        collector.update(found.batch)
    gathered = collector.finish()
    return structs.replace(
        file,
        record_count=gathered.record_count,
        value_counts=gathered.value_counts,
        null_value_counts=gathered.null_value_counts,
        nan_value_counts=gathered.nan_value_counts,
        lower_bounds=gathered.lower_bounds,
        upper_bounds=gathered.upper_bounds,
    )


def _from_footer(
    file: DataFile, footer: Any, fields: Sequence[FileField], schema: Schema, metrics: MetricsConfig
) -> DataFile:
    """The file with what its Parquet footer says."""
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    counted = _Counted()
    for field, _ in measured_paths(schema):
        mode = metrics.mode(field.field_id)
        leaf = find_leaf(fields, schema.path_to(field.field_id))
        if leaf is not None and mode.kind is not ModeKind.NONE:
            certain = _is_readable(leaf, field.type, footer.schema)
            counted.add(
                field, [chunk_statistics(group, leaf, field.type) for group in groups], metrics, certain=certain
            )
    return structs.replace(
        file,
        record_count=sum(group.num_rows for group in groups),
        column_sizes=_column_sizes(groups, fields),
        value_counts=counted.values,
        null_value_counts=counted.nulls,
        lower_bounds=counted.lower,
        upper_bounds=counted.upper,
        split_offsets=tuple(sorted(row_group_offset(group) for group in groups)) or None,
    )


def _is_readable(leaf: FileField, data_type: IcebergType, stored: Any) -> bool:
    """Whether every value that the column may hold can be read as the type. Nanoseconds of int96 are cut, others refused."""
    return stored.column(leaf.leaves[0]).physical_type == "INT96" or takes_every_value(leaf.type, data_type)


class _Counted:
    """Metrics of columns, put together from those of row groups."""

    def __init__(self) -> None:
        self.values: dict[int, int] = {}
        self.nulls: dict[int, int] = {}
        self.lower: dict[int, bytes] = {}
        self.upper: dict[int, bytes] = {}

    def add(self, field: NestedField, groups: Sequence[Any], metrics: MetricsConfig, *, certain: bool) -> None:
        """Values are counted only if it is `certain` that they can be read: metadata answer where values are counted, and
        would do so where reading is an error. Bounds, rounded outwards, still leave out files."""
        mode = metrics.mode(field.field_id)
        if certain:
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


def _refuse_foreign_ids(fields: Sequence[FileField], known_names: Mapping[int, Collection[str]], location: str) -> None:
    """Field ids are those of the table that a file was written for; under another table's they show other columns."""
    lowered = {field_id: {name.lower() for name in names} for field_id, names in known_names.items()}
    taken = {name for names in lowered.values() for name in names}
    for field in fields:
        if field.field_id is None:
            continue
        names = lowered.get(field.field_id)
        if (field.name.lower() not in names) if names is not None else (field.name.lower() in taken):
            raise DataFileCorrupt(
                f"{location} has the field ids of another table: column {field.name!r} has id {field.field_id}, which is "
                f"{'no column' if names is None else ' or '.join(sorted(known_names[field.field_id]))!r} here; copy its "
                "rows instead of adding the file",
                location=location,
            )


def _refuse_names_of_others(fields: Sequence[FileField], members: Sequence[NestedField], location: str) -> None:
    """The name mapping keeps a name for the column that had it when earlier files were added. Where another column has the
    name now, the file's column would be read as the wrong one, or not at all."""
    for field in fields:
        own = next((member for member in members if member.name == field.name), None)
        if own is None and field.field_id is not None:
            own = next((member for member in members if member.name.lower() == field.name.lower()), None)
        if own is not None and own.field_id != field.field_id:
            raise DataFileCorrupt(
                f"{location}: column {field.name!r} would not be read as the table's column {own.name!r}: files that were "
                "added earlier have this name for a column that was renamed or dropped since; copy its rows "
                "(INSERT INTO … SELECT) instead of adding the file",
                location=location,
                column=field.name,
            )
        target = next((member for member in members if member.field_id == field.field_id), None)
        if target is not None and isinstance(target.type, StructType) and field.is_struct:
            _refuse_names_of_others(field.children, target.type.members, location)
        elif target is not None and isinstance(target.type, ListType | MapType):
            for child, below in zip(field.children, target.type.fields, strict=False):
                if isinstance(below.type, StructType) and child.is_struct and child.field_id == below.field_id:
                    _refuse_names_of_others(child.children, below.type.members, location)


def _refuse_unrelated(
    fields: Sequence[FileField], schema: Schema, constants: Mapping[int, object], location: str
) -> None:
    """A file without any column of the table would add rows of nothing but nulls."""
    own = [column for column in schema.fields if column.field_id not in constants]
    if own and not any(find_child(fields, column) is not None for column in schema.fields):
        raise DataFileCorrupt(
            f"{location} holds none of the table's columns ({', '.join(column.name for column in own[:10])}); it has "
            f"{', '.join(repr(field.name) for field in fields[:10]) or 'no column'}",
            location=location,
        )


def _check_constants(
    store: Store,
    file: DataFile,
    fields: Sequence[FileField],
    schema: Schema,
    *,
    name_mapping: NameMapping | None,
    constants: Mapping[int, object],
) -> None:
    """A partition column that the file holds too is read from the file by some engines, from the partition by others."""
    held = [one for one in schema.fields if one.field_id in constants and find_child(fields, one) is not None]
    if not held:
        return
    for found in read_file(store, file, Schema(*held), name_mapping=name_mapping):
        for column, values in zip(held, found.batch.columns, strict=True):
            expected = repeat(constants[column.field_id], column.type, 1)
            distinct = pc.unique(values)
            if len(distinct) and not pa.array(distinct).equals(expected):
                raise DataFileCorrupt(
                    f"{file.file_path}: partition column {column.name!r} holds other values in the file "
                    f"({', '.join(str(one) for one in distinct[:3])}) than its folder says ({expected[0]}); copy its rows "
                    "instead of adding the file",
                    location=file.file_path,
                    column=column.name,
                )


def _column_sizes(groups: Sequence[Any], fields: Sequence[FileField]) -> dict[int, int]:
    leaves = {field.leaves[0]: field.field_id for field in walk(fields) if not field.children}
    sizes: dict[int, int] = {}
    for group in groups:
        for ordinal, field_id in leaves.items():
            if field_id is not None:
                sizes[field_id] = sizes.get(field_id, 0) + group.column(ordinal).total_compressed_size
    return sizes
