"""Deleting a table's files with it: only those it refers to, only inside its own folders, only if its properties allow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from floeberg.catalogs.base import LoadedTable
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.spec.metadata import TableMetadata
from floeberg.storage.guard import Roots

GC_ENABLED = "gc.enabled"


def purge_files(table: LoadedTable, *, drop: Callable[[], object]) -> int:
    """Drops the table and deletes every file that it refers to and that lies inside its folders; how many were deleted.

    Files outside (shared, imported) are left alone. The list is made before the drop and the deletion comes after it: a
    crash in between leaves orphans, never a table without files. Raises InvalidInput when gc.enabled is false.
    """
    metadata = table.state.metadata
    if metadata.properties.get(GC_ENABLED, "true").lower() == "false":
        raise InvalidInput(
            f"table {table.state.identifier}: gc.enabled is false, other tables may use its files; drop it without purge",
            table=table.state.identifier,
        )
    roots = Roots([metadata.location, *_own_folders(metadata)])
    doomed = sorted({location for location in _referenced(table) if roots.contains(location)})
    drop()
    for location in doomed:
        table.pointer.store_for(location).delete(location)
    return len(doomed)


def _own_folders(metadata: TableMetadata) -> list[str]:
    keys = ("write.data.path", "write.metadata.path")
    return [metadata.properties[key] for key in keys if key in metadata.properties]


def _referenced(table: LoadedTable) -> Iterator[str]:
    metadata = table.state.metadata
    workspace = Workspace(table.pointer)
    if table.state.metadata_location is not None:
        yield table.state.metadata_location
    yield from (entry.metadata_file for entry in metadata.metadata_log)
    yield from (statistics.statistics_path for statistics in metadata.statistics)
    yield from (statistics.statistics_path for statistics in metadata.partition_statistics)
    seen: set[str] = set()
    for snapshot in metadata.snapshots:
        if snapshot.manifest_list is not None:
            yield snapshot.manifest_list
        for manifest in workspace.manifests(snapshot, metadata):
            if manifest.manifest_path in seen:
                continue
            seen.add(manifest.manifest_path)
            yield manifest.manifest_path
            yield from (entry.data_file.file_path for entry in workspace.entries(manifest, metadata))
