"""Files are read as the schema says that they are: by field id, whatever names, order and types they were written with."""

from __future__ import annotations

import uuid
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from floeberg.arrow.columns.metrics_config import metrics_config
from floeberg.arrow.columns.physical import physical_values
from floeberg.arrow.columns.types import FIELD_ID_KEY
from floeberg.arrow.formats.open_file import read_file
from floeberg.arrow.formats.write_properties import WriteProperties
from floeberg.arrow.write.conform import conform
from floeberg.arrow.write.data_files import DataFileWriter
from floeberg.effects.system import SystemClock
from floeberg.errors import DataFileCorrupt, FileNotFound, UnsupportedFeature
from floeberg.spec.schemas.name_mapping import create_name_mapping, parse_name_mapping
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    UNKNOWN,
    UUID,
    DecimalType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)
from floeberg.storage.memory import MemoryStore
from strategies.arrow_rows import table_of

LOCATION = "memory://bucket/data/file"
ALL_FORMATS = [FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO]


def write(rows: list[tuple[Any, ...]], schema: Schema, file_format: FileFormat) -> tuple[MemoryStore, DataFile]:
    store = MemoryStore(SystemClock())
    writer = DataFileWriter(
        store, LOCATION, schema, properties=WriteProperties(file_format=file_format), metrics=metrics_config(schema, {})
    )
    for batch in conform(table_of(rows, schema), schema):
        writer.write(batch)
    return store, writer.close()


def read(store: MemoryStore, file: DataFile, schema: Schema, **options: Any) -> list[dict[str, Any]]:
    return [row for part in read_file(store, file, schema, **options) for row in part.batch.to_pylist()]


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_columns_are_found_by_id_after_renames_swaps_and_reorders(file_format: FileFormat) -> None:
    written = Schema(NestedField(1, "a", INT), NestedField(2, "b", STRING), NestedField(3, "c", DOUBLE))
    store, file = write([(1, "x", 0.5)], written, file_format)
    # The example of the specification, and a swap of names besides.
    asked = Schema(NestedField(3, "measurement", DOUBLE), NestedField(2, "name", STRING), NestedField(4, "a", INT))
    assert read(store, file, asked) == [{"measurement": 0.5, "name": "x", "a": None}]
    swapped = Schema(NestedField(2, "a", STRING), NestedField(1, "b", INT))
    assert read(store, file, swapped) == [{"a": "x", "b": 1}]


@pytest.mark.parametrize("file_format", ALL_FORMATS)
@pytest.mark.parametrize(
    ("old", "value", "new", "expected"),
    [
        (INT, 2**31 - 1, LONG, 2**31 - 1),
        (FLOAT, 0.5, DOUBLE, 0.5),
        (DecimalType(5, 2), Decimal("1.23"), DecimalType(20, 2), Decimal("1.23")),
        (DATE, -1, TIMESTAMP, -86_400_000_000),
        (DATE, 1, TIMESTAMP_NS, 86_400_000_000_000),
    ],
)
def test_promoted_types_are_read(
    file_format: FileFormat, old: IcebergType, value: object, new: IcebergType, expected: object
) -> None:
    store, file = write([(value, [value], (value,))], _three(old), file_format)
    (part,) = read_file(store, file, _three(new))
    column, lists, structs = part.batch.columns
    assert physical_values(column, new) == [expected]
    assert physical_values(lists.values, new) == [expected]
    assert physical_values(structs.field(0), new) == [expected]


def _three(kind: IcebergType) -> Schema:
    return Schema(
        NestedField(1, "c", kind), NestedField(2, "l", ListType(3, kind)),
        NestedField(4, "s", StructType((NestedField(5, "m", kind),))),
    )  # fmt: skip


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_a_date_outside_the_promoted_type_is_an_error_and_no_other_value(file_format: FileFormat) -> None:
    store, file = write([(10_000_000,)], Schema(NestedField(1, "d", DATE)), file_format)
    with pytest.raises(DataFileCorrupt, match=r"file: column 'd' cannot be read as timestamp_ns"):
        read(store, file, Schema(NestedField(1, "d", TIMESTAMP_NS)))


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_unknown_promotes_to_anything_and_reads_as_null(file_format: FileFormat) -> None:
    schema = Schema(NestedField(1, "a", INT), NestedField(2, "u", UNKNOWN))
    store, file = write([(1, None)], schema, file_format)
    assert read(store, file, schema) == [{"a": 1, "u": None}]
    assert read(store, file, Schema(NestedField(2, "u", STRING))) == [{"u": None}]
    # What lies under an unknown column's id is ignored.
    assert read(store, file, Schema(NestedField(1, "a", UNKNOWN))) == [{"a": None}]


POINT = StructType((NestedField(2, "x", INT, initial_default=0), NestedField(3, "y", INT, initial_default=0)))


