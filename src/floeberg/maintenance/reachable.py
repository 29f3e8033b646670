"""The files that snapshots reach, and the deletion of those that none does any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from floeberg.catalogs.metadata_files import table_roots
from floeberg.commit.pointer import TablePointer
from floeberg.errors import FileNotFound, StorageError
from floeberg.maintenance.live_files import live_contents, manifests_of
from floeberg.maintenance.path_match import path_of
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import FileContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot

_Listed: TypeAlias = tuple[ManifestFile, TableMetadata]
"""A manifest, and the table's metadata that know its spec."""


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
    files inside the table's own folders, contents before the lists that name them. Memory holds the paths that are deleted,
    and the paths of one other manifest at a time."""
    kept_in = [after, pointer.refresh().metadata]
    kept_ids = {snapshot.snapshot_id for metadata in kept_in for snapshot in metadata.snapshots}
    gone = [snapshot for snapshot in before.snapshots if snapshot.snapshot_id not in kept_ids]
    kept_manifests = _manifests(pointer, ((snapshot, one) for one in kept_in for snapshot in one.snapshots))
    doomed = {
        path: listed
        for path, listed in _manifests(pointer, ((snapshot, before) for snapshot in gone)).items()
        if path not in kept_manifests
    }
    contents = _unreachable(pointer, doomed.values(), kept_manifests.values())
    kept_lists = {snapshot.manifest_list for one in kept_in for snapshot in one.snapshots}
    lists = {one.manifest_list for one in gone if one.manifest_list and one.manifest_list not in kept_lists}
    statistics = _statistics(before) - set().union(*(_statistics(one) for one in kept_in))
    remover = _Remover(pointer, before)
    return Deleted(
        data_files=remover.remove(contents[FileContent.DATA]),
        position_delete_files=remover.remove(contents[FileContent.POSITION_DELETES]),
        equality_delete_files=remover.remove(contents[FileContent.EQUALITY_DELETES]),
        manifests=remover.remove(doomed),
        manifest_lists=remover.remove(lists),
        statistics_files=remover.remove(statistics),
        left=tuple(remover.left),
    )


def _manifests(pointer: TablePointer, snapshots: Iterable[tuple[Snapshot, TableMetadata]]) -> dict[str, _Listed]:
    found: dict[str, _Listed] = {}
    lists: set[str] = set()
    for snapshot, metadata in snapshots:
        if snapshot.manifest_list is not None:
            if snapshot.manifest_list in lists:
                continue
            lists.add(snapshot.manifest_list)
        for manifest in manifests_of(pointer, snapshot, metadata):
            found.setdefault(manifest.manifest_path, (manifest, metadata))
    return found


def _unreachable(
    pointer: TablePointer, doomed: Iterable[_Listed], kept: Iterable[_Listed]
) -> dict[FileContent, list[str]]:
    """The files that doomed manifests hold and no kept one does, by their kind. A file with the path of a kept one under
    another scheme or authority may be that file: it stays, and orphan removal tells."""
    contents: dict[FileContent, dict[str, str]] = {kind: {} for kind in FileContent}
    for manifest, metadata in doomed:
        for location, kind in live_contents(pointer, manifest, metadata).iter_rows():
            contents[FileContent(kind)][path_of(location)] = location
    if any(contents.values()):
        for manifest, metadata in kept:
            for location in live_contents(pointer, manifest, metadata).get_column("file_path"):
                path = path_of(location)
                for found in contents.values():
                    found.pop(path, None)
    return {kind: list(found.values()) for kind, found in contents.items()}


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
