"""Table metadata beside PyIceberg's, where it supports the case."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyiceberg.exceptions import ValidationError
from pyiceberg.table.metadata import TableMetadataUtil

from floeberg.spec.changes import updates as u
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_metadata_json import parse_table_metadata, write_table_metadata
from strategies.metadata import ORDER, SPEC, committed, document, new_table

GOLDEN = Path(__file__).parent.parent / "golden/metadata"
FILES = [
    *(GOLDEN / "table" / f"TableMetadata{name}.json" for name in ("V1Valid", "V2Valid", "V2ValidMinimal", "V3ValidMinimal",
                                                                  "PartitionStatisticsFiles")),
    *(GOLDEN / "engines" / f"{name}.metadata.json" for name in ("spark_pg_lake_v2_branches", "impala_v3_row_lineage")),
]  # fmt: skip


def compare(data: bytes) -> None:
    ours, theirs = parse_table_metadata(data), TableMetadataUtil.parse_raw(data.decode())
    assert ours.format_version == theirs.format_version
    assert ours.table_uuid is None or ours.table_uuid == str(theirs.table_uuid)
    assert ours.location == theirs.location.rstrip("/")
    assert ours.last_updated_ms == theirs.last_updated_ms
    assert ours.last_column_id >= theirs.last_column_id  # ours is never below the current schema's ids
    assert ours.last_partition_id == (theirs.last_partition_id or 999)
    assert dict(ours.properties) == theirs.properties
    assert ours.current_snapshot_id == theirs.current_snapshot_id
    assert ours.current_schema_id == theirs.current_schema_id
    assert [schema.schema_id for schema in ours.schemas] == [schema.schema_id for schema in theirs.schemas]
    assert [sorted(schema.names.items()) for schema in ours.schemas] == [
        sorted((field_id, theirs_schema.find_column_name(field_id)) for field_id in theirs_schema._lazy_id_to_field)
        for theirs_schema in theirs.schemas
    ]
    assert [str(field.transform) for spec in ours.partition_specs for field in spec.fields] == [
        str(field.transform) for spec in theirs.partition_specs for field in spec.fields
    ]
    assert ours.default_spec_id == theirs.default_spec_id
    assert ours.default_sort_order_id == theirs.default_sort_order_id
    assert {name: ref.snapshot_id for name, ref in ours.refs.items()} == {
        name: ref.snapshot_id for name, ref in theirs.refs.items()
    }
    _compare_history(ours, theirs)


def _compare_history(ours: TableMetadata, theirs: object) -> None:
    assert [
        (s.snapshot_id, s.parent_snapshot_id, s.timestamp_ms, s.manifest_list, s.schema_id) for s in ours.snapshots
    ] == [
        (s.snapshot_id, s.parent_snapshot_id, s.timestamp_ms, s.manifest_list, s.schema_id)
        for s in theirs.snapshots  # type: ignore[attr-defined]
    ]
    assert [s.operation for s in ours.snapshots] == [
        s.summary.operation.value if s.summary else None
        for s in theirs.snapshots  # type: ignore[attr-defined]
    ]
    assert [(e.timestamp_ms, e.snapshot_id) for e in ours.snapshot_log] == [
        (e.timestamp_ms, e.snapshot_id)
        for e in theirs.snapshot_log  # type: ignore[attr-defined]
    ]
    assert [(e.timestamp_ms, e.metadata_file) for e in ours.metadata_log] == [
        (e.timestamp_ms, e.metadata_file)
        for e in theirs.metadata_log  # type: ignore[attr-defined]
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_both_read_golden_metadata_the_same(path: Path) -> None:
    compare(path.read_bytes())


def test_they_refuse_a_blob_type_that_they_do_not_know_and_we_keep_it() -> None:
    """Statistics are informational: an unknown kind of them is no reason not to read a table."""
    data = (GOLDEN / "table" / "TableMetadataStatisticsFiles.json").read_bytes()
    with pytest.raises(ValidationError, match="blob-metadata"):
        TableMetadataUtil.parse_raw(data.decode())
    assert parse_table_metadata(data).statistics[0].blob_metadata[0].type == "ndv"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_both_read_minimal_metadata_the_same(version: int) -> None:
    compare(json.dumps(document(version)).encode())


@pytest.mark.parametrize("version", [1, 2, 3])
def test_they_read_what_we_write(version: int) -> None:
    table = new_table(version, owner="me")
    compare(write_table_metadata(table))
    updates = (u.AddPartitionSpec(SPEC), u.SetDefaultSpec(), u.AddSortOrder(ORDER), u.SetDefaultSortOrder())
    table = apply_updates(committed(table, 11, rows=3), updates, now_ms=table.last_updated_ms)
    compare(write_table_metadata(committed(table, 12, rows=2)))