@pytest.mark.parametrize("file_format", ALL_FORMATS)
@pytest.mark.parametrize(
    ("members", "row", "default", "expected"),
    [
        ((), None, None, None),
        (("x",), (3,), None, {"x": 3, "y": 0}),
        ((), None, {}, {"x": 0, "y": 0}),
        (("y",), (-1,), {}, {"x": 0, "y": -1}),
        ((), None, {"x": 7}, {"x": 7, "y": 0}),
        (("y",), (-1,), {"x": 7}, {"x": 0, "y": -1}),
    ],
)
def test_defaults_of_structs_are_those_of_the_specification_s_table(
    file_format: FileFormat, members: tuple[str, ...], row: Any, default: object, expected: object
) -> None:
    kept = tuple(member for member in POINT.members if member.name in members)
    fields = [NestedField(9, "id", INT)] + ([NestedField(1, "point", StructType(kept))] if kept else [])
    store, file = write([(1, row)[: len(fields)]], Schema(*fields), file_format)
    asked = Schema(NestedField(1, "point", POINT, initial_default=default))
    assert read(store, file, asked) == [{"point": expected}]


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_members_added_inside_lists_and_maps_have_their_defaults(file_format: FileFormat) -> None:
    old = StructType((NestedField(3, "x", INT),))
    new = StructType((NestedField(3, "x", INT), NestedField(4, "z", STRING, initial_default="new")))
    written = Schema(NestedField(1, "l", ListType(2, old)), NestedField(5, "m", MapType(6, STRING, 7, _shift(old, 10))))
    asked = Schema(NestedField(1, "l", ListType(2, new)), NestedField(5, "m", MapType(6, STRING, 7, _shift(new, 10))))
    store, file = write([([(1,), None], [("k", (2,))]), (None, None)], written, file_format)
    assert read(store, file, asked) == [
        {"l": [{"x": 1, "z": "new"}, None], "m": [("k", {"x": 2, "z": "new"})]},
        {"l": None, "m": None},
    ]
    only_new = Schema(NestedField(1, "l", ListType(2, StructType((new.members[1],)))))
    assert read(store, file, only_new) == [{"l": [{"z": "new"}, None]}, {"l": None}]


def _shift(struct: StructType, by: int) -> StructType:
    return StructType(tuple(replace(member, field_id=member.field_id + by) for member in struct.members))


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_a_required_column_that_is_missing_is_an_error_unless_it_has_a_default(file_format: FileFormat) -> None:
    store, file = write([(1,)], Schema(NestedField(1, "a", INT)), file_format)
    with pytest.raises(DataFileCorrupt, match="lacks the required column 'b'"):
        read(store, file, Schema(NestedField(2, "b", INT, required=True)))
    asked = Schema(NestedField(2, "b", INT, required=True, initial_default=7))
    assert read(store, file, asked) == [{"b": 7}]


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_identity_partition_values_stand_in_for_absent_columns_only(file_format: FileFormat) -> None:
    store, file = write([(1,)], Schema(NestedField(1, "a", INT)), file_format)
    asked = Schema(
        NestedField(1, "a", INT), NestedField(2, "p", STRING, initial_default="d"), NestedField(3, "u", UUID)
    )
    rows = read(store, file, asked, constants={1: 99, 2: "part", 3: uuid.UUID(int=1)})
    assert rows == [{"a": 1, "p": "part", "u": uuid.UUID(int=1).bytes}]


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_a_file_s_type_that_cannot_become_the_table_s_is_an_error(file_format: FileFormat) -> None:
    store, file = write([("x",)], Schema(NestedField(1, "a", STRING)), file_format)
    for wrong in (INT, ListType(2, STRING), StructType((NestedField(2, "x", STRING),))):
        with pytest.raises(DataFileCorrupt, match="memory://bucket/data/file: column 'a' is string"):
            read(store, file, Schema(NestedField(1, "a", wrong)))


def put_parquet(table: pa.Table) -> tuple[MemoryStore, DataFile]:
    store = MemoryStore(SystemClock())
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    store.write(LOCATION, sink.getvalue().to_pybytes())
    size = store.size(LOCATION)
    return store, DataFile(
        file_path=LOCATION, file_format=FileFormat.PARQUET, record_count=table.num_rows, file_size_in_bytes=size
    )


def _id(number: int) -> dict[bytes, bytes]:
    return {FIELD_ID_KEY: str(number).encode()}


def test_duplicate_ids_are_corrupt() -> None:
    fields = [pa.field("a", pa.int32(), metadata=_id(1)), pa.field("b", pa.int32(), metadata=_id(1))]
    store, file = put_parquet(pa.table([[1], [2]], schema=pa.schema(fields)))
    with pytest.raises(DataFileCorrupt, match="'a' and 'b' have the same field id 1"):
        read(store, file, Schema(NestedField(1, "a", INT)))


