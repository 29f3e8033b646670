"""Every type, nested at random, survives being written and read in every format; other readers agree."""

from __future__ import annotations

import io
import uuid
from typing import Any

import duckdb
import fastavro
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from floeberg.arrow.columns.metrics_config import metrics_config
from floeberg.arrow.columns.physical import physical_values
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.open_file import ReadOptions, read_file
from floeberg.arrow.formats.write_properties import WriteProperties
from floeberg.arrow.write.conform import conform
from floeberg.arrow.write.data_files import DataFileWriter
from floeberg.effects.system import SystemClock
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import (
    BINARY,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    DecimalType,
    FixedType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)
from floeberg.storage.memory import MemoryStore
from strategies.arrow_rows import canonical, schemas, table_of, tables

LOCATION = "memory://bucket/data/file"


def write(table: pa.Table, schema: Schema, file_format: FileFormat) -> tuple[MemoryStore, DataFile]:
    store = MemoryStore(SystemClock())
    properties = WriteProperties(file_format=file_format)
    writer = DataFileWriter(store, LOCATION, schema, properties=properties, metrics=metrics_config(schema, {}))
    for batch in conform(table, schema):
        writer.write(batch)
    return store, writer.close()


def physical(array: pa.Array, data_type: IcebergType) -> list[Any]:
    """The values of an array of any depth, in physical form, structs as tuples and maps as pairs."""
    valid = array.is_valid().to_pylist()
    match data_type:
        case StructType():
            columns = [physical(array.field(i), m.type) for i, m in enumerate(data_type.members)]
            return [row if ok else None for ok, row in zip(valid, zip(*columns, strict=True), strict=True)]
        case ListType():
            children = physical(array.values, data_type.element_type)
        case MapType():
            keys, items = physical(array.keys, data_type.key_type), physical(array.items, data_type.value_type)
            children = list(zip(keys, items, strict=True))
        case _:
            return physical_values(array, data_type)
    offsets = array.offsets.to_pylist()
    return [children[offsets[i] : offsets[i + 1]] if ok else None for i, ok in enumerate(valid)]


