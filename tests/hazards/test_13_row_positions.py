"""Hazard 13: positions counted after filtering or skipping row groups delete the wrong rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from floeberg.arrow.columns.metrics_config import metrics_config
from floeberg.arrow.columns.physical import physical_values
from floeberg.arrow.formats.open_file import ReadOptions
from floeberg.arrow.formats.read_parquet import read_parquet
from floeberg.arrow.formats.row_groups import row_group_filter
from floeberg.arrow.formats.write_properties import WriteProperties
from floeberg.arrow.scan.data_file import FileToRead, read_data_file
from floeberg.arrow.scan.deletes import RowDeletes
from floeberg.arrow.write.data_files import DataFileWriter
from floeberg.effects.system import SystemClock
from floeberg.expr.bind import bind
from floeberg.expr.evaluate import keeps
from floeberg.expr.nodes import Expression
from floeberg.spec.schemas.metadata_columns import IS_DELETED, ROW_POSITION
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import LONG, NestedField
from floeberg.sql.conditions.filters import parse_where
from floeberg.storage.memory import MemoryStore
from strategies.arrow_rows import canonical, expressions, flat_schemas, tables

LOCATION = "memory://bucket/data/file"


def write_groups(
    table: pa.Table, schema: Schema, sizes: list[int], file_format: FileFormat
) -> tuple[MemoryStore, DataFile]:
    """A file whose row groups (stripes, blocks) have the sizes given, the last one what is left."""
    store = MemoryStore(SystemClock())
    writer = DataFileWriter(
        store, LOCATION, schema, properties=WriteProperties(file_format=file_format), metrics=metrics_config(schema, {})
    )
    start = 0
    for size in [*sizes, table.num_rows]:
        part = table.slice(start, size)
        start += part.num_rows
        for batch in part.to_batches():
            writer.write(batch)
        writer.flush()
    return store, writer.close()


def read_rows(
    store: MemoryStore, file: DataFile, schema: Schema, *, residual: Expression, deleted: set[int], batch_rows: int
) -> list[tuple[int, Any]]:
    projection = Schema(*schema.fields, ROW_POSITION)
    found: list[tuple[int, Any]] = []
    for batch in read_data_file(
        FileToRead(data_file=file),
        store=store,
        projection=projection,
        table_schema=schema,
        residual=residual,
        deletes=RowDeletes(BitMap64(deleted) or None),
        options=ReadOptions(batch_rows=batch_rows, use_threads=False),
    ):
        columns = [physical_values(c, f.type) for c, f in zip(batch.columns, projection.fields, strict=True)]
        found.extend((row[-1], canonical(row[:-1])) for row in zip(*columns, strict=True))
    return found


@pytest.mark.parametrize("file_format", [FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO])
@settings(max_examples=70)
@given(data=st.data())
def test_rows_and_positions_are_those_of_brute_force(file_format: FileFormat, data: st.DataObject) -> None:
    schema = data.draw(flat_schemas(max_columns=3))
    rows, table = data.draw(tables(schema, max_rows=14, orc=file_format is FileFormat.ORC))
    residual = data.draw(expressions(schema, rows))
    deleted = data.draw(st.sets(st.integers(0, max(0, len(rows) - 1))))
    sizes = data.draw(st.lists(st.integers(1, 4), max_size=5))
    store, file = write_groups(table, schema, sizes, file_format)
    batch_rows = data.draw(st.integers(1, 5))
    found = read_rows(store, file, schema, residual=residual, deleted=deleted, batch_rows=batch_rows)
    expected = [(i, canonical(row)) for i, row in enumerate(rows) if i not in deleted and keeps(residual, row)]
    assert found == expected, str(residual)


SCHEMA = Schema(NestedField(1, "x", LONG))


def ten_groups() -> tuple[MemoryStore, DataFile]:
    table = pa.table({"x": pa.array(range(100), pa.int64())})
    return write_groups(table.cast(pa.schema([pa.field("x", pa.int64())])), SCHEMA, [10] * 9, FileFormat.PARQUET)


def test_skipped_row_groups_still_count() -> None:
    store, file = ten_groups()
    residual = bind(parse_where("x BETWEEN 35 AND 36"), SCHEMA)
    read = list(read_parquet(store, LOCATION, SCHEMA, row_group_filter=row_group_filter(residual, SCHEMA)))
    assert [(part.first_position, part.batch.num_rows) for part in read] == [(30, 10)]
    rows = read_rows(store, file, SCHEMA, residual=residual, deleted={35, 5}, batch_rows=3)
    assert rows == [(36, [36])]


def test_splits_of_a_file_partition_its_rows_and_keep_their_positions() -> None:
    store, file = ten_groups()
    assert file.split_offsets is not None
    assert len(file.split_offsets) == 10
    ends = [*file.split_offsets[1:], file.file_size_in_bytes]
    positions = []
    for start, end in zip(file.split_offsets, ends, strict=True):
        parts = list(read_parquet(store, LOCATION, SCHEMA, byte_range=(start, end - start)))
        positions.append([(p.first_position, p.batch.column(0).to_pylist()) for p in parts])
    assert positions == [[(i, list(range(i, i + 10)))] for i in range(0, 100, 10)]


def test_deleted_rows_come_marked_when_they_are_asked_for() -> None:
    store, file = ten_groups()
    batches = read_data_file(
        FileToRead(data_file=file),
        store=store,
        projection=Schema(SCHEMA.fields[0], IS_DELETED),
        table_schema=SCHEMA,
        residual=bind(parse_where("x >= 97"), SCHEMA),
        deletes=RowDeletes(BitMap64([98])),
    )
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert rows == [{"x": 97, "_deleted": False}, {"x": 98, "_deleted": True}, {"x": 99, "_deleted": False}]
