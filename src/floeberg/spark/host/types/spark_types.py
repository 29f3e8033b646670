"""Iceberg types as Spark types, and back.

Where Spark has no type of its own: `time` is a string-free BIGINT of microseconds since midnight, nanosecond timestamps are
TIMESTAMP/TIMESTAMP_NTZ cut to microseconds on read, uuid is its text, fixed is BINARY, geometry and geography are WKB in
BINARY, unknown is VOID. docs/reference/spark-types.md says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pyspark.sql import types as st

from floeberg.errors import UnsupportedFeature
from floeberg.spec.schemas.projection import IdCounter, assign_fresh_type_ids
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
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
    VariantType,
)
from floeberg.sql.ddl.types import crs_of

FIELD_ID_KEY: Final = "parquet.field.id"
COMMENT_KEY: Final = "comment"
CUT_KEY: Final = "floeberg.cut"
"""Marks a column of a DataFrame, in its metadata, whose values are nanoseconds cut to microseconds."""
NS_TYPES: Final = (TimestampNsType, TimestamptzNsType)

_PLAIN: Final[dict[type[IcebergType], st.DataType]] = {
    BooleanType: st.BooleanType(),
    IntegerType: st.IntegerType(),
    LongType: st.LongType(),
    FloatType: st.FloatType(),
    DoubleType: st.DoubleType(),
    DateType: st.DateType(),
    TimeType: st.LongType(),
    TimestampType: st.TimestampNTZType(),
    TimestamptzType: st.TimestampType(),
    TimestampNsType: st.TimestampNTZType(),
    TimestamptzNsType: st.TimestampType(),
    StringType: st.StringType(),
    UuidType: st.StringType(),
    FixedType: st.BinaryType(),
    BinaryType: st.BinaryType(),
    GeometryType: st.BinaryType(),
    GeographyType: st.BinaryType(),
    UnknownType: st.NullType(),
    VariantType: st.VariantType(),
}


def spark_type(data_type: IcebergType) -> st.DataType:
    """The type that users see."""
    if isinstance(data_type, DecimalType):
        return st.DecimalType(data_type.precision, data_type.scale)
    if isinstance(data_type, StructType):
        return st.StructType([spark_field(member) for member in data_type.members])
    if isinstance(data_type, ListType):
        return st.ArrayType(spark_type(data_type.element_type), not data_type.element_required)
    if isinstance(data_type, MapType):
        return st.MapType(
            spark_type(data_type.key_type), spark_type(data_type.value_type), not data_type.value_required
        )
    plain = _PLAIN.get(type(data_type))
    if plain is None:
        raise UnsupportedFeature(f"Spark has no type for {data_type}")
    return plain


def spark_field(field: NestedField) -> st.StructField:
    """A column as users see it, with its comment."""
    metadata = {COMMENT_KEY: field.doc} if field.doc else None
    return st.StructField(field.name, spark_type(field.type), not field.required, metadata)


_MIXED_SRIDS: Final = -1


def has_nanoseconds(data_type: IcebergType) -> bool:
    """Whether Spark's type cuts values of this one, or of something in it."""
    if isinstance(data_type, StructType):
        return any(has_nanoseconds(member.type) for member in data_type.members)
    if isinstance(data_type, ListType):
        return has_nanoseconds(data_type.element_type)
    if isinstance(data_type, MapType):
        return has_nanoseconds(data_type.key_type) or has_nanoseconds(data_type.value_type)
    return isinstance(data_type, NS_TYPES)


_BACK: Final[dict[type[st.DataType], IcebergType]] = {
    st.BooleanType: BooleanType(),
    st.ByteType: IntegerType(),
    st.ShortType: IntegerType(),
    st.IntegerType: IntegerType(),
    st.LongType: LongType(),
    st.FloatType: FloatType(),
    st.DoubleType: DoubleType(),
    st.DateType: DateType(),
    st.TimestampNTZType: TimestampType(),
    st.TimestampType: TimestamptzType(),
    st.StringType: StringType(),
    st.CharType: StringType(),
    st.VarcharType: StringType(),
    st.BinaryType: BinaryType(),
    st.NullType: UnknownType(),
    st.VariantType: VariantType(),
}


def iceberg_schema_of(schema: st.StructType) -> Schema:
    """The Iceberg schema of a DataFrame, with fresh ids. Raises UnsupportedFeature for a type that tables cannot hold."""
    struct = assign_fresh_type_ids(StructType(_members(schema)), IdCounter(0).next_id)
    assert isinstance(struct, StructType)
    return Schema(*struct.members)


def optional_columns(schema: Schema) -> Schema:
    """The schema with everything in it optional."""
    optional = _optional(StructType(schema.fields))
    assert isinstance(optional, StructType)
    return Schema(*optional.members)


def _optional(data_type: IcebergType) -> IcebergType:
    match data_type:
        case StructType(members=members):
            return StructType(tuple(replace(one, type=_optional(one.type), required=False) for one in members))
        case ListType():
            return replace(data_type, element_type=_optional(data_type.element_type), element_required=False)
        case MapType():
            key, value = _optional(data_type.key_type), _optional(data_type.value_type)
            return replace(data_type, key_type=key, value_type=value, value_required=False)
    return data_type


