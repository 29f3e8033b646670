"""Entries and files against manifests decoded by fastavro, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floeberg.api.table import Table
from floeberg.arrow.columns.physical import array_of
from floeberg.commit.append import Append
from floeberg.inspect.files import entries_batches
from floeberg.inspect.source import Source
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.values.single_value import from_bytes
from golden_collection.golden_tables import WHOLE, open_golden, records
from lakes.scan_tables import CountingStores, data_file, new_table

PLAIN = (
    "file_path", "record_count", "file_size_in_bytes", "key_metadata", "sort_order_id", "split_offsets", "equality_ids",
    "referenced_data_file", "content_offset", "content_size_in_bytes",
)  # fmt: skip
MAPS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")


def expected_entries(name: str, table: Table) -> list[dict[str, Any]]:
    """The entries of the current snapshot after inheritance, as the specification describes it."""
    snapshot = table.current_snapshot
    assert snapshot is not None
    if snapshot.manifest_list is None:
        listed = [{"manifest_path": path, "partition_spec_id": 0} for path in snapshot.manifests or ()]
    else:
        listed = records(name, snapshot.manifest_list)
    out = []
    for manifest in listed:
        next_row_id = manifest.get("first_row_id") if manifest.get("content", 0) == 0 else None
        for entry in records(name, manifest["manifest_path"]):
            file = dict(entry["data_file"])
            added = entry["status"] == 1
            sequence = manifest.get("sequence_number", 0)
            row_id = file.get("first_row_id")
            if row_id is None and next_row_id is not None and entry["status"] != 2:
                row_id, next_row_id = next_row_id, next_row_id + file["record_count"]
            out.append(
                {
                    "status": entry["status"],
                    "snapshot_id": entry.get("snapshot_id") or manifest.get("added_snapshot_id", snapshot.snapshot_id),
                    "sequence_number": _inherited(entry.get("sequence_number"), sequence, added),
                    "file_sequence_number": _inherited(entry.get("file_sequence_number"), sequence, added),
                    "first_row_id": row_id,
                    "spec_id": manifest["partition_spec_id"],
                    "file": file,
                }
            )
    return out


def _inherited(value: int | None, sequence: int, added: bool) -> int | None:
    return sequence if value is None and (added or sequence == 0) else value


@pytest.mark.parametrize("name", WHOLE)
def test_entries_are_those_of_the_manifests_after_inheritance(name: str) -> None:
    table = open_golden(name)
    found = table.inspect.entries().to_pylist(maps_as_pydicts="strict")
    wanted = expected_entries(name, table)
    assert len(found) == len(wanted) > 0
    for row, entry in zip(found, wanted, strict=True):
        for column in ("status", "snapshot_id", "sequence_number", "file_sequence_number"):
            assert row[column] == entry[column], column
        file, raw = row["data_file"], entry["file"]
        assert file["content"] == raw.get("content", 0)
        assert file["file_format"] == raw["file_format"].upper()
        assert file["spec_id"] == entry["spec_id"]
        assert file["first_row_id"] == entry["first_row_id"]
        for column in PLAIN:
            assert file[column] == raw.get(column), column
        for column in MAPS:
            assert file[column] == _pairs(raw.get(column)), column
        if "partition" in file:
            assert file["partition"] == _partition(table, entry["spec_id"], raw["partition"], file["partition"])


@pytest.mark.parametrize("name", WHOLE)
def test_readable_metrics_are_the_maps_decoded_by_column_type(name: str) -> None:
    table = open_golden(name)
    schema = table.schema
    for row in table.inspect.files().to_pylist(maps_as_pydicts="strict"):
        for column, metrics in row["readable_metrics"].items():
            field = schema.field(column)
            for kind, source in zip(list(metrics)[:4], MAPS[:4], strict=True):
                assert metrics[kind] == (row[source] or {}).get(field.field_id)
            for kind, source in (("lower_bound", "lower_bounds"), ("upper_bound", "upper_bounds")):
                raw = (row[source] or {}).get(field.field_id)
                value = None if raw is None else from_bytes(field.type, raw)
                assert metrics[kind] == array_of([value], field.type).to_pylist()[0], (column, kind)


def _pairs(value: Any) -> dict[int, Any] | None:
    return None if value is None else {pair["key"]: pair["value"] for pair in value}


def _partition(table: Table, spec_id: int, raw: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The unified struct: what the spec has, null for the rest."""
    own = partition_type_of(table.metadata, spec_id)
    values = {member.name: raw.get(member.name) for member in own}
    return {name: values.get(name) for name in found}


def test_files_leave_deleted_entries_out_and_entries_show_them(tmp_path: Path) -> None:
    table = open_golden("deletion_vectors")
    entries = table.inspect.entries().to_pylist()
    live = [entry["data_file"]["file_path"] for entry in entries if entry["status"] != 2]
    assert len(live) < len(entries)
    assert table.inspect.files().column("file_path").to_pylist() == live


def test_data_files_and_delete_files_make_up_files() -> None:
    inspect = open_golden("gperov_test").inspect
    assert set(inspect.data_files().column("content").to_pylist()) == {0}
    assert set(inspect.delete_files().column("content").to_pylist()) == {1}
    assert inspect.data_files().num_rows + inspect.delete_files().num_rows == inspect.files().num_rows


def test_each_manifest_of_history_is_read_once_by_the_all_tables() -> None:
    table = open_golden("gperov_test")
    paths = {row["path"] for row in table.inspect.all_manifests().to_pylist()}
    by_manifest = [batch.num_rows for batch in table.inspect.batches("all_entries")]
    assert len(by_manifest) == len(paths)
    assert sum(by_manifest) == table.inspect.all_entries().num_rows
    contents = table.inspect.all_files().column("content").to_pylist()
    assert table.inspect.all_data_files().num_rows == contents.count(0)
    assert table.inspect.all_delete_files().num_rows == len(contents) - contents.count(0)


def test_a_stream_reads_manifests_as_they_are_needed() -> None:
    table = new_table(properties={"commit.manifest-merge.enabled": "false"})
    for number in range(30):
        table._commit(Append(files=[data_file(table, f"f{number}")]))
    stores = CountingStores(table)
    source = Source(table.metadata, stores.store_for)
    stream = entries_batches(source, source.manifests(table.current_snapshot))
    stream.read_next_batch()
    read = [location for action, location in stores.calls if action == "read" and "-m" in location]
    assert 1 <= len(read) < 15
    assert sum(batch.num_rows for batch in stream) == 29
