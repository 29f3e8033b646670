"""Tables that other engines wrote are planned to the rows they are known to have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from floeberg.api.catalog import open_table
from floeberg.api.table import Table
from floeberg.errors import UnsupportedFeature
from floeberg.files.manifest import read_manifest
from floeberg.files.manifest_list import read_manifest_list
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.snapshots.manifest_entry import EntryStatus, ManifestContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot
from golden_collection.golden_files import SHARED, shared_files
from lakes.scan_tables import plan

pytestmark = pytest.mark.golden_shared


def golden_tables() -> list[dict[str, Any]]:
    index = SHARED / "golden.json"
    if not index.exists():
        return []
    tables: list[dict[str, Any]] = json.loads(index.read_text())["tables"]
    return [
        table
        for table in tables
        if all(not old.startswith("file://") or old.startswith("file:///") for old in table.get("relocate") or {})
    ]


def opened(table: dict[str, Any]) -> Table:
    moved = {old: str(SHARED / new) for old, new in (table.get("relocate") or {}).items()}
    return open_table(str(SHARED / table["path"] / table["metadata"]), relocate=moved, lenient=True)


@pytest.mark.parametrize("described", golden_tables(), ids=lambda table: str(table["id"]))
def test_a_golden_table_is_planned_as_its_manifests_say(described: dict[str, Any]) -> None:
    table = opened(described)
    if "key_metadata" in described["features"]:
        with pytest.raises(UnsupportedFeature, match="encrypted"):
            plan(table)
        return
    found = list(plan(table))
    live = {path for path, form in live_files(table) if form != "puffin"}
    assert {task.data_file.file_path for task in found} == live
    rows = sum(task.data_file.record_count for task in found)
    if not any(task.deletes for task in found) and "expected" in described:
        expected = described["expected"].get("row_count")
        if expected is not None:
            assert rows == expected


def live_files(table: Table) -> list[tuple[str, str]]:
    """The live data files with rows, entry by entry."""
    snapshot = table.current_snapshot
    if snapshot is None:
        return []
    paths = []
    for manifest in manifests_of(table, snapshot):
        if manifest.content is ManifestContent.DATA:
            data = table._pointer.store_for(manifest.manifest_path).read(manifest.manifest_path)
            kind = partition_type_of(table.metadata, manifest.partition_spec_id)
            for entry in read_manifest(data, manifest, partition_type=kind):
                if entry.status is not EntryStatus.DELETED and entry.data_file.record_count:
                    paths.append((entry.data_file.file_path, str(entry.data_file.file_format)))
    return paths


def manifests_of(table: Table, snapshot: Snapshot) -> Sequence[ManifestFile]:
    path = snapshot.manifest_list
    if path is not None:
        return read_manifest_list(table._pointer.store_for(path).read(path))
    return [
        ManifestFile(manifest_path=path, manifest_length=0, partition_spec_id=0) for path in snapshot.manifests or ()
    ]


def test_the_golden_collection_is_there() -> None:
    assert shared_files("golden.json")
