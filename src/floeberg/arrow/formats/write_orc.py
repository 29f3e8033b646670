"""Writes ORC files, with Iceberg's ids and types in the attributes of ORC's: https://iceberg.apache.org/spec/#orc"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from floeberg.arrow.columns.nested import map_leaves
from floeberg.arrow.columns.types import arrow_type
from floeberg.arrow.formats.io import FileSink
from floeberg.arrow.formats.write_parquet import FormatResult
from floeberg.arrow.formats.write_properties import WriteProperties
from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UuidType,
)

ID: Final = "iceberg.id"
REQUIRED: Final = "iceberg.required"
LONG_TYPE: Final = "iceberg.long-type"
BINARY_TYPE: Final = "iceberg.binary-type"
TIMESTAMP_UNIT: Final = "iceberg.timestamp-unit"
LENGTH: Final = "iceberg.length"

_MICRO_TYPES: Final = (TimestampType, TimestamptzType)
_NANO_TYPES: Final = (TimestampNsType, TimestamptzNsType)
_EARLIEST_US, _LATEST_US = -(2**63) // 1000 + 1, (2**63 - 1) // 1000
_WRITE_BATCH_ROWS: Final = 1024


class OrcFileWriter:
    """One ORC file."""

    def __init__(self, sink: FileSink, schema: Schema, properties: WriteProperties) -> None:
        self._sink = sink
        self._fields = schema.fields
        self._schema = pa.schema([_orc_field(field) for field in schema.fields])
        self._writer = orc.ORCWriter(
            sink.stream,
            compression=properties.orc_codec,
            stripe_size=min(properties.stripe_bytes, max(1, properties.target_file_bytes // 2)),
            batch_size=_WRITE_BATCH_ROWS,
        )
        self._rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows == 0:
            return
        self._write(batch)

    def _write(self, batch: pa.RecordBatch) -> None:
        arrays = [
            map_leaves(array, field.type, leaf=_orc_leaf, make_field=_orc_field, null_in_null=True)
            for array, field in zip(batch.columns, self._fields, strict=True)
        ]
        self._writer.write(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows += batch.num_rows

    @property
    def written_bytes(self) -> int:
        return self._sink.tell()

    @property
    def buffered_bytes(self) -> int:
        return self._sink.memory_bytes

    def flush(self) -> None:
        """ORC's writer flushes its stripes itself."""

    def close(self) -> FormatResult:
        if self._rows == 0:
            empty = [pa.nulls(0, arrow_type(field.type)) for field in self._fields]
            self._write(pa.RecordBatch.from_arrays(empty, names=[field.name for field in self._fields]))
        self._writer.close()
        return FormatResult(file_size_in_bytes=self._sink.close())

    def abort(self) -> None:
        self._writer.close()
        self._sink.abort()


def _orc_field(field: NestedField) -> pa.Field:
    attributes = {ID: str(field.field_id), REQUIRED: "true" if field.required else "false"}
    match field.type:
        case TimeType():
            attributes[LONG_TYPE] = "TIME"
        case UuidType():
            attributes[BINARY_TYPE] = "UUID"
        case FixedType(length=length):
            attributes |= {BINARY_TYPE: "FIXED", LENGTH: str(length)}
        case GeometryType():
            attributes[BINARY_TYPE] = "GEOMETRY"
        case GeographyType():
            attributes[BINARY_TYPE] = "GEOGRAPHY"
        case _ if isinstance(field.type, _MICRO_TYPES):
            attributes[TIMESTAMP_UNIT] = "MICROS"
        case _ if isinstance(field.type, _NANO_TYPES):
            attributes[TIMESTAMP_UNIT] = "NANOS"
    return pa.field(field.name, _orc_type(field.type), nullable=field.optional, metadata=attributes)


def _orc_type(data_type: IcebergType) -> pa.DataType:
    match data_type:
        case StructType():
            return pa.struct([_orc_field(member) for member in data_type.members])
        case ListType():
            return pa.list_(_orc_field(data_type.element))
        case MapType():
            return pa.map_(_orc_field(data_type.key), _orc_field(data_type.value))
        case TimeType():
            return pa.int64()
        case UuidType() | FixedType():
            return pa.binary()
    return arrow_type(data_type)


def _orc_leaf(array: pa.Array, data_type: IcebergType) -> pa.Array:
    match data_type:
        case TimeType():
            return array.view(pa.int64())
        case UuidType() | FixedType():
            return array.cast(pa.binary())
        case _ if isinstance(data_type, _MICRO_TYPES):
            _check_readable(array)
    return array


def _check_readable(array: pa.Array) -> None:
    """Refuses what could be written and not read back: pyarrow reads ORC timestamps as 64 bits of nanoseconds."""
    found = pc.min_max(array.view(pa.int64()))
    lower, upper = found["min"].as_py(), found["max"].as_py()
    if lower is not None and (lower < _EARLIEST_US or upper > _LATEST_US):
        raise InvalidInput(
            "an ORC file cannot hold timestamps before 1677-09-21 or after 2262-04-11 that we could read back; write "
            "this table as Parquet (write.format.default)"
        )
