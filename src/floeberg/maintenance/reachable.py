"""The files that snapshots reach, and the deletion of those that none does any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from floeberg.catalogs.metadata_files import table_roots
from floeberg.commit.pointer import TablePointer
from floeberg.commit.workspace import Workspace
from floeberg.errors import FileNotFound, StorageError
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import FileContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """How many files of each kind were deleted; `left` could not be, and orphan removal finds them."""

    data_files: int = 0
    position_delete_files: int = 0
    equality_delete_files: int = 0
    manifests: int = 0
    manifest_lists: int = 0
    statistics_files: int = 0
    left: tuple[str, ...] = ()


def delete_unreachable(pointer: TablePointer, *, before: TableMetadata, after: TableMetadata) -> Deleted:
    """Deletes what the snapshots of `before` reach and those of `after`, and of the table as it is now, do not: only
    files inside the table's own folders, contents before the lists that name them."""
    workspace = Workspace(pointer)
    kept_in = [after, pointer.refresh().metadata]
    kept_ids = {snapshot.snapshot_id for metadata in kept_in for snapshot in metadata.snapshots}
    gone = [snapshot for snapshot in before.snapshots if snapshot.snapshot_id not in kept_ids]
    kept_manifests = _manifests(workspace, ((snapshot, one) for one in kept_in for snapshot in one.snapshots))
    doomed = {
        path: manifest
        for path, manifest in _manifests(workspace, ((snapshot, before) for snapshot in gone)).items()
        if path not in kept_manifests
    }
    contents = _contents(workspace, doomed.values(), before)
    if contents:
        for path in _contents(workspace, kept_manifests.values(), kept_in[-1]):
            contents.pop(path, None)
    kept_lists = {snapshot.manifest_list for one in kept_in for snapshot in one.snapshots}
    lists = {one.manifest_list for one in gone if one.manifest_list and one.manifest_list not in kept_lists}
    statistics = _statistics(before) - set().union(*(_statistics(one) for one in kept_in))
    remover = _Remover(pointer, before)
    by_kind = {kind: [path for path, one in contents.items() if one is kind] for kind in FileContent}
    return Deleted(
        data_files=remover.remove(by_kind[FileContent.DATA]),
        position_delete_files=remover.remove(by_kind[FileContent.POSITION_DELETES]),
        equality_delete_files=remover.remove(by_kind[FileContent.EQUALITY_DELETES]),
        manifests=remover.remove(doomed),
        manifest_lists=remover.remove(lists),
        statistics_files=remover.remove(statistics),
        left=tuple(remover.left),
    )


def _manifests(workspace: Workspace, snapshots: Iterable[tuple[Snapshot, TableMetadata]]) -> dict[str, ManifestFile]:
    found: dict[str, ManifestFile] = {}
    for snapshot, metadata in snapshots:
        for manifest in workspace.manifests(snapshot, metadata):
            found.setdefault(manifest.manifest_path, manifest)
    return found


def _contents(
    workspace: Workspace, manifests: Iterable[ManifestFile], metadata: TableMetadata
) -> dict[str, FileContent]:
    """The live files of manifests, with their kinds."""
    return {
        entry.data_file.file_path: entry.data_file.content
        for manifest in manifests
        for entry in workspace.live_entries(manifest, metadata)
    }


def _statistics(metadata: TableMetadata) -> set[str]:
    return {
        *(file.statistics_path for file in metadata.statistics),
        *(file.statistics_path for file in metadata.partition_statistics),
    }


class _Remover:
    """Deletes files of a table; what fails is kept in `left`."""

    def __init__(self, pointer: TablePointer, metadata: TableMetadata) -> None:
        self._pointer = pointer
        self._roots = table_roots(metadata)
        self.left: list[str] = []

    def remove(self, locations: Iterable[str]) -> int:
        removed = 0
        for location in sorted(locations):
            if not self._roots.contains(location):
                self.left.append(location)
                continue
            try:
                self._pointer.store_for(location).delete(location)
            except FileNotFound:
                continue
            except StorageError:
                self.left.append(location)
                continue
            removed += 1
        return removed
