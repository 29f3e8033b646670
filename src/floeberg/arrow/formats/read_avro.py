"""Reads Avro data files by the ids in their schema: https://iceberg.apache.org/spec/#avro

fastavro would make Python dates and datetimes of values that Arrow wants as numbers (and that Python cannot always hold),
so it is given the file with a schema without those logical types.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import fastavro
import pyarrow as pa

from floeberg.arrow.columns.types import FIELD_ID_KEY
from floeberg.arrow.formats.file_schema import FileField, file_fields, find_child
from floeberg.arrow.formats.io import open_source, reading
from floeberg.arrow.formats.projection import Projection
from floeberg.arrow.formats.read_parquet import DEFAULT_BATCH_ROWS, FileBatch
from floeberg.arrow.formats.resolve_ids import resolve_ids
from floeberg.effects.protocols import Store
from floeberg.errors import DataFileCorrupt
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.schema import MAX_SCHEMA_DEPTH, Schema
from floeberg.spec.types import UnknownType

_MAGIC: Final = b"Obj\x01"
_MAX_HEADER_BYTES: Final = 64 << 20
_MOST_ROWS: Final = 1 << 16
"""Rows are Python objects on their way, which take far more memory than columns."""
_PRIMITIVES: Final[dict[str, pa.DataType]] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LONG_LOGICAL: Final = {
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms"),
    "timestamp-micros": pa.timestamp("us"),
    "timestamp-nanos": pa.timestamp("ns"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "local-timestamp-nanos": pa.timestamp("ns"),
}


def read_avro(
    store: Store,
    location: str,
    schema: Schema,
    *,
    size_bytes: int | None = None,
    name_mapping: NameMapping | None = None,
    constants: Mapping[int, object] | None = None,
    byte_range: tuple[int, int] | None = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
) -> Iterator[FileBatch]:
    """The rows of a file in its order, projected to a schema. Avro says nothing of row positions in the middle of a
    file, so a byte range selects the whole file when it begins at its start, and nothing otherwise.

    Raises DataFileCorrupt, also for a file shorter than its manifest entry says (it may end at a block's end).
    """
    if byte_range is not None and byte_range[0] > len(_MAGIC):
        return
    source = open_source(store, location)
    if size_bytes is not None and source.size() < size_bytes:
        raise DataFileCorrupt(
            f"{location} has {source.size()} bytes and its manifest entry says {size_bytes}: it was cut short",
            location=location,
        )
    with reading(location):
        header = _Header(source, location)
        record = _Converter(location).record(header.schema)
        fields = _fields(record, schema, location=location, name_mapping=name_mapping)
    targets = [field for field in schema.fields if not isinstance(field.type, UnknownType)]
    found = [find_child(fields, target) for target in targets]
    read = tuple(field for field in fields if any(field is other for other in found))
    projection = Projection(read, schema, location=location, constants=constants)
    position = 0
    for rows in _chunks(header, record.plain, min(batch_rows, _MOST_ROWS), location):
        with reading(location):
            batch = _batch(rows, read, record.type)
        yield FileBatch(position, projection.apply(batch))
        position += len(rows)


def _fields(
    record: _Record, schema: Schema, *, location: str, name_mapping: NameMapping | None
) -> tuple[FileField, ...]:
    return resolve_ids(
        file_fields(record.type, location=location),
        location=location,
        name_mapping=name_mapping,
        by_name=schema,
        map_partly=True,
    )


def avro_fields(
    store: Store, location: str, schema: Schema, *, name_mapping: NameMapping | None
) -> tuple[FileField, ...]:
    """The columns of an Avro file with ids. Raises DataFileCorrupt, FileNotFound."""
    with reading(location):
        header = _Header(open_source(store, location), location)
        return _fields(_Converter(location).record(header.schema), schema, location=location, name_mapping=name_mapping)


def _chunks(header: _Header, plain: Any, batch_rows: int, location: str) -> Iterator[list[dict[str, Any]]]:
    with reading(location):
        records = iter(fastavro.reader(header.with_schema(plain)))
    while True:
        try:
            with reading(location):
                rows = list(islice(records, batch_rows))
        except RecursionError as error:
            raise DataFileCorrupt(f"{location} nests too deep to be read", location=location) from error
        if not rows:
            return
        yield rows


def _batch(rows: list[dict[str, Any]], read: Sequence[FileField], record: pa.StructType) -> pa.RecordBatch:
    if not read:
        return pa.RecordBatch.from_struct_array(pa.nulls(len(rows), pa.struct([])))
    arrays = []
    for field in read:
        values = [row[field.name] for row in rows]
        arrays.append(pa.array(values, record.field(record.get_field_index(field.name)).type))
    return pa.RecordBatch.from_arrays(arrays, names=[field.name for field in read])


class _Header:
    """An Avro file's header; its schema can be replaced for reading."""

    def __init__(self, source: Any, location: str) -> None:
        self._source = source
        self._location = location
        prefix = source.read_at(min(source.size(), 1 << 16), 0)
        while True:
            try:
                self._parse(bytes(prefix))
                break
            except EOFError:
                if len(prefix) >= min(source.size(), _MAX_HEADER_BYTES):
                    raise DataFileCorrupt(f"{location} is no Avro file: its header is cut short") from None
                prefix = source.read_at(min(source.size(), 4 * len(prefix), _MAX_HEADER_BYTES), 0)

    def _parse(self, data: bytes) -> None:
        if data[:4] != _MAGIC:
            raise DataFileCorrupt(
                f"{self._location} is no Avro file: it does not begin as one", location=self._location
            )
        stream = io.BytesIO(data[4:])
        header = fastavro.schemaless_reader(stream, _HEADER_SCHEMA, None)
        self._meta: dict[str, bytes] = header["meta"]
        self._sync: bytes = header["sync"]
        self._body_at = 4 + stream.tell()
        if len(self._sync) < 16:
            raise EOFError
        self.schema: Any = json.loads(self._meta.get("avro.schema", b"null"))

    def with_schema(self, schema: Any) -> Any:
        """The file as if it had been written with another, equally shaped schema."""
        meta = {**self._meta, "avro.schema": json.dumps(schema).encode()}
        head = io.BytesIO()
        head.write(_MAGIC)
        fastavro.schemaless_writer(head, _HEADER_SCHEMA, {"meta": meta, "sync": self._sync})
        self._source.seek(self._body_at)
        return _Chained(head.getvalue(), self._source)


_HEADER_SCHEMA: Final = fastavro.parse_schema(
    {
        "type": "record",
        "name": "floeberg.avro.Header",
        "fields": [
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "floeberg.avro.Sync", "size": 16}},
        ],
    }
)


