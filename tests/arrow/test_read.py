"""A data file as a scan sees it: metadata columns, lineage, partition values, splits, and nothing but what is asked for."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from msgspec import structs
from pyroaring import BitMap64

from floeberg.arrow.columns.metrics_config import metrics_config
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.open_file import ReadOptions
from floeberg.arrow.formats.write_properties import WriteProperties
from floeberg.arrow.scan.data_file import FileToRead, read_data_file
from floeberg.arrow.scan.deletes import RowDeletes
from floeberg.arrow.write.conform import conform
from floeberg.arrow.write.data_files import DataFileWriter
from floeberg.effects.system import SystemClock, SystemIds
from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind
from floeberg.expr.nodes import FALSE, TRUE
from floeberg.spec.partitions.specs import build_partition_spec
from floeberg.spec.schemas.metadata_columns import (
    FILE_PATH,
    LAST_UPDATED_SEQUENCE_NUMBER,
    LINEAGE_COLUMNS,
    ROW_ID,
    ROW_POSITION,
    SPEC_ID,
    partition_column,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import INT, LONG, STRING, NestedField, StructType
from floeberg.sql.conditions.filters import parse_where
from floeberg.storage.local import LocalStore
from floeberg.storage.memory import MemoryStore
from strategies.arrow_rows import table_of

ALL_FORMATS = [FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO]
LOCATION = "memory://bucket/data/file"
SCHEMA = Schema(NestedField(1, "x", LONG), NestedField(2, "p", STRING))
ROWS: list[tuple[Any, ...]] = [(i, "ab"[i % 2]) for i in range(6)]


def write(rows: list[tuple[Any, ...]], schema: Schema, file_format: FileFormat) -> tuple[MemoryStore, DataFile]:
    store = MemoryStore(SystemClock())
    writer = DataFileWriter(
        store, LOCATION, schema, properties=WriteProperties(file_format=file_format), metrics=metrics_config(schema, {})
    )
    for batch in conform(table_of(rows, schema), schema):
        writer.write(batch)
    return store, writer.close()


def read(store: Any, file: FileToRead, projection: Schema, **options: Any) -> list[dict[str, Any]]:
    options.setdefault("table_schema", SCHEMA)
    batches = list(read_data_file(file, store=store, projection=projection, **options))
    assert all(batch.num_rows for batch in batches)
    assert all(batch.schema.equals(arrow_schema(projection)) for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_metadata_columns_come_where_they_are_asked_for(file_format: FileFormat) -> None:
    store, file = write(ROWS, SCHEMA, file_format)
    spec = build_partition_spec(SCHEMA, ["p"], spec_id=7)
    both = StructType((NestedField(1001, "old", INT), NestedField(spec.fields[0].field_id, "p", STRING)))
    wanted = FileToRead(data_file=structs.replace(file, spec_id=7, partition=("a",)), spec=spec)
    projection = Schema(ROW_POSITION, SCHEMA.fields[0], FILE_PATH, SPEC_ID, partition_column(both))
    rows = read(store, wanted, projection, residual=bind(parse_where("p = 'a' AND x > 1"), SCHEMA))
    assert rows == [
        {"_pos": i, "x": i, "_file": LOCATION, "_spec_id": 7, "_partition": {"old": None, "p": "a"}} for i in (2, 4)
    ]


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_row_ids_are_inherited_where_the_file_has_none(file_format: FileFormat) -> None:
    projection = Schema(SCHEMA.fields[0], *LINEAGE_COLUMNS)
    store, file = write(ROWS, SCHEMA, file_format)
    added = FileToRead(data_file=structs.replace(file, first_row_id=100), data_sequence_number=5)
    rows = read(
        store, added, projection, deletes=RowDeletes(BitMap64([1])), residual=bind(parse_where("x < 4"), SCHEMA)
    )
    assert rows == [{"x": i, "_row_id": 100 + i, "_last_updated_sequence_number": 5} for i in (0, 2, 3)]


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_row_ids_that_a_file_holds_are_kept_and_its_nulls_inherit(file_format: FileFormat) -> None:
    stored = Schema(SCHEMA.fields[0], *LINEAGE_COLUMNS)
    store, file = write([(1, 7, 2), (2, 9, None), (3, None, None)], stored, file_format)
    moved = FileToRead(data_file=structs.replace(file, first_row_id=40), data_sequence_number=8)
    assert read(store, moved, Schema(ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER)) == [
        {"_row_id": 7, "_last_updated_sequence_number": 2},
        {"_row_id": 9, "_last_updated_sequence_number": 8},
        {"_row_id": 42, "_last_updated_sequence_number": 8},
    ]


def test_a_file_from_before_lineage_has_none() -> None:
    store, file = write(ROWS[:1], SCHEMA, FileFormat.PARQUET)
    rows = read(store, FileToRead(data_file=file, data_sequence_number=3), Schema(*LINEAGE_COLUMNS))
    assert rows == [{"_row_id": None, "_last_updated_sequence_number": None}]


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_identity_partition_values_are_read_and_filtered_where_files_lack_the_column(file_format: FileFormat) -> None:
    store, file = write([(1,), (2,)], Schema(SCHEMA.fields[0]), file_format)
    spec = build_partition_spec(SCHEMA, ["p", "bucket(4, x)"])
    wanted = FileToRead(data_file=structs.replace(file, partition=("a", 3)), spec=spec)
    assert read(store, wanted, SCHEMA) == [{"x": 1, "p": "a"}, {"x": 2, "p": "a"}]
    assert read(store, wanted, SCHEMA, residual=bind(parse_where("p = 'b'"), SCHEMA)) == []
    assert len(read(store, wanted, SCHEMA, residual=bind(parse_where("p = 'a' AND x = 2"), SCHEMA))) == 1


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_rows_are_counted_without_reading_a_column(file_format: FileFormat) -> None:
    store, file = write(ROWS, SCHEMA, file_format)
    batches = list(
        read_data_file(FileToRead(data_file=file), store=store, projection=Schema(), table_schema=SCHEMA,
                       residual=bind(parse_where("x >= 2"), SCHEMA), deletes=RowDeletes(BitMap64([5])))
    )  # fmt: skip
    assert sum(batch.num_rows for batch in batches) == 3
    batches = list(
        read_data_file(FileToRead(data_file=file), store=store, projection=Schema(), table_schema=SCHEMA, residual=TRUE)
    )
    assert sum(batch.num_rows for batch in batches) == 6


def test_a_false_residual_reads_nothing_at_all() -> None:
    _, file = write(ROWS, SCHEMA, FileFormat.PARQUET)
    empty = MemoryStore(SystemClock())
    assert read(empty, FileToRead(data_file=file), SCHEMA, residual=FALSE) == []


def test_a_column_that_the_table_lacks_is_refused() -> None:
    store, file = write(ROWS, SCHEMA, FileFormat.PARQUET)
    with pytest.raises(InvalidInput, match="id 99"):
        read(store, FileToRead(data_file=file), Schema(NestedField(99, "z", INT)))


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_splits_of_any_format_give_each_row_once(file_format: FileFormat) -> None:
    store, file = write(ROWS, SCHEMA, file_format)
    size = file.file_size_in_bytes
    first = read(store, FileToRead(data_file=file, byte_range=(0, size // 2)), SCHEMA)
    second = read(store, FileToRead(data_file=file, byte_range=(size // 2, size)), SCHEMA)
    assert sorted(row["x"] for row in first + second) == [row[0] for row in ROWS]


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_local_files_are_read_where_they_lie(file_format: FileFormat, tmp_path: Any) -> None:
    store = LocalStore(SystemIds(), fsync=False)
    location = f"file://{tmp_path}/a b/f"
    writer = DataFileWriter(
        store, location, SCHEMA, properties=WriteProperties(file_format=file_format), metrics=metrics_config(SCHEMA, {})
    )
    for batch in conform(table_of(ROWS, SCHEMA), SCHEMA):
        writer.write(batch)
    file = writer.close()
    for use_threads in (False, True):
        options = ReadOptions(batch_rows=2, use_threads=use_threads)
        assert len(read(store, FileToRead(data_file=file), SCHEMA, options=options)) == 6


def test_a_moved_file_is_read_where_it_lies_under_its_old_name() -> None:
    store, file = write(ROWS[:1], SCHEMA, FileFormat.PARQUET)
    moved = FileToRead(data_file=structs.replace(file, file_path="s3://old/data/file"), location=LOCATION)
    assert read(store, moved, Schema(FILE_PATH, SCHEMA.fields[0])) == [{"_file": "s3://old/data/file", "x": 0}]


def test_workers_need_neither_polars_nor_sqlalchemy() -> None:
    code = (
        "import sys, floeberg.arrow.scan.data_file, floeberg.arrow.write.data_files, floeberg.arrow.write.delete_files;"
        "print([m for m in ('polars', 'sqlalchemy', 'pyspark', 'obstore') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_batches_are_arrow_batches_of_the_projection() -> None:
    store, file = write(ROWS, SCHEMA, FileFormat.PARQUET)
    (batch,) = read_data_file(FileToRead(data_file=file), store=store, projection=SCHEMA, table_schema=SCHEMA)
    assert isinstance(batch, pa.RecordBatch)
