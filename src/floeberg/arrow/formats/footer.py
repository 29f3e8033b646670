"""What a data file's footer says without its rows being read: the number of rows, and the bounds of its columns."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import fastavro
import pyarrow.orc as orc

from floeberg.arrow.formats.file_schema import FileField, file_fields
from floeberg.arrow.formats.io import open_source, reading
from floeberg.arrow.formats.projection import Projection, Resolver
from floeberg.arrow.formats.read_avro import avro_fields
from floeberg.arrow.formats.read_orc import OrcResolver, orc_fields
from floeberg.arrow.formats.read_parquet import open_parquet
from floeberg.arrow.formats.resolve_ids import resolve_ids
from floeberg.arrow.formats.row_groups import row_group_as_data_file
from floeberg.effects.protocols import Store
from floeberg.errors import DataFileCorrupt, UnsupportedFeature
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.values.single_value import from_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """Rows of a file, and by column id what its footer proves of columns: a count or bound is there only when every row
    group has it. Bounds are physical values."""

    record_count: int
    null_value_counts: Mapping[int, int] = field(default_factory=dict)
    least: Mapping[int, Any] = field(default_factory=dict)
    greatest: Mapping[int, Any] = field(default_factory=dict)


def read_footer(
    store: Store,
    file: DataFile,
    schema: Schema,
    *,
    name_mapping: NameMapping | None = None,
    table_schema: Schema | None = None,
) -> Footer:
    """The footer of a file, of columns of the schema. Of ORC and Avro files only the number of rows is told. `table_schema`
    is what `read_file` has under this name.

    Raises DataFileCorrupt, FileNotFound, UnsupportedFeature.
    """
    match file.file_format:
        case FileFormat.PARQUET:
            return _parquet(store, file.file_path, schema, name_mapping, table_schema)
        case FileFormat.ORC:
            with reading(file.file_path):
                opened = orc.ORCFile(open_source(store, file.file_path))
                fields = orc_fields(opened, schema, location=file.file_path, name_mapping=name_mapping)
                _note_leniencies(fields, table_schema, file.file_path, OrcResolver)
                return Footer(record_count=opened.nrows)
        case FileFormat.AVRO:
            fields = avro_fields(store, file.file_path, schema, name_mapping=name_mapping)
            _note_leniencies(fields, table_schema, file.file_path, Resolver)
            data = store.read(file.file_path)
            with reading(file.file_path):
                return Footer(record_count=sum(block.num_records for block in fastavro.block_reader(io.BytesIO(data))))
    raise UnsupportedFeature(f"{file.file_path}: rows are not stored in {file.file_format} files")


def _parquet(
    store: Store, location: str, schema: Schema, name_mapping: NameMapping | None, table_schema: Schema | None
) -> Footer:
    file = open_parquet(store, location)
    with reading(location):
        fields = resolve_ids(
            file_fields(file.schema_arrow, location=location),
            location=location,
            name_mapping=name_mapping,
            by_position=table_schema,
        )
        _note_leniencies(fields, table_schema, location, Resolver)
        primitive = [i for i, column in schema.by_id.items() if column.type.is_primitive]
        groups = [
            row_group_as_data_file(file.metadata.row_group(number), fields, schema, primitive)
            for number in range(file.metadata.num_row_groups)
        ]

    def value(field_id: int, bound: bytes) -> Any:
        return from_bytes(schema.by_id[field_id].type, bound)

    return Footer(
        record_count=file.metadata.num_rows,
        null_value_counts=_of_all([group.null_value_counts or {} for group in groups], sum),
        least=_of_all([_values(group.lower_bounds, value) for group in groups], min),
        greatest=_of_all([_values(group.upper_bounds, value) for group in groups], max),
    )


def _note_leniencies(
    fields: Sequence[FileField], schema: Schema | None, location: str, resolver: type[Resolver]
) -> None:
    """Looks for the columns of a data file as a reader does, to say what is tolerated. Those that it could not read are not
    for the footer to report: they may be of an older schema."""
    for column in () if schema is None else schema.fields:
        with suppress(DataFileCorrupt):
            Projection(fields, Schema(column), location=location, resolver=resolver)


def _values(bounds: Mapping[int, bytes] | None, value: Callable[[int, bytes], Any]) -> dict[int, Any]:
    return {field_id: value(field_id, bound) for field_id, bound in (bounds or {}).items()}


def _of_all(
    groups: list[Mapping[int, Any]] | list[dict[int, Any]], combine: Callable[[list[Any]], Any]
) -> dict[int, Any]:
    """What every row group has, combined."""
    if not groups:
        return {}
    common = set.intersection(*(set(group) for group in groups))
    return {field_id: combine([group[field_id] for group in groups]) for field_id in sorted(common)}