def test_a_file_without_ids_needs_a_name_mapping() -> None:
    store, file = put_parquet(pa.table({"a": [1], "b": ["x"]}))
    schema = Schema(NestedField(1, "renamed", LONG), NestedField(2, "b", STRING))
    with pytest.raises(DataFileCorrupt, match=r"schema\.name-mapping\.default"):
        read(store, file, schema)
    mapping = parse_name_mapping('[{"field-id": 1, "names": ["renamed", "a"]}, {"field-id": 2, "names": ["b"]}]')
    assert read(store, file, schema, name_mapping=mapping) == [{"renamed": 1, "b": "x"}]


def test_name_mappings_reach_into_structs_lists_and_maps() -> None:
    schema = Schema(
        NestedField(1, "s", StructType((NestedField(2, "x", LONG),))),
        NestedField(3, "l", ListType(4, StructType((NestedField(5, "y", LONG),)))),
        NestedField(6, "m", MapType(7, STRING, 8, StructType((NestedField(9, "z", LONG),)))),
    )
    arrow = pa.schema(
        [
            ("s", pa.struct([("x", pa.int64()), ("other", pa.int64())])),
            ("l", pa.list_(pa.struct([("y", pa.int64())]))),
            ("m", pa.map_(pa.string(), pa.struct([("z", pa.int64())]))),
        ]
    )
    rows = [{"s": {"x": 1, "other": 2}, "l": [{"y": 3}], "m": [("k", {"z": 4})]}]
    store, file = put_parquet(pa.Table.from_pylist(rows, schema=arrow))
    found = read(store, file, schema, name_mapping=create_name_mapping(schema))
    assert found == [{"s": {"x": 1}, "l": [{"y": 3}], "m": [("k", {"z": 4})]}]


def test_only_the_leaves_asked_for_are_read() -> None:
    wide = StructType(tuple(NestedField(10 + i, f"m{i}", STRING) for i in range(50)))
    schema = Schema(NestedField(1, "s", wide))
    store, file = write([(tuple("x" * 5000 for _ in range(50)),)], schema, FileFormat.PARQUET)
    read_bytes = 0

    class Counting(MemoryStore):
        def read(self, location: str, *, offset: int = 0, length: int | None = None) -> bytes:
            nonlocal read_bytes
            content = store.read(location, offset=offset, length=length)
            read_bytes += len(content)
            return content

    rows = read(Counting(SystemClock()), file, Schema(NestedField(1, "s", StructType((wide.members[7],)))))
    assert rows == [{"s": {"m7": "x" * 5000}}]
    assert file.column_sizes is not None
    footer = file.file_size_in_bytes - sum(file.column_sizes.values())
    assert read_bytes <= footer + 2 * max(file.column_sizes.values()) + 20_000


@pytest.mark.parametrize("file_format", ALL_FORMATS)
@pytest.mark.parametrize("keep", [0, 3, 40, 200])
def test_a_truncated_file_is_an_error_that_names_it(file_format: FileFormat, keep: int) -> None:
    schema = Schema(NestedField(1, "a", STRING))
    store, file = write([("abc" * i,) for i in range(50)], schema, file_format)
    store.replace(LOCATION, store.read(LOCATION)[:keep])
    with pytest.raises(DataFileCorrupt, match="memory://bucket/data/file"):
        read(store, file, schema)


def test_an_avro_file_cut_at_a_block_s_end_is_not_taken_for_a_shorter_one() -> None:
    schema = Schema(NestedField(1, "a", STRING))
    store, file = write([("abc" * i,) for i in range(50)], schema, FileFormat.AVRO)
    with pytest.raises(DataFileCorrupt, match="cut short"):
        read(store, structs.replace(file, file_size_in_bytes=file.file_size_in_bytes + 100), schema)


def test_a_missing_file_is_not_found() -> None:
    store = MemoryStore(SystemClock())
    for file_format in ALL_FORMATS:
        file = DataFile(file_path=LOCATION, file_format=file_format, record_count=1, file_size_in_bytes=0)
        with pytest.raises(FileNotFound):
            read(store, file, Schema(NestedField(1, "a", INT)))


def test_encrypted_files_and_puffin_files_are_refused_before_a_byte_is_read() -> None:
    store = MemoryStore(SystemClock())
    file = DataFile(file_path=LOCATION, file_format=FileFormat.PARQUET, record_count=1, file_size_in_bytes=0)
    with pytest.raises(UnsupportedFeature, match="encrypted"):
        read_file(store, structs.replace(file, key_metadata=b"k"), Schema(NestedField(1, "a", INT)))
    with pytest.raises(UnsupportedFeature, match="puffin"):
        read_file(store, structs.replace(file, file_format=FileFormat.PUFFIN), Schema(NestedField(1, "a", INT)))
