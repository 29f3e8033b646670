"""Writes Parquet files as the specification maps types to it, with field ids, by row groups of a size in bytes.
https://iceberg.apache.org/spec/#parquet"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from floeberg.arrow.columns.nested import map_leaves
from floeberg.arrow.columns.types import FIELD_ID_KEY, VARIANT_ARROW_TYPE, arrow_type, child_fields, storage_type
from floeberg.arrow.formats.io import FileSink
from floeberg.arrow.formats.read_parquet import row_group_offset
from floeberg.arrow.formats.write_properties import WriteProperties
from floeberg.arrow.variant.annotation import TailStream, annotate_variants
from floeberg.arrow.variant.bounds import VariantBounds
from floeberg.arrow.variant.layout import Layout, infer_layout
from floeberg.arrow.variant.shred import VariantShredder
from floeberg.errors import DataFileCorrupt, InvalidInput, UnsupportedFeature
from floeberg.spec.schemas.schema import Schema, walk_fields
from floeberg.spec.schemas.schema_json import schema_to_json
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
    VariantType,
)
from floeberg.spec.values.single_value import bound_from_point

_MIN_RATIO: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatResult:
    """What a closed file reports beyond the metrics of its values."""

    file_size_in_bytes: int
    column_sizes: Mapping[int, int] | None = None
    split_offsets: tuple[int, ...] | None = None
    lower_bounds: Mapping[int, bytes] | None = None
    upper_bounds: Mapping[int, bytes] | None = None
    variant_bounds: Mapping[int, VariantBounds] | None = None


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
    """One Parquet file. Batches are buffered until they fill a row group; `written_bytes` counts the file's bytes and an
    estimate for the buffered batches, by the compression ratio so far."""

    def __init__(self, sink: FileSink, schema: Schema, properties: WriteProperties) -> None:
        self._sink = sink
        self._fields = schema.fields
        self._properties = properties
        self._rebuilt = any(_is_rebuilt(f.type) for f, _ in walk_fields(schema.fields))
        self._metadata = {b"iceberg.schema": json.dumps(schema_to_json(schema)).encode()}
        self._output: _Output | None = None
        if not properties.shred_variants or not any(isinstance(f.type, VariantType) for f in schema.fields):
            self._output = _Output(sink, schema.fields, properties, self._metadata, shredders={})
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._ratio = 1.0

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows == 0:
            return
        self._pending.append(batch)
        self._pending_bytes += batch.nbytes
        if self._pending_bytes * self._ratio >= self._properties.row_group_bytes:
            self.flush()

    @property
    def written_bytes(self) -> int:
        return self._sink.tell() + int(self._pending_bytes * self._ratio)

    @property
    def buffered_bytes(self) -> int:
        """The memory that the file takes so far."""
        return self._pending_bytes + self._sink.memory_bytes

    def flush(self) -> None:
        """Writes the buffered batches as one row group."""
        if not self._pending:
            return
        output = self._opened()
        before = self._sink.tell()
        output.write_row_group([self._annotate(batch, output) for batch in self._pending])
        written = self._sink.tell() - before
        self._ratio = min(1.0, max(_MIN_RATIO, written / max(1, self._pending_bytes)))
        self._pending, self._pending_bytes = [], 0

    def close(self) -> FormatResult:
        self.flush()
        output = self._opened()
        footer = output.close()
        bounds = {self._fields[index].field_id: shredder.bounds for index, shredder in output.shredders.items()}
        result = _result(footer, output.schema, self._fields, self._sink.close())
        return replace(result, variant_bounds=bounds)

    def abort(self) -> None:
        self._pending = []
        if self._output is not None:
            self._output.abort()
        self._sink.abort()

    def _opened(self) -> _Output:
        """The output; a file that shreds variants has its columns only once rows are there to infer them from."""
        if self._output is None:
            rows = self._properties.variant_inference_rows
            shredders = {
                index: VariantShredder(layout)
                for index, field in enumerate(self._fields)
                if isinstance(field.type, VariantType)
                and (layout := _layout([batch.column(index) for batch in self._pending], rows, field)) is not None
            }
            self._output = _Output(self._sink, self._fields, self._properties, self._metadata, shredders=shredders)
        return self._output

    def _annotate(self, batch: pa.RecordBatch, output: _Output) -> pa.RecordBatch:
        if not self._rebuilt:
            return pa.RecordBatch.from_arrays(batch.columns, schema=output.schema)
        arrays = [
            _shredded(array, output.shredders[index], field)
            if index in output.shredders
            else map_leaves(array, field.type, leaf=_annotated_leaf, make_field=_parquet_field)
            for index, (array, field) in enumerate(zip(batch.columns, self._fields, strict=True))
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=output.schema)


class _Output:
    """pyarrow's writer of one file, and the annotation of variants, which pyarrow lacks, in the footer."""

    def __init__(
        self,
        sink: FileSink,
        fields: tuple[NestedField, ...],
        properties: WriteProperties,
        metadata: Mapping[bytes, bytes],
        *,
        shredders: Mapping[int, VariantShredder],
    ) -> None:
        self.shredders = shredders
        self.schema = pa.schema(
            [
                field.with_type(shredders[index].type) if index in shredders else field
                for index, field in enumerate(map(_parquet_field, fields))
            ]
        )
        self._variant_ids = [f.field_id for f, _ in walk_fields(fields) if isinstance(f.type, VariantType)]
        self._sink = sink
        self._tail = TailStream(sink.stream) if self._variant_ids else None
        self._footers: list[Any] = []
        self._writer = _open(self._tail or sink.stream, self.schema, properties, self._footers)
        self._writer.add_key_value_metadata(metadata)

    def write_row_group(self, batches: list[pa.RecordBatch]) -> None:
        table = pa.Table.from_batches(batches, schema=self.schema)
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def close(self) -> Any:
        """Ends the file and gives its footer."""
        if self._tail is None:
            self._writer.close()
        else:
            self._tail.hold()
            self._writer.close()
            self._sink.stream.write(annotate_variants(self._tail.tail(), self._variant_ids))
        return self._footers[0]

    def abort(self) -> None:
        """Ends pyarrow's writer; the file is dropped."""
        self._writer.close()


