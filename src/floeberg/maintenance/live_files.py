"""Every file that a table refers to, of every kind: the one answer to what must never be deleted."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from floeberg.catalogs.metadata_files import metadata_folder, read_metadata
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.workspace import Workspace
from floeberg.errors import FileNotFound
from floeberg.files.manifest_frame import manifest_frame
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import EntryStatus, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.storage.location import join

VERSION_HINT = "version-hint.text"


def live_files(pointer: TablePointer, state: TableState) -> Iterator[str]:
    """The locations that the table refers to, some more than once: metadata files as far back as they name each other,
    statistics, and of every snapshot, referenced or not, the manifest list, manifests, data and delete files."""
    metadata = state.metadata
    yield from metadata_files(pointer, state)
    yield join(metadata_folder(metadata), VERSION_HINT)
    yield from (file.statistics_path for file in metadata.statistics)
    yield from (file.statistics_path for file in metadata.partition_statistics)
    yield from _files_of_snapshots(pointer, metadata)


def metadata_files(pointer: TablePointer, state: TableState) -> Iterator[str]:
    """The current metadata file, those of its log, those of the oldest one's log, and so on."""
    if state.metadata_location is not None:
        yield state.metadata_location
    metadata: TableMetadata | None = state.metadata
    seen: set[str] = set()
    while metadata is not None:
        named = [entry.metadata_file for entry in metadata.metadata_log if entry.metadata_file not in seen]
        yield from named
        seen.update(named)
        metadata = _read(pointer, named[0]) if named else None


def manifests_of(pointer: TablePointer, snapshot: Snapshot, metadata: TableMetadata) -> list[ManifestFile]:
    """The manifests of a snapshot, which nothing keeps for the next one."""
    return Workspace(pointer).manifests(snapshot, metadata)


def live_contents(pointer: TablePointer, manifest: ManifestFile, metadata: TableMetadata) -> pl.DataFrame:
    """The `file_path` and `content` of the files that a manifest says are in the table, as columns."""
    kind = partition_type_of(metadata, manifest.partition_spec_id)
    data = pointer.store_for(manifest.manifest_path).read(manifest.manifest_path)
    frame = manifest_frame(data, manifest, partition_type=kind, select=("file_path",))
    return frame.filter(pl.col("status") != int(EntryStatus.DELETED)).select("file_path", "content")


def _files_of_snapshots(pointer: TablePointer, metadata: TableMetadata) -> Iterator[str]:
    seen: set[str] = set()
    for snapshot in metadata.snapshots:
        if snapshot.manifest_list is not None:
            yield snapshot.manifest_list
        for manifest in manifests_of(pointer, snapshot, metadata):
            if manifest.manifest_path not in seen:
                seen.add(manifest.manifest_path)
                yield manifest.manifest_path
                yield from live_contents(pointer, manifest, metadata).get_column("file_path")


def _read(pointer: TablePointer, location: str) -> TableMetadata | None:
    try:
        return read_metadata(pointer.store_for(location), location)
    except FileNotFound:
        return None  # removed after so many versions, as the table's properties may ask for
