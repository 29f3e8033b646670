"""Files of other writers, described for being added to a table: what their footers say is never too tight."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.arrow.columns.metrics_config import metrics_config
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.import_file import describe_file
from floeberg.arrow.formats.write_properties import WriteProperties
from floeberg.arrow.write.conform import conform
from floeberg.arrow.write.data_files import DataFileWriter
from floeberg.effects.system import SystemClock
from floeberg.errors import DataFileCorrupt
from floeberg.expr.evaluate import keeps
from floeberg.expr.metrics_eval import may_contain_match, must_all_match
from floeberg.spec.schemas.metadata_columns import ROW_ID
from floeberg.spec.schemas.name_mapping import create_name_mapping
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import INT, LONG, STRING, NestedField
from floeberg.storage.memory import MemoryStore
from strategies.arrow_rows import expressions, flat_schemas, table_of, tables

LOCATION = "memory://bucket/imported"


def put(table: pa.Table, **options: Any) -> MemoryStore:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    store = MemoryStore(SystemClock())
    store.write(LOCATION, sink.getvalue())
    return store


def describe(store: MemoryStore, schema: Schema, file_format: FileFormat = FileFormat.PARQUET) -> DataFile:
    return describe_file(
        store, LOCATION, file_format, schema=schema, metrics=metrics_config(schema, {}),
        name_mapping=create_name_mapping(schema),
    ).data_file  # fmt: skip


@settings(max_examples=60)
@given(data=st.data())
def test_pruning_by_a_footer_never_loses_a_row(data: st.DataObject) -> None:
    schema = data.draw(flat_schemas(max_columns=2))
    rows, table = data.draw(tables(schema, max_rows=8))
    bare = table.cast(pa.schema([field.remove_metadata().with_nullable(True) for field in arrow_schema(schema)]))
    file = describe(put(bare, row_group_size=data.draw(st.integers(1, 4))), schema)
    assert file.record_count == len(rows)
    expression = data.draw(expressions(schema, rows))
    kept = [keeps(expression, row) for row in rows]
    assert may_contain_match(expression, file) or not any(kept), str(expression)
    assert all(kept) or not must_all_match(expression, file), str(expression)


SCHEMA = Schema(NestedField(1, "x", LONG), NestedField(2, "s", STRING))


def test_bounds_are_shortened_and_offsets_and_sizes_are_there() -> None:
    table = pa.table({"x": pa.array(range(10), pa.int64()), "s": ["z" * 40] * 9 + [None]})
    file = describe(put(table, row_group_size=5), SCHEMA)
    assert (file.value_counts, file.null_value_counts) == ({1: 10, 2: 10}, {1: 0, 2: 1})
    assert file.lower_bounds == {1: bytes(8), 2: b"z" * 16}
    assert file.upper_bounds == {1: (9).to_bytes(8, "little"), 2: b"z" * 15 + b"{"}
    assert len(file.split_offsets or ()) == 2
    assert set(file.column_sizes or ()) == {1, 2}


def test_a_footer_without_statistics_proves_nothing() -> None:
    file = describe(put(pa.table({"x": [1], "s": ["a"]}), write_statistics=False), SCHEMA)
    assert (file.lower_bounds, file.upper_bounds, file.null_value_counts) == ({}, {}, {})
    assert file.record_count == 1


def test_a_file_that_could_not_be_read_is_refused_when_it_is_added() -> None:
    with pytest.raises(DataFileCorrupt, match="column 'x' is string"):
        describe(put(pa.table({"x": ["a"], "s": ["a"]})), SCHEMA)
    required = Schema(NestedField(1, "x", LONG), NestedField(3, "y", INT, required=True))
    with pytest.raises(DataFileCorrupt, match="lacks the required column 'y'"):
        describe(put(pa.table({"x": [1]})), required)


def test_a_file_with_another_table_s_row_ids_is_refused() -> None:
    schema = Schema(NestedField(1, "x", LONG), ROW_ID)
    table = pa.table([pa.array([1]), pa.array([7])], schema=arrow_schema(schema))
    with pytest.raises(DataFileCorrupt, match="_row_id"):
        describe(put(table), SCHEMA)


@pytest.mark.parametrize("file_format", [FileFormat.ORC, FileFormat.AVRO])
def test_other_formats_are_measured_by_their_rows(file_format: FileFormat) -> None:
    store = MemoryStore(SystemClock())
    properties = WriteProperties(file_format=file_format)
    writer = DataFileWriter(store, LOCATION, SCHEMA, properties=properties, metrics=metrics_config(SCHEMA, {}))
    for batch in conform(table_of([(1, "a"), (None, "b")], SCHEMA), SCHEMA):
        writer.write(batch)
    written = writer.close()
    file = describe(store, SCHEMA, file_format)
    assert (file.record_count, file.lower_bounds, file.null_value_counts) == (
        2, written.lower_bounds, written.null_value_counts,
    )  # fmt: skip
