"""The columns of the metadata tables: names, types and field ids as the reference implementation has them."""

from __future__ import annotations

from typing import Final

from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    INT,
    LONG,
    STRING,
    TIMESTAMPTZ,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    VariantType,
)

HISTORY: Final = Schema(
    NestedField(1, "made_current_at", TIMESTAMPTZ, required=True),
    NestedField(2, "snapshot_id", LONG, required=True),
    NestedField(3, "parent_id", LONG),
    NestedField(4, "is_current_ancestor", BOOLEAN, required=True),
)

METADATA_LOG_ENTRIES: Final = Schema(
    NestedField(1, "timestamp", TIMESTAMPTZ, required=True),
    NestedField(2, "file", STRING, required=True),
    NestedField(3, "latest_snapshot_id", LONG),
    NestedField(4, "latest_schema_id", INT),
    NestedField(5, "latest_sequence_number", LONG),
)

SNAPSHOTS: Final = Schema(
    NestedField(1, "committed_at", TIMESTAMPTZ, required=True),
    NestedField(2, "snapshot_id", LONG, required=True),
    NestedField(3, "parent_id", LONG),
    NestedField(4, "operation", STRING),
    NestedField(5, "manifest_list", STRING),
    NestedField(6, "summary", MapType(7, STRING, 8, STRING, value_required=True)),
)

REFS: Final = Schema(
    NestedField(1, "name", STRING, required=True),
    NestedField(2, "type", STRING, required=True),
    NestedField(3, "snapshot_id", LONG, required=True),
    NestedField(4, "max_reference_age_in_ms", LONG),
    NestedField(5, "min_snapshots_to_keep", INT),
    NestedField(6, "max_snapshot_age_in_ms", LONG),
)

_SUMMARY: Final = StructType(
    (
        NestedField(10, "contains_null", BOOLEAN, required=True),
        NestedField(11, "contains_nan", BOOLEAN),
        NestedField(12, "lower_bound", STRING),
        NestedField(13, "upper_bound", STRING),
    )
)
# Lists of v1 leave counts and summaries out, so that what the reference calls required is optional here.
_MANIFEST: Final = (
    NestedField(14, "content", INT, required=True),
    NestedField(1, "path", STRING, required=True),
    NestedField(2, "length", LONG, required=True),
    NestedField(3, "partition_spec_id", INT, required=True),
    NestedField(4, "added_snapshot_id", LONG),
    NestedField(5, "added_data_files_count", INT),
    NestedField(6, "existing_data_files_count", INT),
    NestedField(7, "deleted_data_files_count", INT),
    NestedField(15, "added_delete_files_count", INT),
    NestedField(16, "existing_delete_files_count", INT),
    NestedField(17, "deleted_delete_files_count", INT),
    NestedField(8, "partition_summaries", ListType(9, _SUMMARY, element_required=True)),
)
_REFERENCE_SNAPSHOT: Final = NestedField(18, "reference_snapshot_id", LONG, required=True)
_MANIFEST_KEY: Final = NestedField(19, "key_metadata", BINARY)
MANIFESTS: Final = Schema(*_MANIFEST, _MANIFEST_KEY)
ALL_MANIFESTS: Final = Schema(*_MANIFEST, _REFERENCE_SNAPSHOT, _MANIFEST_KEY)


def _map(field_id: int, name: str, key_id: int, value_type: IcebergType, doc: str) -> NestedField:
    return NestedField(field_id, name, MapType(key_id, INT, key_id + 1, value_type, value_required=True), doc=doc)


PARTITION_ID: Final = 102
_BEFORE_PARTITION: Final = (
    NestedField(134, "content", INT, doc="Contents of the file: 0=data, 1=position deletes, 2=equality deletes"),
    NestedField(100, "file_path", STRING, required=True, doc="Location URI with FS scheme"),
    NestedField(101, "file_format", STRING, required=True, doc="File format name: avro, orc, parquet or puffin"),
    NestedField(141, "spec_id", INT, doc="Partition spec ID"),
)
_AFTER_PARTITION: Final = (
    NestedField(103, "record_count", LONG, required=True, doc="Number of records in the file"),
    NestedField(104, "file_size_in_bytes", LONG, required=True, doc="Total file size in bytes"),
    _map(108, "column_sizes", 117, LONG, "Map of column id to total size on disk"),
    _map(109, "value_counts", 119, LONG, "Map of column id to total count, including null and NaN"),
    _map(110, "null_value_counts", 121, LONG, "Map of column id to null value count"),
    _map(137, "nan_value_counts", 138, LONG, "Map of column id to number of NaN values in the column"),
    _map(125, "lower_bounds", 126, BINARY, "Map of column id to lower bound"),
    _map(128, "upper_bounds", 129, BINARY, "Map of column id to upper bound"),
    NestedField(131, "key_metadata", BINARY, doc="Encryption key metadata blob"),
    NestedField(132, "split_offsets", ListType(133, LONG, element_required=True), doc="Splittable offsets"),
    NestedField(135, "equality_ids", ListType(136, INT, element_required=True), doc="Equality comparison field IDs"),
    NestedField(140, "sort_order_id", INT, doc="Sort order ID"),
    NestedField(142, "first_row_id", LONG, doc="Row ID of the first row in the data file"),
    NestedField(143, "referenced_data_file", STRING, doc="The one data file that all deletes reference"),
    NestedField(144, "content_offset", LONG, doc="Where the content starts in the file"),
    NestedField(145, "content_size_in_bytes", LONG, doc="Length of the content in the file"),
)