class _Chained:
    """Some bytes, then the rest of a file."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def read(self, size: int) -> bytes:
        """That many bytes, fewer at the end. Raises EOFError for lengths that no file has."""
        if size < 0:
            raise EOFError("a negative length")
        content = self._head.read(size)
        left = min(size - len(content), self._rest.size() - self._rest.tell())
        return content + bytes(self._rest.read(left)) if left > 0 else content


class _Record:
    """A record's Arrow type, with ids, and its schema in plain form."""

    def __init__(self, data_type: pa.StructType, plain: Any) -> None:
        self.type = data_type
        self.plain = plain


class _Converter:
    """Avro types to Arrow's. Named types are resolved; recursive ones are refused, since no table has them."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._named: dict[str, Any] = {}
        self._open: list[str] = []

    def record(self, schema: Any) -> _Record:
        if not isinstance(schema, dict) or schema.get("type") != "record":
            raise DataFileCorrupt(f"{self._location}: an Avro data file holds records", location=self._location)
        data_type, plain = self._convert(schema, depth=0)
        return _Record(data_type, plain)

    def _convert(self, schema: Any, *, depth: int) -> tuple[pa.DataType, Any]:
        if depth > MAX_SCHEMA_DEPTH:
            raise DataFileCorrupt(f"{self._location}: the Avro schema nests deeper than {MAX_SCHEMA_DEPTH} levels")
        if isinstance(schema, list):
            return self._union(schema, depth=depth)
        if isinstance(schema, str):
            schema = self._named.get(schema, schema)
            if isinstance(schema, str):
                if schema not in _PRIMITIVES:
                    raise self._unknown(schema)
                return _PRIMITIVES[schema], schema
        kind = schema.get("type") if isinstance(schema, dict) else None
        match kind:
            case "record":
                return self._record(schema, depth=depth)
            case "array":
                return self._array(schema, depth=depth)
            case "map":
                value_type, plain = self._convert(schema["values"], depth=depth + 1)
                key = _field("key", pa.string(), schema.get("key-id"), nullable=False)
                value = _field("value", value_type, schema.get("value-id"))
                return pa.map_(key, value), {"type": "map", "values": plain}
            case "fixed":
                self._define(schema)
                return self._fixed(schema)
            case "enum":
                self._define(schema)
                return pa.string(), schema
            case str() if kind in _PRIMITIVES or kind in self._named:
                return self._logical(schema, kind, depth=depth)
            case dict() | list():
                return self._convert(kind, depth=depth + 1)
        raise self._unknown(schema)

    def _unknown(self, schema: Any) -> DataFileCorrupt:
        return DataFileCorrupt(f"{self._location}: unknown Avro type {str(schema)[:80]!r}", location=self._location)

    def _union(self, schema: list[Any], *, depth: int) -> tuple[pa.DataType, Any]:
        others = [branch for branch in schema if branch != "null" and branch != {"type": "null"}]
        if len(others) > 1:
            raise DataFileCorrupt(f"{self._location}: an Avro union other than with null", location=self._location)
        if not others:
            return pa.null(), "null"
        data_type, plain = self._convert(others[0], depth=depth + 1)
        return data_type, [plain if branch is others[0] else "null" for branch in schema]

    def _define(self, schema: Mapping[str, Any]) -> str:
        name = str(schema.get("name", ""))
        self._named[name] = schema
        if schema.get("namespace"):
            self._named[f"{schema['namespace']}.{name}"] = schema
        return name

    def _record(self, schema: Mapping[str, Any], *, depth: int) -> tuple[pa.DataType, Any]:
        name = self._define(schema)
        if name in self._open:
            raise DataFileCorrupt(f"{self._location}: the Avro record {name!r} holds itself", location=self._location)
        self._open.append(name)
        fields, plain_fields = [], []
        for member in schema["fields"]:
            data_type, plain = self._convert(member["type"], depth=depth + 1)
            fields.append(_field(member["name"], data_type, member.get("field-id")))
            plain_fields.append({"name": member["name"], "type": plain})
        self._open.pop()
        # Each record gets a name of its own: a plain schema repeats what the original only refers to.
        self._count = getattr(self, "_count", 0) + 1
        return pa.struct(fields), {"type": "record", "name": f"record_{self._count}", "fields": plain_fields}

    def _array(self, schema: Mapping[str, Any], *, depth: int) -> tuple[pa.DataType, Any]:
        item_type, plain = self._convert(schema["items"], depth=depth + 1)
        element = _field("element", item_type, schema.get("element-id"))
        return pa.list_(element), {"type": "array", "items": plain}

    def _fixed(self, schema: Mapping[str, Any]) -> tuple[pa.DataType, Any]:
        size = int(schema["size"])
        self._count = getattr(self, "_count", 0) + 1
        plain: dict[str, Any] = {"type": "fixed", "name": f"fixed_{self._count}", "size": size}
        if schema.get("logicalType") != "decimal":
            return pa.binary(size), plain
        data_type = pa.decimal128(int(schema["precision"]), int(schema.get("scale", 0)))
        return data_type, {
            **plain,
            "logicalType": "decimal",
            "precision": data_type.precision,
            "scale": data_type.scale,
        }

    def _logical(self, schema: Mapping[str, Any], kind: str, *, depth: int) -> tuple[pa.DataType, Any]:
        logical = schema.get("logicalType")
        if kind == "int" and logical == "date":
            return pa.date32(), "int"
        if kind == "int" and logical == "time-millis":
            return pa.time32("ms"), "int"
        if kind == "long" and logical in _LONG_LOGICAL:
            return _LONG_LOGICAL[logical], "long"
        if kind == "bytes" and logical == "decimal":
            data_type = pa.decimal128(int(schema["precision"]), int(schema.get("scale", 0)))
            return data_type, dict(schema)
        return self._convert(kind, depth=depth + 1)


def _field(name: str, data_type: pa.DataType, field_id: Any, *, nullable: bool = True) -> pa.Field:
    metadata = None if field_id is None else {FIELD_ID_KEY: str(field_id).encode()}
    return pa.field(name, data_type, nullable=nullable, metadata=metadata)
