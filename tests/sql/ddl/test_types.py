"""Spark DDL text to schemas and back."""

from __future__ import annotations

import uuid
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings

from floeberg.errors import InvalidInput
from floeberg.spec import types as t
from floeberg.spec.schemas.projection import assign_fresh_ids
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import UNSET, IcebergType, ListType, MapType, NestedField, StructType
from floeberg.sql.ddl.types import schema_from_ddl, schema_to_ddl, type_from_ddl, type_to_ddl
from strategies.schemas import schemas, with_fresh_ids

ONE_TYPE_EACH = [
    ("BOOLEAN", t.BOOLEAN), ("TINYINT", t.INT), ("BYTE", t.INT), ("SMALLINT", t.INT), ("SHORT", t.INT), ("INT", t.INT),
    ("INTEGER", t.INT), ("BIGINT", t.LONG), ("LONG", t.LONG), ("FLOAT", t.FLOAT), ("REAL", t.FLOAT), ("DOUBLE", t.DOUBLE),
    ("DATE", t.DATE), ("TIMESTAMP", t.TIMESTAMPTZ), ("TIMESTAMP_LTZ", t.TIMESTAMPTZ), ("TIMESTAMP_NTZ", t.TIMESTAMP),
    ("TIMESTAMP WITHOUT TIME ZONE", t.TIMESTAMP), ("TIMESTAMP WITH LOCAL TIME ZONE", t.TIMESTAMPTZ),
    ("TIMESTAMP_NTZ(9)", t.TIMESTAMP_NS), ("TIMESTAMP(6)", t.TIMESTAMPTZ), ("STRING", t.STRING), ("CHAR(3)", t.STRING),
    ("CHARACTER(3)", t.STRING), ("VARCHAR(10)", t.STRING), ("STRING COLLATE UTF8_BINARY", t.STRING), ("BINARY", t.BINARY),
    ("DECIMAL", t.DecimalType(10, 0)), ("DEC(5)", t.DecimalType(5, 0)), ("NUMERIC(10, 2)", t.DecimalType(10, 2)),
    ("VOID", t.UNKNOWN), ("VARIANT", t.VARIANT), ("TIME", t.TIME), ("TIME(6)", t.TIME), ("UUID", t.UUID),
    ("FIXED(3)", t.FixedType(3)), ("TIMESTAMP_NS", t.TIMESTAMP_NS), ("TIMESTAMPTZ_NS", t.TIMESTAMPTZ_NS),
    ("GEOMETRY(4326)", t.GeometryType()), ("GEOMETRY(0)", t.GeometryType("SRID:0")), ("GEOMETRY", t.GeometryType()),
    ("GEOMETRY(3857)", t.GeometryType("EPSG:3857")), ("GEOGRAPHY(4326)", t.GeographyType()),
    ("GEOGRAPHY('OGC:CRS84', 'karney')", t.GeographyType("OGC:CRS84", "karney")),
    ("ARRAY<INT>", ListType(1, t.INT)), ("MAP<STRING, INT>", MapType(1, t.STRING, 2, t.INT)),
    ("STRUCT<a: INT, b STRING NOT NULL>", StructType((NestedField(1, "a", t.INT), NestedField(2, "b", t.STRING, True)))),
    ("STRUCT<>", StructType(())), ("ARRAY<ARRAY<MAP<INT,ARRAY<INT>>>>", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "data_type"), ONE_TYPE_EACH)
def test_every_type_of_spark_has_an_iceberg_type_in_any_case(text, data_type):
    assert type_from_ddl(text) == type_from_ddl(text.lower().replace("ogc:crs84", "OGC:CRS84"))
    if data_type is not None:
        assert type_from_ddl(text) == data_type


def test_a_column_list_gives_a_schema_with_fresh_ids():
    schema = schema_from_ddl(
        "id BIGINT NOT NULL COMMENT 'x' DEFAULT 3, s STRUCT<a: INT, b: ARRAY<STRING>>, d DECIMAL(10,2), "
        "ts TIMESTAMP_NTZ, `od``d, name` VARIANT -- the last\n /* really */"
    )
    assert schema == Schema(
        NestedField(1, "id", t.LONG, required=True, doc="x", write_default=3),
        NestedField(2, "s", StructType((NestedField(6, "a", t.INT), NestedField(7, "b", ListType(8, t.STRING))))),
        NestedField(3, "d", t.DecimalType(10, 2)),
        NestedField(4, "ts", t.TIMESTAMP),
        NestedField(5, "od`d, name", t.VARIANT),
    )


