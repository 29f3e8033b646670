"""Hazard 29 for data files: damaged bytes raise an error of ours that names the file, or read as well-formed batches."""

from __future__ import annotations

import contextlib
import io
import json
import uuid
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.arrow.columns.metrics_config import metrics_config
from floeberg.arrow.formats.open_file import read_file
from floeberg.arrow.formats.write_properties import WriteProperties
from floeberg.arrow.write.conform import conform
from floeberg.arrow.write.data_files import DataFileWriter
from floeberg.effects.system import SystemClock
from floeberg.errors import DataFileCorrupt, FloebergError
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import DATE, INT, LONG, STRING, TIMESTAMP, UUID, ListType, MapType, NestedField, StructType
from floeberg.storage.memory import MemoryStore
from strategies.arrow_rows import table_of

LOCATION = "memory://bucket/data/file"
SCHEMA = Schema(
    NestedField(1, "i", INT),
    NestedField(2, "s", STRING),
    NestedField(3, "l", ListType(4, LONG)),
    NestedField(5, "m", MapType(6, STRING, 7, StructType((NestedField(8, "x", DATE),)))),
    NestedField(9, "u", UUID),
    NestedField(10, "ts", TIMESTAMP),
)
ROWS: list[tuple[Any, ...]] = [
    (i, "abc" * i, [1, None, i], [("k", (i,))], uuid.UUID(int=i), i * 10**6) for i in range(20)
]


def written(file_format: FileFormat) -> tuple[DataFile, bytes]:
    store = MemoryStore(SystemClock())
    writer = DataFileWriter(
        store, LOCATION, SCHEMA, properties=WriteProperties(file_format=file_format), metrics=metrics_config(SCHEMA, {})
    )
    for batch in conform(table_of(ROWS, SCHEMA), SCHEMA):
        writer.write(batch)
    return writer.close(), store.read(LOCATION)


WRITTEN = {file_format: written(file_format) for file_format in (FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO)}


@pytest.mark.parametrize("file_format", list(WRITTEN))
@settings(max_examples=80)
@given(changes=st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes_raise_our_errors_or_read_as_valid_batches(
    file_format: FileFormat, changes: list[tuple[int, int]]
) -> None:
    file, content = WRITTEN[file_format]
    damaged = bytearray(content)
    for at, value in changes:
        # Half of the places lie in the last bytes, where the footers are.
        place = at % len(damaged) if at % 2 else len(damaged) - 1 - at % min(400, len(damaged))
        damaged[place] = value
    store = MemoryStore(SystemClock())
    store.write(LOCATION, bytes(damaged))
    with contextlib.suppress(FloebergError):
        for found in read_file(store, file, SCHEMA):
            found.batch.validate()


def test_a_changed_page_is_noticed_by_its_checksum() -> None:
    file, content = WRITTEN[FileFormat.PARQUET]
    damaged = bytearray(content)
    damaged[60] ^= 0xFF
    store = MemoryStore(SystemClock())
    store.write(LOCATION, bytes(damaged))
    with pytest.raises(DataFileCorrupt, match=LOCATION):
        list(read_file(store, file, SCHEMA))


def read_with_avro_schema(schema: Any) -> None:
    """Reads an Avro file without rows whose header has that schema."""
    sink = io.BytesIO()
    fastavro.writer(sink, {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}, [])
    plain = sink.getvalue()
    text = json.dumps(schema).encode()
    meta = {"avro.schema": text, "avro.codec": b"null"}
    head = io.BytesIO()
    header = {
        "type": "record", "name": "h",
        "fields": [
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "s", "size": 16}},
        ],
    }  # fmt: skip
    fastavro.schemaless_writer(head, header, {"meta": meta, "sync": plain[-16:]})
    store = MemoryStore(SystemClock())
    store.write(LOCATION, b"Obj\x01" + head.getvalue())
    file = DataFile(file_path=LOCATION, file_format=FileFormat.AVRO, record_count=0, file_size_in_bytes=0)
    list(read_file(store, file, SCHEMA))


def _nested(depth: int) -> Any:
    schema: Any = "int"
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return {"type": "record", "name": "r", "fields": [{"name": "a", "type": schema, "field-id": 1}]}


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        "int",
        {"type": "record", "name": "r"},
        {"type": "record", "name": "r", "fields": [{"name": "a", "type": "r", "field-id": 1}]},
        {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["int", "string"], "field-id": 1}]},
        {"type": "record", "name": "r", "fields": [{"name": "a", "type": "nothing", "field-id": 1}]},
        {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int", "field-id": "x"}]},
        {"type": "record", "name": "r", "fields": [{"type": "int", "field-id": 1}]},
        {
            "type": "record",
            "name": "r",
            "fields": [{"name": "a", "type": "int", "field-id": 1}, {"name": "b", "type": "int", "field-id": 1}],
        },
        _nested(150),
    ],
)
def test_avro_schemas_that_no_table_has_are_refused(schema: Any) -> None:
    with pytest.raises(DataFileCorrupt, match=LOCATION):
        read_with_avro_schema(schema)
