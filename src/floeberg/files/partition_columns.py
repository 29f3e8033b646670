"""Partition values of a manifest: from what the writer declared to the physical values of the spec's partition type."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import polars as pl

from floeberg.errors import ManifestCorrupt
from floeberg.files.avro_wire import WireField, WireType
from floeberg.files.manifest_columns import nulls, symbols_of
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    UUID,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UuidType,
)
from floeberg.spec.values.physical import decimal_from_unscaled

_MICROS_PER_DAY: Final = 86_400_000_000
_DTYPES: Final[dict[type[IcebergType], pl.DataType]] = {
    BooleanType: pl.Boolean(),
    IntegerType: pl.Int32(),
    LongType: pl.Int64(),
    FloatType: pl.Float32(),
    DoubleType: pl.Float64(),
    DateType: pl.Int32(),
    TimeType: pl.Int64(),
    TimestampType: pl.Int64(),
    TimestamptzType: pl.Int64(),
    TimestampNsType: pl.Int64(),
    TimestamptzNsType: pl.Int64(),
    StringType: pl.String(),
    UnknownType: pl.Null(),
}
_KINDS: Final[dict[str, IcebergType]] = {
    "boolean": BOOLEAN,
    "float": FLOAT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BINARY,
    "null": UNKNOWN,
}


def partition_dtype(kind: IcebergType) -> pl.DataType:
    """The dtype of physical values of a partition field: integers for temporal types, Binary for uuid and fixed."""
    if isinstance(kind, DecimalType):
        return pl.Decimal(kind.precision, kind.scale)
    return _DTYPES.get(type(kind), pl.Binary())


def inferred_partition_type(fields: Sequence[WireField]) -> StructType:
    """The partition type that a file's own Avro schema describes, where no spec is at hand."""
    return StructType(
        tuple(
            NestedField(
                field.field_id if field.field_id is not None else 1000 + place, field.name, _inferred(field.type)
            )
            for place, field in enumerate(fields)
        )
    )


def _inferred(wire: WireType) -> IcebergType:
    utc = wire.adjust_to_utc
    match wire.kind, wire.logical:
        case _, "decimal":
            return DecimalType(wire.precision, wire.scale)
        case "int", "date":
            return DATE
        case "long", "time-micros":
            return TIME
        case "long", "timestamp-micros" | "local-timestamp-micros":
            return TIMESTAMPTZ if utc else TIMESTAMP
        case "long", "timestamp-nanos" | "local-timestamp-nanos":
            return TIMESTAMPTZ_NS if utc else TIMESTAMP_NS
        case "long", "enum":
            return STRING
        case "int", _:
            return INT
        case "long", _:
            return LONG
        case "fixed", "uuid":
            return UUID
        case "fixed", _:
            return FixedType(wire.size)
        case kind, _ if kind in _KINDS:
            return _KINDS[kind]
    raise ManifestCorrupt(f"a partition field has Avro type {wire.kind}, which no partition value has")


def resolve_partition(fields: Sequence[WireField], partition_type: StructType) -> list[tuple[NestedField, int | None]]:
    """For each partition field the place of the file's field that holds it: by id, then by name (v1 writers numbered
    fields anew), then by place when nothing else matches and the counts are equal."""
    by_id = {field.field_id: place for place, field in enumerate(fields) if field.field_id is not None}
    by_name = {field.name: place for place, field in enumerate(fields)}
    found = [(member, by_id.get(member.field_id, by_name.get(member.name))) for member in partition_type]
    if fields and len(fields) == len(found) and all(place is None for _, place in found):
        return [(member, place) for place, (member, _) in enumerate(found)]
    return found


def partition_series(series: pl.Series | None, wire: WireType | None, member: NestedField, height: int) -> pl.Series:
    """A partition field's physical values in its dtype, promoted where its type was. Raises ManifestCorrupt."""
    kind = _inferred(wire) if wire is not None and isinstance(member.type, UnknownType) else member.type
    dtype = partition_dtype(kind)
    name = str(member.field_id)
    if series is None or wire is None:
        return nulls(name, dtype, height)
    try:
        return _converted(series, wire, kind, dtype).alias(name)
    except (pl.exceptions.PolarsError, ValueError, ArithmeticError) as error:
        raise ManifestCorrupt(
            f"partition field {member.name} (id {member.field_id}) has a value that is no {member.type}",
            field=member.name,
        ) from error


def _converted(series: pl.Series, wire: WireType, kind: IcebergType, dtype: pl.DataType) -> pl.Series:
    if wire.logical == "enum":
        series = symbols_of(series, wire)
    found = series.dtype
    if wire.logical == "date" and isinstance(kind, TimestampType | TimestamptzType):
        return series.cast(pl.Int64) * _MICROS_PER_DAY
    if wire.logical == "date" and isinstance(kind, TimestampNsType | TimestamptzNsType):
        return series.cast(pl.Int64) * (_MICROS_PER_DAY * 1000)
    if found == dtype:
        return _sized(series, kind)
    if isinstance(kind, UuidType) and found == pl.String:
        return pl.Series([None if text is None else uuid.UUID(text).bytes for text in series], dtype=dtype)
    if isinstance(kind, DecimalType) and found == pl.Binary:
        return pl.Series([_unscaled(raw, kind) for raw in series], dtype=dtype)
    alike = (found.is_integer() and dtype.is_integer()) or (found.is_float() and dtype == pl.Float64)
    alike |= found.is_integer() and dtype.is_float() and wire.logical is None
    alike |= {found, dtype} == {pl.String(), pl.Binary()} and isinstance(kind, StringType | BinaryType)
    if alike or (found.is_decimal() and dtype.is_decimal()):
        return series.cast(dtype, strict=True)
    raise ValueError(f"{found} is not {dtype}")


def _sized(series: pl.Series, kind: IcebergType) -> pl.Series:
    length = 16 if isinstance(kind, UuidType) else kind.length if isinstance(kind, FixedType) else None
    if length is not None and not (series.bin.size() == length).all():
        raise ValueError(f"not {length} bytes")
    return series


def _unscaled(raw: bytes | None, kind: DecimalType) -> Decimal | None:
    return None if raw is None else decimal_from_unscaled(int.from_bytes(raw, signed=True), kind.scale)
