"""Table metadata for tests: minimal documents of each version, and random updates."""

from __future__ import annotations

import copy

from hypothesis import strategies as st

from floeberg.spec.changes import updates as u
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.view_versions import ViewRepresentation, ViewVersion
from floeberg.spec.partitions.sort_orders import NullOrder, SortDirection, SortField, SortOrder
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import BucketTransform, IdentityTransform
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.refs import RefType, SnapshotRef
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.snapshots.statistics import BlobMetadata, EncryptedKey, PartitionStatisticsFile, StatisticsFile
from floeberg.spec.types import LONG, STRING, NestedField

UUID = "9c12d441-03fe-4693-9a96-a0705ddf69c1"
SCHEMA = Schema(NestedField(1, "id", LONG, required=True), NestedField(2, "data", STRING))
SPEC = PartitionSpec(0, (PartitionField((1,), 1000, "id_bucket", BucketTransform(16)),))
ORDER = SortOrder(1, (SortField((1,), IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_LAST),))
NOW_MS = 1_700_000_000_000

_SCHEMA_JSON = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "id", "required": True, "type": "long"}],
}
_SNAPSHOT_V1 = {
    "snapshot-id": 11,
    "timestamp-ms": NOW_MS,
    "manifest-list": "s3://b/t/metadata/snap-11.avro",
    "summary": {"operation": "append", "added-records": "3"},
    "schema-id": 0,
}


def document(version: int) -> dict[str, object]:
    """Metadata with one snapshot and every field that the specification's table has for the version."""
    snapshot = dict(_SNAPSHOT_V1)
    result: dict[str, object] = {
        "format-version": version,
        "table-uuid": UUID,
        "location": "s3://b/t",
        "last-updated-ms": NOW_MS,
        "last-column-id": 1,
        "schemas": [_SCHEMA_JSON],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0,
        "last-partition-id": 999,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": {"owner": "me"},
        "current-snapshot-id": 11,
        "snapshots": [snapshot],
        "snapshot-log": [{"timestamp-ms": NOW_MS, "snapshot-id": 11}],
        "metadata-log": [{"timestamp-ms": NOW_MS - 5, "metadata-file": "s3://b/t/metadata/v1.metadata.json"}],
        "refs": {"main": {"snapshot-id": 11, "type": "branch"}},
        "statistics": [],
        "partition-statistics": [],
    }
    if version == 1:
        result |= {"schema": _SCHEMA_JSON, "partition-spec": []}
    else:
        result["last-sequence-number"] = 1
        snapshot["sequence-number"] = 1
    if version == 3:
        result["next-row-id"] = 3
        result["encryption-keys"] = [{"key-id": "k1", "encrypted-key-metadata": "aWNlYmVyZwo="}]
        snapshot |= {"first-row-id": 0, "added-rows": 3, "key-id": "k1"}
    return copy.deepcopy(result)


def new_table(version: int = 2, **properties: str) -> TableMetadata:
    """A table without snapshots, made by updates."""
    updates = u.create_table_updates(
        table_uuid=UUID, location="s3://b/t", schema=SCHEMA, properties=properties, format_version=version
    )
    return apply_updates(None, updates, now_ms=NOW_MS)


def next_snapshot(
    metadata: TableMetadata,
    snapshot_id: int,
    *,
    timestamp_ms: int = NOW_MS,
    rows: int = 1,
    parent: int | None = None,
) -> Snapshot:
    """A snapshot as a writer makes it on the table as it is."""
    lineage = metadata.format_version >= 3
    return Snapshot(
        snapshot_id=snapshot_id,
        parent_snapshot_id=metadata.current_snapshot_id if parent is None else parent,
        sequence_number=metadata.next_sequence_number,
        timestamp_ms=timestamp_ms,
        manifest_list=f"s3://b/t/metadata/snap-{snapshot_id}.avro",
        operation="append",
        summary={"added-records": str(rows)},
        schema_id=metadata.current_schema_id,
        first_row_id=metadata.next_row_id if lineage else None,
        added_rows=rows if lineage else None,
    )


def set_branch_snapshot(
    snapshot: Snapshot, branch: str = "main", *, ref: SnapshotRef | None = None
) -> tuple[u.MetadataUpdate, ...]:
    """The updates that add a snapshot and move a branch to it; `ref` is the branch as it is, whose retention stays."""
    moved = SnapshotRef(snapshot_id=snapshot.snapshot_id) if ref is None else ref.at(snapshot.snapshot_id)
    return u.AddSnapshot(snapshot), u.SetSnapshotRef(branch, moved)


