"""Parquet files of other writers: every encoding, old shapes, and files whose footer cannot be trusted."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from floeberg.arrow.columns.physical import physical_values
from floeberg.arrow.formats.read_parquet import read_parquet
from floeberg.effects.system import SystemIds
from floeberg.errors import DataFileCorrupt
from floeberg.spec.schemas.name_mapping import NameMapping, create_name_mapping
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    DecimalType,
    GeographyType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)
from floeberg.storage.local import LocalStore
from golden_collection.golden_files import GOLDEN, shared_files

FILES = GOLDEN / "parquet"
STORE = LocalStore(SystemIds())


def read(path: Path, schema: Schema, mapping: NameMapping | None = None) -> list[dict[str, Any]]:
    mapping = mapping if mapping is not None else create_name_mapping(schema)
    return [
        row for part in read_parquet(STORE, str(path), schema, name_mapping=mapping) for row in part.batch.to_pylist()
    ]


def column(name: str, schema: Schema) -> list[Any]:
    return [
        value
        for part in read_parquet(STORE, str(FILES / name), schema, name_mapping=create_name_mapping(schema))
        for value in physical_values(part.batch.column(0), schema.fields[0].type)
    ]


@pytest.mark.parametrize(
    ("name", "precision"),
    [("int32_decimal", 4), ("int64_decimal", 10), ("fixed_length_decimal", 25), ("fixed_length_decimal_legacy", 13)],
)
def test_decimals_of_every_physical_type_widen(name: str, precision: int) -> None:
    for wider in (precision, precision + 3):
        schema = Schema(NestedField(1, "value", DecimalType(wider, 2)))
        assert [row["value"] for row in read(FILES / f"{name}.parquet", schema)] == [
            Decimal(n).quantize(Decimal("0.01")) for n in range(1, 25)
        ]


def test_a_file_s_ids_win_over_the_name_mapping() -> None:
    # This file has an id: its column is the one with that id, whatever its name.
    schema = Schema(NestedField(6, "renamed", DecimalType(4, 2)), NestedField(1, "value", DecimalType(4, 2)))
    rows = read(FILES / "byte_array_decimal.parquet", schema)
    assert rows[0] == {"renamed": Decimal("1.00"), "value": None}


@pytest.mark.parametrize("data_type", [TIMESTAMP, TIMESTAMPTZ])
def test_int96_holds_times_beyond_64_bits_of_nanoseconds(data_type: IcebergType) -> None:
    values = column("int96_from_spark.parquet", Schema(NestedField(1, "a", data_type)))
    assert values[:3] == [1704141296123456, 1704070800000000, 253402225200000000]
    assert values[4] is None


def test_int96_as_nanoseconds_keeps_them() -> None:
    values = column("int96_from_spark.parquet", Schema(NestedField(1, "a", TIMESTAMP_NS)))
    assert values[0] == 1704141296123456000


def test_half_floats_are_read_as_floats() -> None:
    values = column("float16_nonzeros_and_nans.parquet", Schema(NestedField(1, "x", FLOAT)))
    assert values[:3] == [None, 1.0, -2.0]
    assert any(value is not None and value != value for value in values)


def test_two_level_lists_are_lists() -> None:
    schema = Schema(NestedField(1, "a", ListType(2, ListType(3, INT))))
    assert read(FILES / "old_list_structure.parquet", schema) == [{"a": [[1, 2], [3, 4]]}]


def test_maps_of_maps_are_read_by_name_mapping() -> None:
    inner = MapType(4, INT, 5, BOOLEAN)
    schema = Schema(NestedField(1, "a", MapType(2, STRING, 3, inner)), NestedField(6, "b", INT))
    assert read(FILES / "nested_maps.snappy.parquet", schema)[0] == {"a": [("a", [(1, True), (2, False)])], "b": 1}


def test_impala_s_nested_columns_are_pruned_to_what_is_asked() -> None:
    deep = StructType((NestedField(11, "E", INT),))
    whole = StructType(
        (
            NestedField(3, "A", INT),
            NestedField(4, "C", StructType((NestedField(5, "d", ListType(6, ListType(7, deep))),))),
        )
    )
    schema = Schema(NestedField(1, "id", LONG), NestedField(2, "nested_struct", whole))
    rows = read(FILES / "nullable.impala.parquet", schema)
    assert rows[0] == {
        "id": 1,
        "nested_struct": {"A": 1, "C": {"d": [[{"E": 10}, {"E": -10}], [{"E": 11}]]}},
    }
    assert len(rows) == 7


def test_geography_is_well_known_binary() -> None:
    schema = Schema(NestedField(1, "wkt", STRING), NestedField(2, "geography", GeographyType()))
    (row,) = read(FILES / "crs-geography.parquet", schema)
    assert row["geography"][:5] == b"\x01\x03\x00\x00\x00"
    assert row["wkt"].startswith("POLYGON")


def test_a_footer_that_miscounts_the_rows_loses_none() -> None:
    assert pq.read_metadata(FILES / "repeated_no_annotation.parquet").num_rows == 0
    rows = read(FILES / "repeated_no_annotation.parquet", Schema(NestedField(1, "id", INT)))
    assert [row["id"] for row in rows] == [1, 2, 3, 4, 5, 6]


def test_a_schema_that_parquet_forbids_is_refused_by_name() -> None:
    with pytest.raises(DataFileCorrupt, match="incorrect_map_schema"):
        read(FILES / "incorrect_map_schema.parquet", Schema(NestedField(1, "id", INT)))


def test_positions_run_on_over_row_groups() -> None:
    schema = Schema(NestedField(1, "id", LONG))
    parts = list(
        read_parquet(STORE, str(FILES / "three_groups.parquet"), schema, name_mapping=create_name_mapping(schema))
    )
    assert [part.first_position for part in parts] == [0, 100, 200]
    assert [part.batch.column(0)[0].as_py() for part in parts] == [200, 0, 100]


@pytest.mark.golden_shared
def test_every_encoding_reads_as_plain_does() -> None:
    kinds = {"int32": INT, "int64": LONG, "float": FLOAT, "double": DOUBLE, "string": STRING, "boolean": BOOLEAN}
    compared = 0
    for path in shared_files("standalone/java/parquet-encodings/*/*.parquet"):
        plain = path.parent.parent / "PLAIN" / path.name
        arrow = pq.ParquetFile(path, arrow_extensions_enabled=False).schema_arrow
        kind = kinds.get(path.stem.removesuffix("_with_nulls"))
        if kind is None or path == plain:
            continue
        schema = Schema(NestedField(1, arrow.names[0], kind))
        assert repr(read(path, schema)) == repr(read(plain, schema)), path
        compared += 1
    assert compared >= 15
