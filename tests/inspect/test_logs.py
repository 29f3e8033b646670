"""history, metadata_log_entries, snapshots and refs against the metadata file itself."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from golden_collection.golden_tables import TABLES, WHOLE, open_golden

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def document(name: str) -> dict[str, Any]:
    table = open_golden(name)
    assert table.metadata_location is not None
    path = TABLES / name / "metadata" / table.metadata_location.rpartition("/")[2]
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def at(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)


@pytest.mark.parametrize("name", WHOLE)
def test_snapshots_are_those_of_the_metadata(name: str) -> None:
    rows = open_golden(name).inspect.snapshots().to_pylist(maps_as_pydicts="strict")
    assert rows == [
        {
            "committed_at": at(snapshot["timestamp-ms"]),
            "snapshot_id": snapshot["snapshot-id"],
            "parent_id": snapshot.get("parent-snapshot-id"),
            "operation": snapshot["summary"]["operation"],
            "manifest_list": snapshot.get("manifest-list"),
            "summary": {key: value for key, value in snapshot["summary"].items() if key != "operation"},
        }
        for snapshot in document(name)["snapshots"]
    ]


@pytest.mark.parametrize("name", WHOLE)
def test_history_says_when_each_snapshot_became_current(name: str) -> None:
    metadata = document(name)
    parents = {snapshot["snapshot-id"]: snapshot.get("parent-snapshot-id") for snapshot in metadata["snapshots"]}
    ancestors = set()
    here = metadata["current-snapshot-id"]
    while here is not None:
        ancestors.add(here)
        here = parents[here]
    assert open_golden(name).inspect.history().to_pylist() == [
        {
            "made_current_at": at(entry["timestamp-ms"]),
            "snapshot_id": entry["snapshot-id"],
            "parent_id": parents[entry["snapshot-id"]],
            "is_current_ancestor": entry["snapshot-id"] in ancestors,
        }
        for entry in metadata["snapshot-log"]
    ]


def test_the_metadata_log_ends_with_the_current_file_and_knows_the_snapshot_of_each() -> None:
    table = open_golden("gperov_test")
    metadata = document("gperov_test")
    rows = table.inspect.metadata_log_entries().to_pylist()
    assert [row["file"] for row in rows] == [
        *(entry["metadata-file"] for entry in metadata["metadata-log"]), table.metadata_location,
    ]  # fmt: skip
    by_id = {snapshot["snapshot-id"]: snapshot for snapshot in metadata["snapshots"]}
    times = [*(entry["timestamp-ms"] for entry in metadata["metadata-log"]), metadata["last-updated-ms"]]
    for row, time in zip(rows, times, strict=True):
        current = [e["snapshot-id"] for e in metadata["snapshot-log"] if e["timestamp-ms"] <= time][-1:]
        assert row["timestamp"] == at(time)
        assert row["latest_snapshot_id"] == (current[0] if current else None)
        assert row["latest_sequence_number"] == (by_id[current[0]]["sequence-number"] if current else None)
        assert row["latest_schema_id"] == (by_id[current[0]]["schema-id"] if current else None)


def test_a_metadata_file_older_than_the_first_snapshot_has_none() -> None:
    row = open_golden("spark_rename_column").inspect.metadata_log_entries().to_pylist()[0]
    assert row["latest_snapshot_id"] is None
    assert row["latest_schema_id"] is None
    assert row["latest_sequence_number"] is None


def test_refs_have_their_retention() -> None:
    assert open_golden("gperov_test").inspect.refs().to_pylist() == [
        {"name": "EOW-01", "type": "TAG", "snapshot_id": 293191470325800019, "max_reference_age_in_ms": None,
         "min_snapshots_to_keep": None, "max_snapshot_age_in_ms": None},
        {"name": "main", "type": "BRANCH", "snapshot_id": 154324552338474173, "max_reference_age_in_ms": None,
         "min_snapshots_to_keep": None, "max_snapshot_age_in_ms": None},
        {"name": "test-branch", "type": "BRANCH", "snapshot_id": 7558608030923099867, "max_reference_age_in_ms": 604800000,
         "min_snapshots_to_keep": 2, "max_snapshot_age_in_ms": None},
    ]  # fmt: skip