def iceberg_schema_for(schema: st.StructType, table: Schema, *, case_sensitive: bool) -> Schema:
    """The Iceberg schema of a DataFrame that is written to a table. A column that the table has keeps whether it is required,
    and its type where that is one that Spark has no type of its own for. Raises as `iceberg_schema_of`."""
    struct = _type_for(schema, StructType(table.fields), case_sensitive=case_sensitive)
    fresh = assign_fresh_type_ids(struct, IdCounter(0).next_id)
    assert isinstance(fresh, StructType)
    return Schema(*fresh.members)


def _type_for(data_type: st.DataType, own: IcebergType, *, case_sensitive: bool) -> IcebergType:
    if isinstance(data_type, st.StructType) and isinstance(own, StructType):
        return StructType(tuple(_members_for(data_type, own, case_sensitive=case_sensitive)))
    if isinstance(data_type, st.ArrayType) and isinstance(own, ListType):
        element = _type_for(data_type.elementType, own.element_type, case_sensitive=case_sensitive)
        return ListType(0, element, own.element_required)
    if isinstance(data_type, st.MapType) and isinstance(own, MapType):
        key = _type_for(data_type.keyType, own.key_type, case_sensitive=case_sensitive)
        value = _type_for(data_type.valueType, own.value_type, case_sensitive=case_sensitive)
        return MapType(0, key, 0, value, own.value_required)
    found = iceberg_type_of(data_type)
    shown = _PLAIN.get(type(own))
    return own if shown is not None and shown == data_type else found


def _members_for(schema: st.StructType, own: StructType, *, case_sensitive: bool) -> Iterator[NestedField]:
    for number, (field, given) in enumerate(zip(schema.fields, _members(schema), strict=True), start=1):
        known = [one for one in own.members if one.name == field.name]
        if not known and not case_sensitive:
            known = [one for one in own.members if one.name.lower() == field.name.lower()]
        if len(known) != 1:
            yield given
            continue
        kind = _type_for(field.dataType, known[0].type, case_sensitive=case_sensitive)
        yield NestedField(number, field.name, kind, known[0].required, given.doc)


def _members(schema: st.StructType) -> tuple[NestedField, ...]:
    return tuple(
        NestedField(number, field.name, iceberg_type_of(field.dataType), not field.nullable, _comment(field))
        for number, field in enumerate(schema.fields, start=1)
    )


def _comment(field: st.StructField) -> str | None:
    comment = (field.metadata or {}).get(COMMENT_KEY)
    return None if comment is None else str(comment)


def iceberg_type_of(data_type: st.DataType) -> IcebergType:
    """The Iceberg type for a Spark type; ids of nested fields are placeholders."""
    if isinstance(data_type, st.DecimalType):
        return DecimalType(data_type.precision, data_type.scale)
    if isinstance(data_type, st.StructType):
        return StructType(_members(data_type))
    if isinstance(data_type, st.ArrayType):
        return ListType(0, iceberg_type_of(data_type.elementType), not data_type.containsNull)
    if isinstance(data_type, st.MapType):
        key, value = iceberg_type_of(data_type.keyType), iceberg_type_of(data_type.valueType)
        return MapType(0, key, 0, value, not data_type.valueContainsNull)
    found = geo_type_of(data_type) or _BACK.get(type(data_type))
    if found is None:
        raise UnsupportedFeature(f"tables cannot hold Spark's type {data_type.simpleString()}")
    return found


def geo_type_of(data_type: st.DataType) -> GeometryType | GeographyType | None:
    """The Iceberg type for Spark's GEOMETRY and GEOGRAPHY; None for other types. Raises UnsupportedFeature for mixed SRIDs."""
    name = data_type.typeName()
    if name not in ("geometry", "geography"):
        return None
    srid = int(getattr(data_type, "srid", _MIXED_SRIDS))
    if srid == _MIXED_SRIDS:
        raise UnsupportedFeature(
            f"{data_type.simpleString()}: a column of mixed SRIDs has no Iceberg type; cast to one SRID"
        )
    return GeometryType(crs_of(srid)) if name == "geometry" else GeographyType(crs_of(srid))


def frame_schema(schema: Schema) -> st.StructType:
    """The schema of a DataFrame that reads these columns. Everything is nullable: Spark's file readers promise nothing
    else."""
    return st.StructType([frame_field(field) for field in schema.fields])


def frame_field(field: NestedField) -> st.StructField:
    """A column of a DataFrame that reads a table."""
    metadata = {COMMENT_KEY: field.doc} if field.doc else {}
    if has_nanoseconds(field.type):
        metadata[CUT_KEY] = f"{field.name} ({field.type})"
    return st.StructField(field.name, nullable(spark_type(field.type)), True, metadata)


def nullable(data_type: st.DataType) -> st.DataType:
    """The type with everything in it nullable, without comments (Spark compares types with them)."""
    if isinstance(data_type, st.StructType):
        return st.StructType([st.StructField(field.name, nullable(field.dataType), True) for field in data_type])
    if isinstance(data_type, st.ArrayType):
        return st.ArrayType(nullable(data_type.elementType), True)
    if isinstance(data_type, st.MapType):
        return st.MapType(nullable(data_type.keyType), nullable(data_type.valueType), True)
    return data_type
