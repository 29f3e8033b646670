"""Iceberg types and schemas as Arrow's, and back. Field ids travel as Parquet's own key in a field's metadata.

boolean bool · int int32 · long int64 · float float32 · double float64 · decimal decimal128 · string string
date date32 · time time64[us] · timestamp, timestamp_ns timestamp[us|ns] · timestamptz, timestamptz_ns the same, UTC
uuid fixed_size_binary[16] · fixed fixed_size_binary · binary, geometry, geography binary (WKB) · unknown null
variant struct<metadata: binary, value: binary> · struct, list, map likewise
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import pyarrow as pa

from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import MAX_SCHEMA_DEPTH, Schema
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    MAX_DECIMAL_PRECISION,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)

FIELD_ID_KEY: Final = b"PARQUET:field_id"
DOC_KEY: Final = b"doc"

VARIANT_ARROW_TYPE: Final = pa.struct(
    [pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)]
)

_TO_ARROW: Final[dict[IcebergType, pa.DataType]] = {
    BOOLEAN: pa.bool_(),
    INT: pa.int32(),
    LONG: pa.int64(),
    FLOAT: pa.float32(),
    DOUBLE: pa.float64(),
    DATE: pa.date32(),
    TIME: pa.time64("us"),
    TIMESTAMP: pa.timestamp("us"),
    TIMESTAMPTZ: pa.timestamp("us", tz="UTC"),
    TIMESTAMP_NS: pa.timestamp("ns"),
    TIMESTAMPTZ_NS: pa.timestamp("ns", tz="UTC"),
    STRING: pa.string(),
    UUID: pa.binary(16),
    BINARY: pa.binary(),
    UNKNOWN: pa.null(),
    VARIANT: VARIANT_ARROW_TYPE,
}


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema that this package reads and writes for a table schema, field ids in the fields' metadata."""
    return pa.schema([arrow_field(field) for field in schema.fields])


def arrow_field(field: NestedField) -> pa.Field:
    """A field with its id (and doc) as metadata."""
    metadata = {FIELD_ID_KEY: str(field.field_id).encode()}
    if field.doc:
        metadata[DOC_KEY] = field.doc.encode()
    return pa.field(field.name, arrow_type(field.type), nullable=field.optional, metadata=metadata)


def arrow_type(data_type: IcebergType) -> pa.DataType:
    """The Arrow type of values of an Iceberg type."""
    match data_type:
        case StructType():
            return pa.struct([arrow_field(member) for member in data_type.members])
        case ListType():
            return pa.list_(arrow_field(data_type.element))
        case MapType():
            return pa.map_(arrow_field(data_type.key), arrow_field(data_type.value))
        case DecimalType():
            return pa.decimal128(data_type.precision, data_type.scale)
        case FixedType():
            return pa.binary(data_type.length)
        case GeometryType() | GeographyType():
            return pa.binary()
    return _TO_ARROW[data_type]


def field_id_of(field: pa.Field, *, key: bytes = FIELD_ID_KEY) -> int | None:
    """The id in a field's metadata, or None. Raises InvalidInput when it is no number."""
    raw = (field.metadata or {}).get(key)
    if raw is None:
        return None
    try:
        return int(raw)
    except ValueError:
        raise InvalidInput(f"column {field.name!r}: field id {raw[:40]!r} is not a number") from None


def iceberg_schema(schema: pa.Schema, *, ns_as_us: bool = False, schema_id: int = 0) -> Schema:
    """The Iceberg schema of an Arrow schema: with its field ids when every field has one, otherwise with fresh ones.

    `ns_as_us` makes microsecond types of nanosecond timestamps (tables before v3 have no others).
    Raises InvalidInput for types that Iceberg lacks, and when only some fields have ids.
    """
    having = [field_id_of(field) is not None for field in _walk(schema)]
    if any(having) and not all(having):
        raise InvalidInput("only some columns of the Arrow schema have field ids; give all of them ids, or none")
    convert = _FromArrow(keep_ids=bool(having) and all(having), ns_as_us=ns_as_us)
    return Schema(*convert.fields(list(schema), depth=0, path=""), schema_id=schema_id)


def iceberg_type(data_type: pa.DataType, *, ns_as_us: bool = False) -> IcebergType:
    """The Iceberg type of an Arrow type; nested fields get fresh ids from 1."""
    return _FromArrow(keep_ids=False, ns_as_us=ns_as_us).type(pa.field("value", data_type), depth=0, path="value")


def _walk(fields: Any) -> Iterator[pa.Field]:
    stack = list(fields)
    while stack:
        field = stack.pop()
        yield field
        stack.extend(child_fields(storage_type(field.type)))


def storage_type(data_type: pa.DataType) -> pa.DataType:
    """The type beneath extensions, dictionaries and run-end encoding."""
    while True:
        if isinstance(data_type, pa.BaseExtensionType):
            data_type = data_type.storage_type
        elif pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
            data_type = data_type.value_type
        else:
            return data_type


def is_list(data_type: pa.DataType) -> bool:
    """Lists of every layout that Arrow has."""
    return bool(
        pa.types.is_list(data_type)
        or pa.types.is_large_list(data_type)
        or pa.types.is_fixed_size_list(data_type)
        or pa.types.is_list_view(data_type)
        or pa.types.is_large_list_view(data_type)
    )


