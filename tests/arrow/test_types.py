"""Iceberg schemas as Arrow's, and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from floeberg.arrow.columns.types import arrow_schema, arrow_type, iceberg_schema, iceberg_type
from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema, walk_fields
from floeberg.spec.types import (
    BINARY,
    DATE,
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
from strategies.arrow_rows import schemas


def _kinds(schema: Schema) -> list[tuple[int, str, bool]]:
    return [(field.field_id, name, field.required) for field, name in walk_fields(schema.fields)]


@given(schemas())
def test_a_schema_comes_back_with_its_ids_names_and_requirements(schema: Schema) -> None:
    back = iceberg_schema(arrow_schema(schema))
    assert _kinds(back) == _kinds(schema)
    for (field, _), (other, _) in zip(walk_fields(schema.fields), walk_fields(back.fields), strict=True):
        # Arrow itself does not tell these apart; a table's schema does.
        if not field.type.is_nested and not isinstance(field.type, (GeometryType, type(UUID))):
            assert other.type == field.type


@pytest.mark.parametrize(
    ("arrow", "expected"),
    [
        (pa.large_string(), STRING),
        (pa.string_view(), STRING),
        (pa.dictionary(pa.int8(), pa.string()), STRING),
        (pa.large_binary(), BINARY),
        (pa.int8(), INT),
        (pa.uint16(), INT),
        (pa.uint32(), LONG),
        (pa.uint64(), DecimalType(20, 0)),
        (pa.date64(), DATE),
        (pa.time32("ms"), TIME),
        (pa.time64("ns"), TIME),
        (pa.timestamp("s"), TIMESTAMP),
        (pa.timestamp("ms", "America/New_York"), TIMESTAMPTZ),
        (pa.timestamp("ns"), TIMESTAMP_NS),
        (pa.timestamp("ns", "UTC"), TIMESTAMPTZ_NS),
        (pa.uuid(), UUID),
        (pa.binary(16), FixedType(16)),
        (pa.null(), UNKNOWN),
        (pa.decimal256(30, 2), DecimalType(30, 2)),
        (pa.large_list(pa.int32()), ListType(1, INT)),
        (pa.list_(pa.int32(), 3), ListType(1, INT)),
        (pa.map_(pa.string(), pa.int64()), MapType(1, STRING, 2, LONG)),
    ],
)
def test_what_others_use_is_understood(arrow: pa.DataType, expected: IcebergType) -> None:
    assert iceberg_type(arrow) == expected


def test_nanoseconds_become_microseconds_on_request() -> None:
    assert iceberg_type(pa.timestamp("ns"), ns_as_us=True) == TIMESTAMP


@pytest.mark.parametrize(
    "arrow", [pa.duration("s"), pa.month_day_nano_interval(), pa.decimal256(50, 2), pa.decimal128(5, -2)]
)
def test_what_iceberg_lacks_is_refused_by_name(arrow: pa.DataType) -> None:
    with pytest.raises(InvalidInput, match="'odd'"):
        iceberg_schema(pa.schema([pa.field("odd", arrow)]))


def test_fresh_ids_number_a_level_before_the_next() -> None:
    schema = iceberg_schema(pa.schema([("a", pa.struct([("x", pa.int32()), ("y", pa.int32())])), ("b", pa.int32())]))
    assert [(field.field_id, name) for field, name in walk_fields(schema.fields)] == [
        (1, "a"), (3, "a.x"), (4, "a.y"), (2, "b"),
    ]  # fmt: skip


def test_ids_on_some_columns_only_are_refused() -> None:
    schema = pa.schema([pa.field("a", pa.int32(), metadata={"PARQUET:field_id": "1"}), pa.field("b", pa.int32())])
    with pytest.raises(InvalidInput, match="only some columns"):
        iceberg_schema(schema)


def test_a_null_column_is_optional_and_unknown() -> None:
    schema = iceberg_schema(pa.schema([pa.field("n", pa.null())]))
    assert schema.fields[0] == NestedField(1, "n", UNKNOWN)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ("{}", GeometryType()),
        ('{"crs": "EPSG:3857"}', GeometryType("EPSG:3857")),
        ('{"edges": "spherical"}', GeographyType()),
        ('{"crs": "EPSG:4267", "edges": "karney"}', GeographyType("EPSG:4267", "karney")),
    ],
)
def test_geoarrow_columns_are_geometry_and_geography(metadata: str, expected: IcebergType) -> None:
    field = pa.field(
        "g", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": metadata}
    )
    assert iceberg_schema(pa.schema([field])).fields[0].type == expected


@pytest.mark.parametrize("metadata", ["[", '{"crs": {"type": "projjson"}}'])
def test_a_crs_that_is_no_text_is_refused(metadata: str) -> None:
    field = pa.field(
        "g", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": metadata}
    )
    with pytest.raises(InvalidInput, match="CRS"):
        iceberg_schema(pa.schema([field]))


def test_a_schema_that_nests_too_deep_is_refused() -> None:
    arrow: Any = pa.int32()
    for _ in range(120):
        arrow = pa.list_(arrow)
    with pytest.raises(InvalidInput, match="deeper"):
        iceberg_schema(pa.schema([("deep", arrow)]))


def test_variants_are_structs_of_metadata_and_value() -> None:
    assert [arrow_type(VARIANT).field(i).name for i in range(2)] == ["metadata", "value"]
    assert arrow_type(StructType((NestedField(3, "v", VARIANT),))).field(0).type == arrow_type(VARIANT)