def _layout(columns: list[pa.Array], rows: int, field: NestedField) -> Layout | None:
    """The layout that the first rows of a variant column suggest."""
    there: list[tuple[bytes, bytes]] = []
    seen = 0
    for column in columns:
        first = column.slice(0, rows - seen)
        seen += len(first)
        there += [(row["metadata"], row["value"]) for row in first.to_pylist() if row is not None]
        if seen >= rows:
            break
    try:
        return infer_layout(there)
    except DataFileCorrupt as error:
        raise InvalidInput(f"column {field.name!r}: {error}", column=field.name) from error


def _shredded(array: pa.Array, shredder: VariantShredder, field: NestedField) -> pa.Array:
    try:
        return shredder.shred(array)
    except DataFileCorrupt as error:
        raise InvalidInput(f"column {field.name!r}: {error}", column=field.name) from error


def _open(stream: Any, schema: pa.Schema, properties: WriteProperties, footers: list[Any]) -> Any:
    try:
        return pq.ParquetWriter(
            stream,
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


def _is_rebuilt(data_type: IcebergType) -> bool:
    return _is_annotated(data_type) or data_type.is_nested or isinstance(data_type, VariantType)


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
    if isinstance(data_type, VariantType):
        return _without_null_parts(array)
    if not _is_annotated(data_type):
        return array
    return pa.ExtensionArray.from_storage(_parquet_type(data_type), array)


def _without_null_parts(array: pa.Array) -> pa.Array:
    """Variants whose required parts are not null, not even where the variant is: pyarrow's writer looks no further."""
    parts = [array.field(0).fill_null(b""), array.field(1).fill_null(b"")]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(parts, fields=list(VARIANT_ARROW_TYPE), mask=mask)


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
    """The field ids of the primitive columns, in the order in which the file has them; the parts of a variant, which
    have none, count for it."""
    ids = []
    stack = [(field, 0) for field in reversed(schema)]
    while stack:
        field, above = stack.pop()
        field_id = int((field.metadata or {}).get(FIELD_ID_KEY, above))
        children = child_fields(storage_type(field.type))
        if children:
            stack.extend((child, field_id) for child in reversed(children))
        else:
            ids.append(field_id)
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