def rows_of(table: pa.Table, schema: Schema) -> list[Any]:
    columns = [physical(c.combine_chunks(), f.type) for c, f in zip(table.columns, schema.fields, strict=True)]
    return [canonical(row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("file_format", [FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO])
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_rows_come_back_as_they_were_written(file_format: FileFormat, data: st.DataObject) -> None:
    schema = data.draw(schemas())
    rows, table = data.draw(tables(schema, orc=file_format is FileFormat.ORC))
    store, file = write(table, schema, file_format)
    assert file.record_count == len(rows)
    assert file.file_size_in_bytes == store.size(LOCATION)
    found = list(read_file(store, file, schema, options=ReadOptions(batch_rows=2)))
    got = pa.Table.from_batches([part.batch for part in found], schema=arrow_schema(schema))
    got.validate(full=True)
    assert rows_of(got, schema) == [canonical(row) for row in rows]
    assert [part.first_position for part in found] == list(range(0, len(rows), 2))


FLAT = Schema(
    NestedField(1, "i", INT, required=True),
    NestedField(2, "l", LONG),
    NestedField(3, "d", DOUBLE),
    NestedField(4, "s", STRING),
    NestedField(5, "u", UUID),
    NestedField(6, "b", BINARY),
    NestedField(7, "dec", DecimalType(20, 3)),
    NestedField(8, "day", DATE),
    NestedField(9, "t", TIME),
    NestedField(10, "ts", TIMESTAMP),
    NestedField(11, "tz", TIMESTAMPTZ),
    NestedField(12, "fx", FixedType(3)),
    NestedField(13, "li", ListType(14, LONG)),
    NestedField(15, "m", MapType(16, STRING, 17, LONG)),
    NestedField(18, "st", StructType((NestedField(19, "x", INT), NestedField(20, "y", STRING)))),
)
ROWS: list[tuple[Any, ...]] = [
    (1, 2, 0.5, "a", uuid.UUID(int=7), b"\x00\xff", None, 19000, 1, 5, 6, b"abc", [1, None], [("k", 1)], (1, "y")),
    (2, None, None, None, None, None, None, None, None, None, None, None, None, None, None),
]


def test_duckdb_reads_our_parquet(tmp_path: Any) -> None:
    store, _ = write(table_of(ROWS, FLAT), FLAT, FileFormat.PARQUET)
    path = tmp_path / "f.parquet"
    path.write_bytes(store.read(LOCATION))
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT i, l, d, s, u::text, b, day::text, li, m, st FROM '{path}'").fetchall()
        types = dict(connection.execute(f"SELECT name, type FROM parquet_schema('{path}')").fetchall())
    assert rows[0][:4] == (1, 2, 0.5, "a")
    assert rows[0][4:7] == (str(uuid.UUID(int=7)), b"\x00\xff", "2022-01-08")
    assert rows[0][7:] == ([1, None], {"k": 1}, {"x": 1, "y": "y"})
    assert rows[1] == (2, *[None] * 9)
    assert types["dec"] == "FIXED_LEN_BYTE_ARRAY"


def test_the_parquet_schema_is_the_one_the_specification_asks_for() -> None:
    import pyarrow.parquet as pq

    store, _ = write(table_of(ROWS, FLAT), FLAT, FileFormat.PARQUET)
    text = str(pq.ParquetFile(pa.BufferReader(store.read(LOCATION))).schema)
    for line in (
        "required int32 field_id=1 i;",
        "optional fixed_len_byte_array(16) field_id=5 u (UUID);",
        "optional fixed_len_byte_array(9) field_id=7 dec (Decimal(precision=20, scale=3));",
        "optional int64 field_id=9 t (Time(isAdjustedToUTC=false, timeUnit=microseconds));",
        "optional fixed_len_byte_array(3) field_id=12 fx;",
        "optional group field_id=13 li (List)",
        "optional int64 field_id=14 element;",
        "required binary field_id=16 key (String);",
    ):
        assert line in text, (line, text)
    assert "isAdjustedToUTC=true, timeUnit=microseconds" in next(x for x in text.splitlines() if "field_id=11" in x)


def test_fastavro_reads_our_avro_with_ids_and_logical_types() -> None:
    store, _ = write(table_of(ROWS, FLAT), FLAT, FileFormat.AVRO)
    reader = fastavro.reader(io.BytesIO(store.read(LOCATION)))
    rows = list(reader)
    assert rows[0]["i"] == 1
    assert rows[0]["u"] in (uuid.UUID(int=7), uuid.UUID(int=7).bytes)
    assert rows[0]["m"] == {"k": 1}
    assert rows[1]["st"] is None
    by_name = {field["name"]: field for field in reader.writer_schema["fields"]}
    assert [field["field-id"] for field in by_name.values()] == [f.field_id for f in FLAT.fields]
    assert by_name["li"]["type"][1]["element-id"] == 14
    assert by_name["tz"]["type"][1] == {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True}
    assert by_name["ts"]["type"][1]["adjust-to-utc"] is False


def test_orc_attributes_carry_ids_and_types() -> None:
    from pyarrow import orc

    store, _ = write(table_of(ROWS, FLAT), FLAT, FileFormat.ORC)
    schema = orc.ORCFile(pa.BufferReader(store.read(LOCATION))).schema
    attributes = {field.name: field.metadata for field in schema}
    assert attributes["i"] == {b"iceberg.id": b"1", b"iceberg.required": b"true"}
    assert attributes["u"][b"iceberg.binary-type"] == b"UUID"
    assert attributes["t"][b"iceberg.long-type"] == b"TIME"
    assert attributes["fx"][b"iceberg.length"] == b"3"
    assert attributes["ts"][b"iceberg.timestamp-unit"] == b"MICROS"
    assert schema.field("li").type.value_field.metadata[b"iceberg.id"] == b"14"


def test_column_names_that_avro_cannot_have_survive() -> None:
    schema = Schema(NestedField(1, "a-b.c", LONG), NestedField(2, "1st", STRING))
    store, file = write(table_of([(1, "x")], schema), schema, FileFormat.AVRO)
    (found,) = read_file(store, file, schema)
    assert found.batch.to_pylist() == [{"a-b.c": 1, "1st": "x"}]
    names = [f["name"] for f in fastavro.reader(io.BytesIO(store.read(LOCATION))).writer_schema["fields"]]
    assert names == ["a_x2Db_x2Ec", "_1st"]
