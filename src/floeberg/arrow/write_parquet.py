"""Writes Parquet files as the specification maps types to it, with field ids, by row groups of a size in bytes.
https://iceberg.apache.org/spec/#parquet"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from floeberg.arrow.io import FileSink
from floeberg.arrow.nested import map_leaves
from floeberg.arrow.read_parquet import row_group_offset
from floeberg.arrow.types import FIELD_ID_KEY, arrow_type, child_fields, storage_type
from floeberg.arrow.write_properties import WriteProperties
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.schema import Schema, walk_fields
from floeberg.spec.schema_json import schema_to_json
from floeberg.spec.types import (
    DEFAULT_CRS,
    DEFAULT_EDGE_ALGORITHM,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    UuidType,
)
from floeberg.spec.values import bound_from_point

_MIN_RATIO: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatResult:
    """What a closed file says of itself beyond the metrics of its values."""

    file_size_in_bytes: int
    column_sizes: Mapping[int, int] | None = None
    split_offsets: tuple[int, ...] | None = None
    lower_bounds: Mapping[int, bytes] | None = None
    upper_bounds: Mapping[int, bytes] | None = None


class _WkbType(pa.ExtensionType):  # type: ignore[misc]  # pyarrow has no types of its own
    """geoarrow.wkb, by which pyarrow knows to annotate a column as GEOMETRY or GEOGRAPHY."""

    def __init__(self, metadata: bytes) -> None:
        self._metadata = metadata
        super().__init__(pa.binary(), "geoarrow.wkb")

    def __arrow_ext_serialize__(self) -> bytes:
        return self._metadata

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> _WkbType:
        return cls(serialized)


class ParquetFileWriter:
    """One Parquet file. Batches gather until they are worth a row group; `written_bytes` counts what the file has and
    what the gathered ones will come to, by the ratio seen so far."""

    def __init__(self, sink: FileSink, schema: Schema, properties: WriteProperties) -> None:
        self._sink = sink
        self._fields = schema.fields
        self._row_group_bytes = properties.row_group_bytes
        self._rebuilt = any(_is_annotated(f.type) or f.type.is_nested for f, _ in walk_fields(schema.fields))
        self._schema = pa.schema([_parquet_field(field) for field in schema.fields])
        metadata = {b"iceberg.schema": json.dumps(schema_to_json(schema)).encode()}
        self._footers: list[Any] = []
        self._writer = _open(sink, self._schema, properties, self._footers)
        self._writer.add_key_value_metadata(metadata)
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._ratio = 1.0

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows == 0:
            return
        self._pending.append(batch)
        self._pending_bytes += batch.nbytes
        if self._pending_bytes * self._ratio >= self._row_group_bytes:
            self.flush()

    @property
    def written_bytes(self) -> int:
        return self._sink.tell() + int(self._pending_bytes * self._ratio)

    @property
    def buffered_bytes(self) -> int:
        """The memory that the file takes so far."""
        return self._pending_bytes + self._sink.memory_bytes

    def flush(self) -> None:
        """Writes what has gathered as one row group."""
        if not self._pending:
            return
        before = self._sink.tell()
        table = pa.Table.from_batches([self._annotate(batch) for batch in self._pending], schema=self._schema)
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        written = self._sink.tell() - before
        self._ratio = min(1.0, max(_MIN_RATIO, written / max(1, self._pending_bytes)))
        self._pending, self._pending_bytes = [], 0

    def close(self) -> FormatResult:
        self.flush()
        self._writer.close()
        return _result(self._footers[0], self._schema, self._fields, self._sink.close())

    def abort(self) -> None:
        self._pending = []
        self._writer.close()
        self._sink.abort()

    def _annotate(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if not self._rebuilt:
            return pa.RecordBatch.from_arrays(batch.columns, schema=self._schema)
        arrays = [
            map_leaves(array, field.type, leaf=_annotated_leaf, make_field=_parquet_field)
            for array, field in zip(batch.columns, self._fields, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _open(sink: FileSink, schema: pa.Schema, properties: WriteProperties, footers: list[Any]) -> Any:
    try:
        return pq.ParquetWriter(
            sink.stream,
            schema,
            version="2.6",
            compression=properties.parquet_codec,
            compression_level=properties.compression_level,
            store_schema=False,
            metadata_collector=footers,
            write_page_index=True,
            write_page_checksum=True,
            store_decimal_as_integer=True,
            data_page_size=properties.page_bytes,
            max_rows_per_page=properties.page_rows,
            dictionary_pagesize_limit=properties.dictionary_bytes,
        )
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"a Parquet file cannot be written with these properties: {error}") from error


def _is_annotated(data_type: IcebergType) -> bool:
    return isinstance(data_type, (UuidType, GeometryType, GeographyType))


def _parquet_field(field: NestedField) -> pa.Field:
    return pa.field(
        field.name,
        _parquet_type(field.type),
        nullable=field.optional,
        metadata={FIELD_ID_KEY: str(field.field_id).encode()},
    )


def _parquet_type(data_type: IcebergType) -> pa.DataType:
    match data_type:
        case StructType():
            return pa.struct([_parquet_field(member) for member in data_type.members])
        case ListType():
            return pa.list_(_parquet_field(data_type.element))
        case MapType():
            return pa.map_(_parquet_field(data_type.key), _parquet_field(data_type.value))
        case UuidType():
            return pa.uuid()
        case GeometryType():
            return _WkbType(_geo_metadata(data_type.crs))
        case GeographyType() if data_type.algorithm == DEFAULT_EDGE_ALGORITHM:
            return _WkbType(_geo_metadata(data_type.crs, edges=data_type.algorithm))
        case GeographyType():
            raise UnsupportedFeature(
                f"{data_type}: pyarrow writes geography with spherical edges only; another engine can write this table"
            )
    return arrow_type(data_type)


def _geo_metadata(crs: str, **more: str) -> bytes:
    return json.dumps({**({} if crs == DEFAULT_CRS else {"crs": crs}), **more}).encode()


def _annotated_leaf(array: pa.Array, data_type: IcebergType) -> pa.Array:
    if not _is_annotated(data_type):
        return array
    return pa.ExtensionArray.from_storage(_parquet_type(data_type), array)


def _result(metadata: Any, schema: pa.Schema, fields: tuple[NestedField, ...], size_bytes: int) -> FormatResult:
    leaf_ids = _leaf_ids(schema)
    sizes = dict.fromkeys(leaf_ids, 0)
    offsets = []
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        offsets.append(row_group_offset(row_group))
        for column, field_id in enumerate(leaf_ids):
            sizes[field_id] += row_group.column(column).total_compressed_size
    lower, upper = _geometry_bounds(metadata, leaf_ids, fields)
    return FormatResult(
        file_size_in_bytes=size_bytes,
        column_sizes=sizes,
        split_offsets=tuple(sorted(offsets)) or None,
        lower_bounds=lower,
        upper_bounds=upper,
    )


def _leaf_ids(schema: pa.Schema) -> list[int]:
    """The field ids of the primitive columns, in the order in which the file has them."""
    ids = []
    stack = list(reversed(schema))
    while stack:
        field = stack.pop()
        children = child_fields(storage_type(field.type))
        if children:
            stack.extend(reversed(children))
        else:
            ids.append(int(field.metadata[FIELD_ID_KEY]))
    return ids


def _geometry_bounds(
    metadata: Any, leaf_ids: list[int], fields: tuple[NestedField, ...]
) -> tuple[dict[int, bytes], dict[int, bytes]]:
    """Bounding boxes of geometry columns outside lists and maps, which pyarrow computes as it writes."""
    wanted = {field.field_id for field in _outside_lists(fields) if isinstance(field.type, GeometryType)}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    for column, field_id in enumerate(leaf_ids):
        if field_id not in wanted or metadata.num_row_groups == 0:
            continue
        groups = [metadata.row_group(g).column(column).geo_statistics for g in range(metadata.num_row_groups)]
        if any(g is None or g.xmin is None or g.ymin is None for g in groups):
            continue
        lower[field_id] = bound_from_point(min(g.xmin for g in groups), min(g.ymin for g in groups))
        upper[field_id] = bound_from_point(max(g.xmax for g in groups), max(g.ymax for g in groups))
    return lower, upper


def _outside_lists(fields: tuple[NestedField, ...]) -> list[NestedField]:
    found, stack = [], list(fields)
    while stack:
        field = stack.pop()
        found.append(field)
        if isinstance(field.type, StructType):
            stack.extend(field.type.members)
    return found
