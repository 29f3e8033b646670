"""Avro data files read the same under every writer schema that Avro's resolution rules allow."""

from __future__ import annotations

import random
import uuid
from typing import Any

import pyarrow as pa
import pytest

from floeberg.arrow.columns.metrics_config import metrics_config
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.open_file import read_file
from floeberg.arrow.formats.write_properties import WriteProperties
from floeberg.arrow.write.conform import conform
from floeberg.arrow.write.data_files import DataFileWriter
from floeberg.effects.leniencies import gathered_leniencies
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
    TIMESTAMP,
    UUID,
    DecimalType,
    ListType,
    MapType,
    NestedField,
    StructType,
)
from floeberg.storage.memory import MemoryStore
from strategies.arrow_rows import table_of
from strategies.avro_variations import vary_container

LOCATION = "memory://bucket/data/file.avro"
SCHEMA = Schema(
    NestedField(1, "i", INT),
    NestedField(2, "s", STRING),
    NestedField(3, "l", ListType(4, LONG)),
    NestedField(5, "m", MapType(6, INT, 7, StructType((NestedField(8, "x", DATE), NestedField(11, "y", DOUBLE))))),
    NestedField(9, "u", UUID),
    NestedField(10, "ts", TIMESTAMP),
    NestedField(12, "st", StructType((NestedField(13, "b", BINARY), NestedField(14, "d", DecimalType(9, 2))))),
)


def random_row(rng: random.Random, number: int) -> tuple[Any, ...]:
    row: tuple[Any, ...] = (
        number, "é" * number, [1, None, 2**40], [(number, (number, 0.5)), (-1, None)], uuid.UUID(int=number),
        number * 10**6, (rng.choice((None, b"text", b"\xff")), None),
    )  # fmt: skip
    return tuple(None if rng.random() < 0.1 else value for value in row)


def put(store: MemoryStore, data: bytes, rows: int) -> DataFile:
    store.write(LOCATION, data)
    return DataFile(file_path=LOCATION, file_format=FileFormat.AVRO, record_count=rows, file_size_in_bytes=len(data))


def read(store: MemoryStore, file: DataFile) -> pa.Table:
    with gathered_leniencies():
        batches = [found.batch for found in read_file(store, file, SCHEMA)]
    return pa.Table.from_batches(batches, schema=arrow_schema(SCHEMA))


@pytest.mark.parametrize("seed", range(120))
def test_a_data_file_reads_the_same_under_another_writer_schema(seed: int) -> None:
    rng = random.Random(seed)
    store = MemoryStore(SystemClock())
    properties = WriteProperties(file_format=FileFormat.AVRO)
    writer = DataFileWriter(store, LOCATION, SCHEMA, properties=properties, metrics=metrics_config(SCHEMA, {}))
    rows = [random_row(rng, number) for number in range(rng.randint(1, 4))]
    for batch in conform(table_of(rows, SCHEMA), SCHEMA):
        writer.write(batch)
    file = writer.close()
    expected = read(store, file)
    varied = vary_container(store.read(LOCATION), rng)
    assert read(store, put(store, varied, len(rows))) == expected
