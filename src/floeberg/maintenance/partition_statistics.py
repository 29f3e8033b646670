"""Partition statistics: a file that says what each partition of a snapshot holds.
https://iceberg.apache.org/spec/#partition-statistics-file"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from floeberg.arrow.columns.metrics_config import full_metrics
from floeberg.arrow.columns.physical import array_of
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.write_properties import write_properties
from floeberg.arrow.write.data_files import DataFileWriter
from floeberg.commit.commit import commit_operations
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.table_changes import ChangeStatistics
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.metadata.partition_union import unified_partition_type
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, EntryStatus, FileContent
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.snapshots.statistics import PartitionStatisticsFile
from floeberg.spec.types import IntegerType, LongType, NestedField, StructType
from floeberg.spec.values.single_value import sort_key

_DELETION_VECTORS_VERSION: Final = 3
_COUNTS: Final = (
    "data_record_count", "data_file_count", "total_data_file_size_in_bytes", "position_delete_record_count",
    "position_delete_file_count", "equality_delete_record_count", "equality_delete_file_count", "dv_count",
)  # fmt: skip
_Key = tuple[Any, ...]
"""What partitions are equal by, and sorted by: ascending with nulls first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedPartitionStatistics:
    """The table after its partition statistics were computed; None where it has no snapshot."""

    state: TableState
    file: PartitionStatisticsFile | None = None


class _Partition:
    """What one partition of one spec holds, by the names of the file's columns. The live rows, `total_record_count`, are
    optional, and only known after reading deletes."""

    def __init__(self, partition: tuple[object, ...], spec_id: int) -> None:
        self.columns: dict[str, Any] = {"partition": partition, "spec_id": spec_id, **dict.fromkeys(_COUNTS, 0)}
        self._updated = (-1, -1)

    def count(self, file: DataFile) -> None:
        if file.content is FileContent.DATA:
            self._add("data_record_count", file.record_count)
            self._add("data_file_count", 1)
            self._add("total_data_file_size_in_bytes", file.file_size_in_bytes)
        elif file.content is FileContent.EQUALITY_DELETES:
            self._add("equality_delete_record_count", file.record_count)
            self._add("equality_delete_file_count", 1)
        else:
            self._add("position_delete_record_count", file.record_count)
            self._add("dv_count" if file.is_deletion_vector else "position_delete_file_count", 1)

    def _add(self, name: str, number: int) -> None:
        self.columns[name] += number

    def updated_by(self, snapshot: Snapshot | None) -> None:
        """Notes the snapshot if it is the newest one; two commits may have one millisecond."""
        if snapshot is not None and (at := (snapshot.timestamp_ms, snapshot.sequence_number)) > self._updated:
            self._updated = at
            self.columns["last_updated_at"] = snapshot.timestamp_ms
            self.columns["last_updated_snapshot_id"] = snapshot.snapshot_id


def compute_partition_stats(
    pointer: TablePointer, state: TableState, *, snapshot_id: int | None = None
) -> ComputedPartitionStatistics:
    """Registers what each partition of a snapshot (the current one by default) holds, as its manifests say; no data file is
    read. Raises InvalidInput for an unpartitioned table, SnapshotNotFound."""
    metadata = state.metadata
    partition_type = unified_partition_type(metadata)
    if not partition_type.members:
        raise InvalidInput(f"table {state.identifier} is not partitioned; it has no partition statistics")
    snapshot = choose_snapshot(metadata, snapshot_id=snapshot_id).snapshot
    if snapshot is None:
        return ComputedPartitionStatistics(state=state)
    found = _collected(pointer, metadata, snapshot, partition_type)
    schema = partition_statistics_schema(partition_type, metadata.format_version)
    file = _written(pointer, metadata, snapshot, _rows(found, schema), schema)
    committed = commit_operations(pointer, state, [ChangeStatistics(set_partition=[file])])
    return ComputedPartitionStatistics(state=committed.state, file=file)


def partition_statistics_schema(partition_type: StructType, format_version: int) -> Schema:
    """The columns of the file; counts of deletes are required from version 3 on, which also counts deletion vectors."""
    newer = format_version >= _DELETION_VECTORS_VERSION
    long, integer = LongType(), IntegerType()
    fields = [
        NestedField(1, "partition", partition_type, required=True),
        NestedField(2, "spec_id", integer, required=True),
        NestedField(3, "data_record_count", long, required=True),
        NestedField(4, "data_file_count", integer, required=True),
        NestedField(5, "total_data_file_size_in_bytes", long, required=True),
        NestedField(6, "position_delete_record_count", long, required=newer),
        NestedField(7, "position_delete_file_count", integer, required=newer),
        NestedField(8, "equality_delete_record_count", long, required=newer),
        NestedField(9, "equality_delete_file_count", integer, required=newer),
        NestedField(10, "total_record_count", long),
        NestedField(11, "last_updated_at", long),
        NestedField(12, "last_updated_snapshot_id", long),
    ]
    return Schema(*fields, *([NestedField(13, "dv_count", integer, required=True)] if newer else []))


def _collected(
    pointer: TablePointer, metadata: TableMetadata, snapshot: Snapshot, partition_type: StructType
) -> dict[_Key, _Partition]:
    workspace = Workspace(pointer)
    found: dict[_Key, _Partition] = {}
    removed: list[tuple[_Key, Snapshot | None]] = []
    for manifest in workspace.manifests(snapshot, metadata):
        spec_id = manifest.partition_spec_id
        own = {member.field_id: at for at, member in enumerate(partition_type_of(metadata, spec_id))}
        places = [own.get(member.field_id) for member in partition_type]
        for entry in workspace.entries(manifest, metadata):
            values = entry.data_file.partition
            partition = tuple(None if at is None else values[at] for at in places)
            key = _key(partition, spec_id, partition_type)
            by = None if entry.snapshot_id is None else metadata.find_snapshot(entry.snapshot_id)
            if entry.status is EntryStatus.DELETED:
                removed.append((key, by))
                continue
            counted = found.setdefault(key, _Partition(partition, spec_id))
            counted.count(entry.data_file)
            counted.updated_by(by)
    for key, by in removed:
        if key in found:
            found[key].updated_by(by)
    return found


def _key(partition: tuple[object, ...], spec_id: int, partition_type: StructType) -> _Key:
    known = (
        (value is not None, None if value is None else sort_key(member.type, value))
        for member, value in zip(partition_type, partition, strict=True)
    )
    return (*known, spec_id)


def _rows(found: Mapping[_Key, _Partition], schema: Schema) -> pa.Table:
    ordered = [found[key] for key in sorted(found)]
    arrays = [array_of([one.columns.get(column.name) for one in ordered], column.type) for column in schema.fields]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(schema))


def _written(
    pointer: TablePointer, metadata: TableMetadata, snapshot: Snapshot, rows: pa.Table, schema: Schema
) -> PartitionStatisticsFile:
    properties = write_properties(metadata.properties)
    name = f"partition-stats-{snapshot.snapshot_id}-{pointer.effects.ids.uuid()}.{properties.file_format}"
    location = Workspace(pointer).metadata_location(metadata, name)
    writer = DataFileWriter(
        pointer.store_for(location), location, schema, properties=properties, metrics=full_metrics(schema)
    )
    for batch in rows.to_batches():
        writer.write(batch)
    written = writer.close()
    return PartitionStatisticsFile(
        snapshot_id=snapshot.snapshot_id,
        statistics_path=location,
        file_size_in_bytes=written.file_size_in_bytes,
    )
