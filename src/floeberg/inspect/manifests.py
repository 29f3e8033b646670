"""The tables of manifests: those of one snapshot, or those of each snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from floeberg.arrow.columns.physical import array_of
from floeberg.arrow.columns.types import arrow_schema
from floeberg.errors import MetadataCorrupt
from floeberg.inspect.arrays import long
from floeberg.inspect.columns import ALL_MANIFESTS, MANIFESTS
from floeberg.inspect.source import Source
from floeberg.spec.partitions.specs import PartitionField
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import ManifestContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.types import IcebergType
from floeberg.spec.values.single_value import from_bytes

Row = tuple[object, ...]


def manifests_table(source: Source, snapshot: Snapshot | None) -> pa.Table:
    """The manifests of a snapshot."""
    rows = [(*_row(source, manifest), manifest.key_metadata) for manifest in source.manifests(snapshot)]
    return pa.Table.from_batches([_batch(rows, MANIFESTS)], schema=arrow_schema(MANIFESTS))


def all_manifests_batches(source: Source) -> pa.RecordBatchReader:
    """The manifests of every snapshot, a batch for each snapshot: a manifest comes once for each that refers to it."""

    def batches() -> Iterator[pa.RecordBatch]:
        for snapshot in source.metadata.snapshots:
            reference = long(snapshot.snapshot_id)
            rows = [(*_row(source, m), reference, m.key_metadata) for m in source.manifests(snapshot)]
            yield _batch(rows, ALL_MANIFESTS)

    return pa.RecordBatchReader.from_batches(arrow_schema(ALL_MANIFESTS), batches())


def _batch(rows: Sequence[Row], schema: Schema) -> pa.RecordBatch:
    arrays = [array_of([row[at] for row in rows], field.type) for at, field in enumerate(schema.fields)]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))


def _row(source: Source, manifest: ManifestFile) -> Row:
    counts = (manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count)
    none = (0, 0, 0)
    is_data = manifest.content is ManifestContent.DATA
    return (
        int(manifest.content),
        manifest.manifest_path,
        manifest.manifest_length,
        manifest.partition_spec_id,
        manifest.added_snapshot_id,
        *(counts if is_data else none),
        *(none if is_data else counts),
        _summaries(source, manifest),
    )


def _summaries(source: Source, manifest: ManifestFile) -> list[Row] | None:
    if manifest.partitions is None:
        return None
    spec = source.reader.spec(manifest)
    members = source.reader.partition_type(spec).members
    return [
        (
            summary.contains_null,
            summary.contains_nan,
            _bound(field, member.type, summary.lower_bound),
            _bound(field, member.type, summary.upper_bound),
        )
        # A list that describes another number of fields than the spec has says nothing certain of the rest.
        for summary, field, member in zip(manifest.partitions, spec.fields, members, strict=False)
    ]


def _bound(field: PartitionField, data_type: IcebergType, bound: bytes | None) -> str | None:
    if bound is None:
        return None
    try:
        return field.transform.to_human_string(data_type, from_bytes(data_type, bound))
    except MetadataCorrupt:
        return None  # the bytes are no value of the field's type; `check` reports them
