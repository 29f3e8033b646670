"""The `position_deletes` table: the deletes by position that apply to a snapshot, from delete files and vectors alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from floeberg.arrow.columns.physical import repeat
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.open_file import read_file
from floeberg.arrow.scan.deletes import read_deletion_vector
from floeberg.errors import ManifestCorrupt
from floeberg.files.manifest import entries
from floeberg.inspect.arrays import nulls, partition_array, record_batch
from floeberg.inspect.source import Source
from floeberg.spec.schemas.metadata_columns import (
    DELETE_FILE_PATH,
    DELETE_FILE_POS,
    DELETE_FILE_ROW_ID,
    DELETE_FILE_ROW_NAME,
    FILE_PATH,
    SPEC_ID,
)
from floeberg.spec.schemas.metadata_columns import PARTITION_ID as PARTITION_COLUMN_ID
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, EntryStatus, FileContent, ManifestContent
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.types import INT, LONG, STRING, NestedField, StructType

CONTENT_OFFSET_ID: Final = 2147483641
CONTENT_SIZE_ID: Final = 2147483640
BATCH_ROWS: Final = 65_536


def position_deletes_schema(source: Source) -> Schema:
    """The columns: `partition` only in a partitioned table, where a vector lies only from v3 on."""
    partition = (NestedField(PARTITION_COLUMN_ID, "partition", source.partition_type, required=True),)
    vector = (
        NestedField(CONTENT_OFFSET_ID, "content_offset", LONG, doc="Where the deletion vector starts in the file"),
        NestedField(CONTENT_SIZE_ID, "content_size_in_bytes", LONG, doc="Length in bytes of the deletion vector"),
    )
    return Schema(
        DELETE_FILE_PATH,
        DELETE_FILE_POS,
        NestedField(
            DELETE_FILE_ROW_ID,
            DELETE_FILE_ROW_NAME,
            _row_type(source.metadata.current_schema),
            doc="Deleted row values",
        ),
        *(partition if len(source.partition_type) else ()),
        NestedField(SPEC_ID.field_id, "spec_id", INT, required=True),
        NestedField(FILE_PATH.field_id, "delete_file_path", STRING, required=True),
        *(vector if source.metadata.format_version >= 3 else ()),
    )


def position_deletes_batches(source: Source, snapshot: Snapshot | None) -> pa.RecordBatchReader:
    """The deleted positions, file by file; `row` only where a file has that deprecated column.

    Raises DataFileCorrupt, PuffinCorrupt, FileNotFound for a delete file that cannot be read.
    """
    schema = position_deletes_schema(source)

    def batches() -> Iterator[pa.RecordBatch]:
        for file, partition in _delete_files(source, snapshot):
            for paths, positions, rows in _positions(source, file, schema):
                yield _batch(schema, file, partition, [paths, positions, rows])

    return pa.RecordBatchReader.from_batches(arrow_schema(schema), batches())


def _row_type(schema: Schema) -> StructType:
    """The table's columns, none required: a writer put into `row` what it had."""
    return StructType(tuple(replace(field, required=False) for field in schema.fields))


def _delete_files(source: Source, snapshot: Snapshot | None) -> Iterator[tuple[DataFile, pa.Array]]:
    """The live position delete files and vectors, each with its partition tuple as an array of one."""
    of_position = (pl.col("status") != EntryStatus.DELETED) & (pl.col("content") == FileContent.POSITION_DELETES)
    manifests = source.manifests(snapshot, ManifestContent.DELETES)
    for manifest, frame in source.frames(manifests, with_metrics=True):
        live = frame.filter(of_position)
        own = source.own_partition_type(manifest)
        tuples = partition_array(live, source.partition_type, own)
        spec = source.reader.spec(manifest)
        for at, entry in enumerate(entries(live, source.reader.partition_type(spec))):
            yield entry.data_file, tuples.slice(at, 1)


def _positions(source: Source, file: DataFile, schema: Schema) -> Iterator[tuple[pa.Array, pa.Array, pa.Array]]:
    """Path, position and row of each delete."""
    row = schema.field("row")
    if not file.is_deletion_vector:
        stored = Schema(DELETE_FILE_PATH, DELETE_FILE_POS, row)
        for found in read_file(source.store_for(file.file_path), file, stored):
            yield found.batch.column(0), found.batch.column(1), found.batch.column(2)
        return
    if file.referenced_data_file is None or file.content_offset is None or file.content_size_in_bytes is None:
        raise ManifestCorrupt(
            f"the deletion vector in {file.file_path} lacks the data file it is for, or its place in the file",
            location=file.file_path,
        )
    bitmap = read_deletion_vector(source.store_for(file.file_path), file)
    positions = np.frombuffer(bitmap.to_array(), dtype=np.uint64).astype(np.int64)
    for start in range(0, len(positions), BATCH_ROWS):
        part = positions[start : start + BATCH_ROWS]
        paths = repeat(file.referenced_data_file, STRING, len(part))
        yield paths, pa.array(part), nulls(len(part), row.type)


def _batch(schema: Schema, file: DataFile, partition: pa.Array, deletes: list[pa.Array]) -> pa.RecordBatch:
    length = len(deletes[0])
    of_file: dict[str, object] = {
        "spec_id": file.spec_id,
        "delete_file_path": file.file_path,
        "content_offset": file.content_offset if file.is_deletion_vector else None,
        "content_size_in_bytes": file.content_size_in_bytes if file.is_deletion_vector else None,
    }
    for field in schema.fields[3:]:
        if field.name == "partition":
            deletes.append(partition.take(pa.array(np.zeros(length, dtype=np.int64))))
        else:
            deletes.append(repeat(of_file[field.name], field.type, length))
    return record_batch(deletes, schema)
