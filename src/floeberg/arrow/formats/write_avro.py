"""Writes Avro data files: https://iceberg.apache.org/spec/#avro"""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import fastavro.write
import pyarrow as pa

from floeberg.arrow.formats.avro_schema import avro_schema
from floeberg.arrow.formats.io import FileSink
from floeberg.arrow.formats.write_parquet import FormatResult
from floeberg.arrow.formats.write_properties import WriteProperties
from floeberg.files.avro_types import avro_field_name
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.schemas.schema_json import schema_to_json
from floeberg.spec.types import (
    DateType,
    IcebergType,
    ListType,
    MapType,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
)

_INT64_TYPES = (TimeType, TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)
_SYNC_INTERVAL_BYTES = 64_000


class AvroFileWriter:
    """One Avro file."""

    def __init__(self, sink: FileSink, schema: Schema, properties: WriteProperties) -> None:
        self._sink = sink
        self._fields = schema.fields
        self._names = [avro_field_name(field.name) for field in schema.fields]
        self._buffer = io.BytesIO()
        self._writer: Any = fastavro.write.Writer(
            self._buffer,
            fastavro.parse_schema(avro_schema(schema)),
            codec=properties.avro_codec,
            sync_interval=_SYNC_INTERVAL_BYTES,
            metadata={"iceberg.schema": json.dumps(schema_to_json(schema))},
            compression_level=properties.compression_level,
        )

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [_values(array, field.type) for array, field in zip(batch.columns, self._fields, strict=True)]
        for row in zip(*columns, strict=True):
            self._writer.write(dict(zip(self._names, row, strict=True)))
        self._drain()

    def _drain(self) -> None:
        self._sink.stream.write(self._buffer.getvalue())
        self._buffer.seek(0)
        self._buffer.truncate()

    @property
    def written_bytes(self) -> int:
        return self._sink.tell()

    @property
    def buffered_bytes(self) -> int:
        return self._sink.memory_bytes

    def flush(self) -> None:
        self._writer.flush()
        self._drain()

    def close(self) -> FormatResult:
        self.flush()
        return FormatResult(file_size_in_bytes=self._sink.close())

    def abort(self) -> None:
        self._sink.abort()


def _values(array: pa.Array, data_type: IcebergType) -> list[Any]:
    """The values as fastavro takes them: physical, structs as dicts, maps as dicts or lists of pairs."""
    match data_type:
        case StructType():
            valid = array.is_valid().to_pylist()
            names = [avro_field_name(member.name) for member in data_type.members]
            columns = [_values(array.field(i), member.type) for i, member in enumerate(data_type.members)]
            rows = zip(*columns, strict=True) if columns else [()] * len(array)
            return [dict(zip(names, row, strict=True)) if ok else None for ok, row in zip(valid, rows, strict=True)]
        case ListType():
            return _sliced(array, _values(array.values, data_type.element_type), list)
        case MapType():
            keys, items = _values(array.keys, data_type.key_type), _values(array.items, data_type.value_type)
            if isinstance(data_type.key_type, StringType):
                return _sliced(array, list(zip(keys, items, strict=True)), dict)
            return _sliced(array, [{"key": k, "value": v} for k, v in zip(keys, items, strict=True)], list)
        case DateType():
            return list(array.view(pa.int32()).to_pylist())
        case _ if isinstance(data_type, _INT64_TYPES):
            return list(array.view(pa.int64()).to_pylist())
    return list(array.to_pylist())


def _sliced(array: pa.Array, children: list[Any], make: Any) -> list[Any]:
    offsets = array.offsets.to_pylist()
    valid = array.is_valid().to_pylist()
    return [make(children[offsets[i] : offsets[i + 1]]) if ok else None for i, ok in enumerate(valid)]