def committed(metadata: TableMetadata, snapshot_id: int, *, now_ms: int = NOW_MS, rows: int = 1) -> TableMetadata:
    """The table after one more append to main at that time."""
    snapshot = next_snapshot(metadata, snapshot_id, timestamp_ms=now_ms, rows=rows)
    updates = set_branch_snapshot(snapshot, ref=metadata.find_ref("main"))
    return apply_updates(metadata, updates, now_ms=now_ms, base_metadata_location=f"v{snapshot_id}.metadata.json")


ids = st.integers(0, 2**63 - 1)
int_ids = st.integers(0, 2**31 - 1)
texts = st.text(max_size=12)
names = st.text(min_size=1, max_size=12)
text_maps = st.dictionaries(texts, texts, max_size=3)
positive = st.none() | st.integers(1, 2**31 - 1)

snapshots = st.builds(
    Snapshot,
    snapshot_id=ids,
    parent_snapshot_id=st.none() | ids,
    sequence_number=ids,
    timestamp_ms=ids,
    manifest_list=texts,
    operation=names,
    summary=st.dictionaries(texts.filter(lambda key: key != "operation"), texts, max_size=3),
    schema_id=st.none() | int_ids,
    first_row_id=st.none() | ids,
    added_rows=st.none() | ids,
    key_id=st.none() | texts,
    extra=st.dictionaries(st.sampled_from(["x-new", "future"]), st.integers() | texts, max_size=2),
)
refs = st.builds(
    SnapshotRef,
    snapshot_id=ids,
    min_snapshots_to_keep=positive,
    max_snapshot_age_ms=positive,
    max_ref_age_ms=positive,
) | st.builds(SnapshotRef, snapshot_id=ids, type=st.just(RefType.TAG), max_ref_age_ms=positive)
statistics_files = st.builds(
    StatisticsFile,
    snapshot_id=ids,
    statistics_path=texts,
    file_size_in_bytes=ids,
    file_footer_size_in_bytes=ids,
    blob_metadata=st.lists(
        st.builds(
            BlobMetadata,
            type=texts,
            snapshot_id=ids,
            sequence_number=ids,
            fields=st.lists(int_ids, max_size=3).map(tuple),
            properties=text_maps,
        ),
        max_size=2,
    ).map(tuple),
    key_metadata=st.none() | texts,
)
partition_statistics_files = st.builds(
    PartitionStatisticsFile, snapshot_id=ids, statistics_path=texts, file_size_in_bytes=ids
)
encrypted_keys = st.builds(
    EncryptedKey,
    key_id=texts,
    encrypted_key_metadata=st.binary(max_size=16),
    encrypted_by_id=st.none() | texts,
    properties=text_maps,
)
view_versions = st.builds(
    ViewVersion,
    version_id=int_ids,
    schema_id=int_ids,
    timestamp_ms=ids,
    summary=text_maps,
    representations=st.lists(st.builds(ViewRepresentation, sql=texts, dialect=texts), max_size=2).map(tuple),
    default_catalog=st.none() | texts,
    default_namespace=st.lists(texts, max_size=2).map(tuple),
)
id_tuples = st.lists(int_ids, max_size=3).map(tuple)

updates = st.one_of(
    st.builds(u.AssignUuid, texts),
    st.builds(u.UpgradeFormatVersion, int_ids),
    st.builds(u.AddSchema, st.sampled_from([SCHEMA, SCHEMA.with_id(7)])),
    st.builds(u.SetCurrentSchema, st.integers(-1, 9)),
    st.builds(u.AddPartitionSpec, st.sampled_from([SPEC, PartitionSpec(3)])),
    st.builds(u.SetDefaultSpec, st.integers(-1, 9)),
    st.builds(u.AddSortOrder, st.sampled_from([ORDER, SortOrder(0)])),
    st.builds(u.SetDefaultSortOrder, st.integers(-1, 9)),
    st.builds(u.AddSnapshot, snapshots),
    st.builds(u.SetSnapshotRef, names, refs),
    st.builds(u.RemoveSnapshots, st.lists(ids, max_size=3).map(tuple)),
    st.builds(u.RemoveSnapshotRef, names),
    st.builds(u.SetLocation, texts),
    st.builds(u.SetProperties, text_maps),
    st.builds(u.RemoveProperties, st.lists(texts, max_size=3).map(tuple)),
    st.builds(u.SetStatistics, statistics_files),
    st.builds(u.RemoveStatistics, ids),
    st.builds(u.SetPartitionStatistics, partition_statistics_files),
    st.builds(u.RemovePartitionStatistics, ids),
    st.builds(u.RemovePartitionSpecs, id_tuples),
    st.builds(u.RemoveSchemas, id_tuples),
    st.builds(u.AddEncryptionKey, encrypted_keys),
    st.builds(u.RemoveEncryptionKey, texts),
    st.builds(u.AddViewVersion, view_versions),
    st.builds(u.SetCurrentViewVersion, st.integers(-1, 9)),
)