def test_a_whole_struct_is_a_column_list_too_and_an_empty_text_has_no_columns():
    assert schema_from_ddl("STRUCT<a: INT, b: STRING>") == schema_from_ddl("a INT, b STRING")
    assert schema_from_ddl("struct STRING").fields[0].name == "struct"
    assert schema_from_ddl("  ") == Schema()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("INT DEFAULT -5", -5), ("INT DEFAULT NULL", None), ("BIGINT DEFAULT 5L", 5), ("DOUBLE DEFAULT 1.5e3D", 1500.0),
        ("FLOAT DEFAULT 2", 2.0), ("DECIMAL(5,2) DEFAULT 1.5BD", Decimal("1.50")), ("BOOLEAN DEFAULT false", False),
        ("STRING DEFAULT 'it''s'", "it's"), ('STRING DEFAULT "a\\"b\\u00e9\\n"', 'a"bé\n'), (r"STRING DEFAULT r'a\n'", "a\\n"),
        ("STRING DEFAULT '\\%\\_'", "\\%\\_"), ("DATE DEFAULT DATE '1969-12-31'", -1), ("DATE DEFAULT '1970-01-02'", 1),
        ("TIMESTAMP DEFAULT TIMESTAMP '1970-01-01 00:00:01+00:00'", 1_000_000), ("TIMESTAMP DEFAULT '1970-01-01T01:00:00+01:00'", 0),
        ("TIMESTAMP DEFAULT '1970-01-01 00:00:01 UTC'", 1_000_000), ("TIMESTAMP_NTZ DEFAULT '1970-01-01'", 0),
        ("TIME DEFAULT TIME '00:00:01'", 1_000_000), ("BINARY DEFAULT X'00fF'", b"\x00\xff"), ("FIXED(1) DEFAULT X'01'", b"\x01"),
        ("UUID DEFAULT '00000000-0000-0000-0000-000000000001'", uuid.UUID(int=1)),
        ("TIMESTAMP_NS DEFAULT '1970-01-01T00:00:00.000000001'", 1),
    ],
)  # fmt: skip
def test_literals_become_write_defaults(column, value):
    field = schema_from_ddl(f"c {column}").fields[0]
    assert field.write_default == value
    assert type(field.write_default) is type(value)
    assert field.initial_default is UNSET


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("a", "a type is expected", 1),
        ("a INT,", "a column name is expected", 6),
        ("a INT b", "a comma or the end is expected", 6),
        ("a INT)", "a comma or the end is expected", 5),
        ("'a' INT", "a column name is expected", 0),
        ("`` INT", "a column name is expected", 0),
        ("a NOPE", "unknown type 'NOPE'", 2),
        ("a ARRAY<INT", "'>' is expected", 11),
        ("a ARRAY INT", "'<' is expected", 8),
        ("a MAP<INT>", "',' is expected", 9),
        ("a DECIMAL(50,1)", "precision must be 1 to 38", 2),
        ("a DECIMAL(x)", "a precision is expected", 10),
        ("a CHAR", r"'\(' is expected", 6),
        ("a TIMESTAMP(3)", "precision of 6", 2),
        ("a TIME(9)", "at most 6", 2),
        ("a INTERVAL DAY", "no interval type", 2),
        ("a STRING COLLATE UNICODE_CI", "keeps no collation", 17),
        ("a GEOMETRY(ANY)", "mixed SRIDs", 11),
        ("a GEOGRAPHY(4326, nope)", "unknown edge algorithm", 2),
        ("a INT, a INT", "used twice", 7),
        ("s STRUCT<a INT, a INT>", "used twice", 16),
        ("a INT NOT NULL NOT NULL", "given twice", 15),
        ("a INT COMMENT x", "a quoted comment is expected", 14),
        ("a INT GENERATED ALWAYS AS (1)", "generated columns", 6),
        ("a INT DEFAULT current_date()", "takes a literal", 14),
        ("a INT DEFAULT 'x'", "not a default for type int", 14),
        ("a INT DEFAULT 3000000000", "not a default for type int", 14),
        ("a INT DEFAULT 1.5", "number of another kind", 14),
        ("a TIMESTAMP DEFAULT '2020-01-01 00:00:00'", "needs a zone offset", 20),
        ("a VARIANT DEFAULT 1", "not a default for type variant", 18),
        ("a 'unclosed", "is not closed", 2),
        ("a INT; DROP TABLE x", "a comma or the end is expected", 5),
        ("a " + "ARRAY<" * 100_000, "nest deeper", 608),
    ],
)
def test_a_mistake_is_refused_with_its_position(text, message, position):
    with pytest.raises(InvalidInput, match=message) as caught:
        schema_from_ddl(text)
    assert caught.value.context["position"] == position