READABLE_METRICS: Final = "readable_metrics"


def data_file_type(partition_type: StructType) -> StructType:
    """The `data_file` of entries, and the columns of the files tables. An unpartitioned table has no `partition`."""
    partition = (NestedField(PARTITION_ID, "partition", partition_type, required=True, doc="Partition tuple"),)
    return StructType((*_BEFORE_PARTITION, *(partition if len(partition_type) else ()), *_AFTER_PARTITION))


def metric_columns(schema: Schema) -> dict[str, NestedField]:
    """The columns that have metrics, by full name, in the order of `readable_metrics`."""
    primitive = {
        name: schema.by_id[field_id]
        for field_id, name in schema.names.items()
        if schema.by_id[field_id].type.is_primitive and not isinstance(schema.by_id[field_id].type, VariantType)
    }
    return dict(sorted(primitive.items()))


def readable_metrics_field(schema: Schema, *, above: int) -> NestedField:
    """`readable_metrics` of a table schema, its field ids above those of the metadata table."""
    next_id = above
    members: list[NestedField] = []
    for name, column in metric_columns(schema).items():
        first = next_id + 1
        kinds = (*(("column_size", LONG), ("value_count", LONG), ("null_value_count", LONG)),
                 ("nan_value_count", LONG), ("lower_bound", column.type), ("upper_bound", column.type))  # fmt: skip
        metrics = StructType(
            tuple(NestedField(first + 1 + at, kind, data_type) for at, (kind, data_type) in enumerate(kinds))
        )
        members.append(NestedField(first, name, metrics, doc=f"Metrics for column {name}"))
        next_id = first + len(kinds)
    kind = StructType(tuple(members))
    return NestedField(next_id + 1, READABLE_METRICS, kind, doc="Column metrics in readable form")


def files_schema(table_schema: Schema, partition_type: StructType) -> Schema:
    """The columns of `files` and its kin."""
    fields = data_file_type(partition_type).members
    return Schema(*fields, readable_metrics_field(table_schema, above=_highest(fields)))


def entries_schema(table_schema: Schema, partition_type: StructType) -> Schema:
    """The columns of `entries` and `all_entries`."""
    fields = (
        NestedField(0, "status", INT, required=True),
        NestedField(1, "snapshot_id", LONG),
        NestedField(3, "sequence_number", LONG),
        NestedField(4, "file_sequence_number", LONG),
        NestedField(2, "data_file", data_file_type(partition_type), required=True),
    )
    return Schema(*fields, readable_metrics_field(table_schema, above=_highest(fields)))


_PARTITION_COUNTS: Final = (
    NestedField(2, "record_count", LONG, required=True, doc="Count of records in data files"),
    NestedField(3, "file_count", INT, required=True, doc="Count of data files"),
    NestedField(11, "total_data_file_size_in_bytes", LONG, required=True, doc="Total size in bytes of data files"),
    NestedField(5, "position_delete_record_count", LONG, required=True, doc="Records in position delete files"),
    NestedField(6, "position_delete_file_count", INT, required=True, doc="Count of position delete files"),
    NestedField(7, "equality_delete_record_count", LONG, required=True, doc="Records in equality delete files"),
    NestedField(8, "equality_delete_file_count", INT, required=True, doc="Count of equality delete files"),
    NestedField(9, "last_updated_at", TIMESTAMPTZ, doc="Commit time of the snapshot that last updated this partition"),
    NestedField(10, "last_updated_snapshot_id", LONG, doc="Id of the snapshot that last updated this partition"),
)


def partitions_schema(partition_type: StructType) -> Schema:
    """The columns of `partitions`; without `partition` and `spec_id` for a table that never was partitioned."""
    if not len(partition_type):
        return Schema(*_PARTITION_COUNTS)
    partition = NestedField(1, "partition", partition_type, required=True)
    return Schema(partition, NestedField(4, "spec_id", INT, required=True), *_PARTITION_COUNTS)


def _highest(fields: tuple[NestedField, ...]) -> int:
    return Schema(*fields).highest_field_id
