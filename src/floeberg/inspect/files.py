"""The tables of files and entries: what the manifests of one snapshot, or of all, hold.

`files` shows live files; `entries` shows the entries themselves, those of deleted files too. The `all_` tables read each
manifest once, but a file that stands in several manifests comes once from each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl
import pyarrow as pa

from floeberg.arrow.columns.types import arrow_schema
from floeberg.inspect.arrays import constant, nulls, partition_array, record_batch, struct_array, to_array
from floeberg.inspect.columns import READABLE_METRICS, data_file_type, entries_schema, files_schema
from floeberg.inspect.readable_metrics import readable_metrics_array
from floeberg.inspect.source import Source
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import EntryStatus, ManifestFile
from floeberg.spec.types import NestedField, StructType


def files_batches(source: Source, manifests: Iterable[ManifestFile]) -> pa.RecordBatchReader:
    """The live files of some manifests, a batch for each manifest."""
    schema = files_schema(source.metadata.current_schema, source.partition_type)

    def batches() -> Iterator[pa.RecordBatch]:
        for manifest, frame in source.frames(manifests, with_metrics=True):
            live = frame.filter(pl.col("status") != EntryStatus.DELETED)
            yield record_batch([*_data_file(source, manifest, live), _readable(source, live, schema)], schema)

    return pa.RecordBatchReader.from_batches(arrow_schema(schema), batches())


def entries_batches(source: Source, manifests: Iterable[ManifestFile]) -> pa.RecordBatchReader:
    """The entries of some manifests, a batch for each manifest."""
    schema = entries_schema(source.metadata.current_schema, source.partition_type)
    data_file = data_file_type(source.partition_type)

    def batches() -> Iterator[pa.RecordBatch]:
        for manifest, frame in source.frames(manifests, with_metrics=True):
            plain = [to_array(frame.get_column(field.name), field.type) for field in schema.fields[:4]]
            file = struct_array(_data_file(source, manifest, frame), data_file.members, frame.height)
            yield record_batch([*plain, file, _readable(source, frame, schema)], schema)

    return pa.RecordBatchReader.from_batches(arrow_schema(schema), batches())


def _data_file(source: Source, manifest: ManifestFile, frame: pl.DataFrame) -> list[pa.Array]:
    return [_column(source, manifest, frame, field) for field in data_file_type(source.partition_type)]


def _column(source: Source, manifest: ManifestFile, frame: pl.DataFrame, field: NestedField) -> pa.Array:
    match field.name:
        case "partition":
            return partition_array(frame, source.partition_type, source.own_partition_type(manifest))
        case "spec_id":
            return constant(manifest.partition_spec_id, field.type, frame.height)
        case "file_format":
            # The reference implementation shows formats in capitals, whatever the manifest holds.
            return to_array(frame.get_column(field.name).str.to_uppercase(), field.type)
    if field.name not in frame.columns:
        return nulls(frame.height, field.type)
    return to_array(frame.get_column(field.name), field.type)


def _readable(source: Source, frame: pl.DataFrame, schema: Schema) -> pa.Array:
    metrics_type = schema.field(READABLE_METRICS).type
    assert isinstance(metrics_type, StructType)
    return readable_metrics_array(frame, source.metadata.current_schema, metrics_type)