@pytest.mark.parametrize(
    ("data_type", "for_spark", "exact"),
    [
        (t.UUID, "STRING", "UUID"), (t.FixedType(4), "BINARY", "FIXED(4)"), (t.TIME, "TIME(6)", "TIME"),
        (t.TIMESTAMP_NS, "TIMESTAMP_NTZ", "TIMESTAMP_NS"), (t.TIMESTAMPTZ_NS, "TIMESTAMP", "TIMESTAMPTZ_NS"),
        (t.GeometryType(), "GEOMETRY(4326)", "GEOMETRY('OGC:CRS84')"), (t.GeometryType("IGNF:ATI"), "BINARY", "GEOMETRY('IGNF:ATI')"),
        (t.GeographyType(), "GEOGRAPHY(4326)", "GEOGRAPHY('OGC:CRS84', 'spherical')"),
        (t.GeographyType("OGC:CRS84", "thomas"), "BINARY", "GEOGRAPHY('OGC:CRS84', 'thomas')"),
    ],
)  # fmt: skip
def test_what_spark_has_no_type_for_is_written_as_documented(data_type, for_spark, exact):
    assert type_to_ddl(data_type) == for_spark
    assert type_to_ddl(data_type, exact=True) == exact
    assert type_from_ddl(exact) == data_type


def test_nanoseconds_of_a_default_are_cut_for_spark_and_kept_when_exact():
    schema = Schema(NestedField(1, "a", t.TIMESTAMP_NS, write_default=-1))
    assert schema_to_ddl(schema) == "a TIMESTAMP_NTZ"
    assert schema_to_ddl(schema, defaults=True) == "a TIMESTAMP_NTZ DEFAULT TIMESTAMP_NTZ '1969-12-31T23:59:59.999999'"
    assert schema_from_ddl(schema_to_ddl(schema, exact=True)) == schema


def without_what_ddl_cannot_say(data_type: IcebergType) -> IcebergType:
    if isinstance(data_type, StructType):
        return StructType(tuple(bare(member) for member in data_type.members))
    if isinstance(data_type, ListType):
        return ListType(0, without_what_ddl_cannot_say(data_type.element_type))
    if isinstance(data_type, MapType):
        return MapType(0, without_what_ddl_cannot_say(data_type.key_type), 0, without_what_ddl_cannot_say(data_type.value_type))  # fmt: skip
    return data_type


def bare(field: NestedField) -> NestedField:
    write = UNSET if field.write_default is None else field.write_default
    return replace(field, type=without_what_ddl_cannot_say(field.type), initial_default=UNSET, write_default=write)


@given(schemas(defaults=True))
@settings(max_examples=200, deadline=None)
def test_exact_ddl_text_gives_the_schema_back_but_for_what_ddl_cannot_say(schema):
    expected = with_fresh_ids(tuple(bare(field) for field in schema.fields))
    text = schema_to_ddl(schema, exact=True)
    assert schema_from_ddl(text) == expected
    assert schema_to_ddl(schema_from_ddl(text), exact=True) == text


@given(schemas())
@settings(max_examples=100, deadline=None)
def test_ddl_text_for_spark_reads_back_to_types_that_write_the_same_text(schema):
    text = schema_to_ddl(schema)
    again = schema_from_ddl(text)
    assert schema_to_ddl(again) == text
    assert assign_fresh_ids(again) == again