def child_fields(data_type: pa.DataType) -> list[pa.Field]:
    """A struct's fields, a list's element, a map's key and value; nothing for a primitive."""
    if pa.types.is_struct(data_type):
        return [data_type.field(i) for i in range(data_type.num_fields)]
    if pa.types.is_map(data_type):
        return [data_type.key_field, data_type.item_field]
    return [data_type.value_field] if is_list(data_type) else []


class _FromArrow:
    """Turns Arrow fields into Iceberg's. Fresh ids number a struct's fields before their children, as Java does."""

    def __init__(self, *, keep_ids: bool, ns_as_us: bool) -> None:
        self._keep_ids = keep_ids
        self._ns_as_us = ns_as_us
        self._ids = count(1)

    def _id(self, field: pa.Field) -> int:
        return (field_id_of(field) or 0) if self._keep_ids else next(self._ids)

    def fields(self, fields: list[pa.Field], *, depth: int, path: str) -> list[NestedField]:
        if depth > MAX_SCHEMA_DEPTH:
            raise InvalidInput(f"column {path[:200]!r} nests deeper than {MAX_SCHEMA_DEPTH} levels")
        ids = [self._id(field) for field in fields]
        out = []
        for field_id, field in zip(ids, fields, strict=True):
            name = f"{path}.{field.name}" if path else field.name
            doc = (field.metadata or {}).get(DOC_KEY)
            found = self.type(field, depth=depth, path=name)
            out.append(NestedField(field_id, field.name, found, not field.nullable, doc.decode() if doc else None))
        return out

    def type(self, field: pa.Field, *, depth: int, path: str) -> IcebergType:
        found = _extension(field)
        if found is not None:
            return found
        data_type = storage_type(field.type)
        children = child_fields(data_type)
        if pa.types.is_struct(data_type):
            return StructType(tuple(self.fields(children, depth=depth + 1, path=path)))
        if pa.types.is_map(data_type):
            key, value = self.fields(children, depth=depth + 1, path=path)
            return MapType(key.field_id, key.type, value.field_id, value.type, value.required)
        if children:
            (element,) = self.fields(children, depth=depth + 1, path=path)
            return ListType(element.field_id, element.type, element.required)
        return _primitive(data_type, path=path, ns_as_us=self._ns_as_us)


def _extension(field: pa.Field) -> IcebergType | None:
    """The type that an extension names, whether or not this process has the extension registered."""
    metadata = field.metadata or {}
    name = getattr(field.type, "extension_name", None) or metadata.get(b"ARROW:extension:name", b"").decode()
    if name == "arrow.uuid":
        return UUID
    if name in ("arrow.parquet.variant", "parquet.variant"):
        return VARIANT
    if name != "geoarrow.wkb":
        return None
    if isinstance(field.type, pa.BaseExtensionType):
        raw = field.type.__arrow_ext_serialize__()
    else:
        raw = metadata.get(b"ARROW:extension:metadata", b"")
    return _geo(raw, field.name)


def _geo(raw: bytes, name: str) -> IcebergType:
    try:
        stated = json.loads(raw or b"{}")
    except ValueError:
        stated = None
    if not isinstance(stated, dict) or not isinstance(stated.get("crs") or "", str):
        raise InvalidInput(
            f"column {name!r}: only geoarrow.wkb with a CRS given as text (such as EPSG:4326) is supported"
        )
    crs = {"crs": stated["crs"]} if stated.get("crs") else {}
    if "edges" in stated and stated["edges"] != "planar":
        return GeographyType(algorithm=str(stated["edges"]), **crs)
    return GeometryType(**crs)


def _primitive(data_type: pa.DataType, *, path: str, ns_as_us: bool) -> IcebergType:
    types = pa.types
    if types.is_timestamp(data_type):
        if data_type.unit == "ns" and not ns_as_us:
            return TIMESTAMP_NS if data_type.tz is None else TIMESTAMPTZ_NS
        return TIMESTAMP if data_type.tz is None else TIMESTAMPTZ
    if types.is_decimal(data_type):
        if data_type.precision > MAX_DECIMAL_PRECISION or not 0 <= data_type.scale <= data_type.precision:
            raise InvalidInput(f"column {path!r}: {data_type} does not fit Iceberg's decimal(P, S) with 0 ≤ S ≤ P ≤ 38")
        return DecimalType(data_type.precision, data_type.scale)
    if types.is_fixed_size_binary(data_type):
        return FixedType(data_type.byte_width)
    for test, result in _PRIMITIVES:
        if test(data_type):
            return result
    raise InvalidInput(f"column {path!r}: Iceberg has no type for Arrow's {data_type}; cast the column first")


_PRIMITIVES: Final[tuple[tuple[Any, IcebergType], ...]] = (
    (pa.types.is_boolean, BOOLEAN),
    (lambda t: t in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()), INT),
    (lambda t: t in (pa.int64(), pa.uint32()), LONG),
    (pa.types.is_uint64, DecimalType(20, 0)),
    (lambda t: t in (pa.float16(), pa.float32()), FLOAT),
    (pa.types.is_float64, DOUBLE),
    (pa.types.is_date, DATE),
    (pa.types.is_time, TIME),
    (lambda t: t in (pa.string(), pa.large_string(), pa.string_view()), STRING),
    (lambda t: t in (pa.binary(), pa.large_binary(), pa.binary_view()), BINARY),
    (pa.types.is_null, UNKNOWN),
)
