"""Copies of golden tables whose manifests were changed: what a broken writer would leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from floeberg.files.manifest import read_manifest, write_manifest
from floeberg.files.manifest_list import read_manifest_list, write_manifest_list
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.snapshots.manifest_entry import DataFile, ManifestEntry, ManifestFile
from golden_collection.golden_tables import RECORDED, open_golden


def local(name: str, folder: Path, location: str) -> Path:
    return folder / location.removeprefix(RECORDED[name]).lstrip("/")


def change_files(name: str, folder: Path, change: Callable[[DataFile], DataFile]) -> None:
    """Rewrites the manifests of the current snapshot with other files in their entries."""
    change_entries(name, folder, lambda entry: structs.replace(entry, data_file=change(entry.data_file)))


def change_entries(
    name: str,
    folder: Path,
    change: Callable[[ManifestEntry], ManifestEntry],
    listed: Callable[[ManifestFile], ManifestFile] = lambda manifest: manifest,
) -> None:
    """Rewrites the manifests and the manifest list of the current snapshot."""
    metadata = open_golden(name, folder).metadata
    snapshot = metadata.current_snapshot
    assert snapshot is not None
    assert snapshot.manifest_list is not None
    path = local(name, folder, snapshot.manifest_list)
    manifests = []
    for manifest in read_manifest_list(path.read_bytes()):
        own = local(name, folder, manifest.manifest_path)
        kind = partition_type_of(metadata, manifest.partition_spec_id)
        entries = [change(entry) for entry in read_manifest(own.read_bytes(), manifest, partition_type=kind)]
        written = write_manifest(
            entries,
            spec=metadata.spec(manifest.partition_spec_id),
            schema=metadata.current_schema,
            format_version=metadata.format_version,
            content=manifest.content,
            snapshot_id=manifest.added_snapshot_id,
            partition_type=kind,
        )
        own.write_bytes(written.data)
        manifests.append(listed(replace(manifest, manifest_length=len(written.data))))
    path.write_bytes(
        write_manifest_list(
            manifests,
            format_version=metadata.format_version,
            snapshot_id=snapshot.snapshot_id,
            parent_snapshot_id=snapshot.parent_snapshot_id,
            sequence_number=snapshot.sequence_number,
            first_row_id=snapshot.first_row_id,
        )
    )
