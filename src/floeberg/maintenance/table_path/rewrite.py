"""Rewrites the paths of a table: everything that names the old path is written anew with the new one, into a staging folder,
and a list says which files are to be copied where. The table itself stays as it is.

https://iceberg.apache.org/docs/latest/spark-procedures/#rewrite_table_path
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from floeberg.catalogs.metadata_files import discard, metadata_folder, read_metadata
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.workspace import Workspace
from floeberg.errors import FileNotFound, InvalidInput
from floeberg.maintenance.file_work import FileWork
from floeberg.maintenance.table_path.delete_paths import MovedDeletes, MovingDeletes
from floeberg.maintenance.table_path.manifest_paths import MovedManifest, MovingManifests, moved_manifest_list
from floeberg.maintenance.table_path.metadata_paths import moved_metadata
from floeberg.maintenance.table_path.prefix import PrefixChange
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.storage.location import join

FILE_LIST: Final = "file-list"
NO_FILE_LIST: Final = "N/A"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRequest:
    """From which prefix to which; versions are names of metadata files. With `start_version` only what is newer is staged
    and listed, for a copy that has that version already."""

    source_prefix: str
    target_prefix: str
    start_version: str | None = None
    end_version: str | None = None
    staging_location: str | None = None
    create_file_list: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenPaths:
    """What was staged. `latest_version` is the name of the newest metadata file; `file_list_location` is a CSV file of what is
    to be copied, source and target."""

    latest_version: str
    staging_location: str
    file_list_location: str
    rewritten_manifests: int
    rewritten_delete_files: int


def rewrite_table_path(
    pointer: TablePointer, state: TableState, work: FileWork, request: PathRequest
) -> RewrittenPaths:
    """Delete files and manifests are changed and staged by the work.

    Raises InvalidInput for prefixes that do not fit the table, versions that it does not have, and files outside the source
    prefix. What was staged until then is removed.
    """
    versions = _versions(pointer, state, request)
    staging = request.staging_location or join(
        metadata_folder(state.metadata), f"copy-table-staging-{pointer.effects.ids.uuid()}"
    )
    change = PrefixChange.of(
        table=state.identifier, source=request.source_prefix, target=request.target_prefix, staging=staging
    )
    job = _Job(pointer, change, work)
    try:
        return job.run(versions, create_file_list=request.create_file_list)
    except BaseException:
        for location in job.written:
            discard(pointer.store_for(location), location)
        raise


@dataclass(frozen=True, slots=True)
class _Versions:
    """The metadata files to stage, the newest first, with the metadata of the newest, and of the version that the copy has."""

    locations: tuple[str, ...]
    end: TableMetadata
    start: TableMetadata | None


def _versions(pointer: TablePointer, state: TableState, request: PathRequest) -> _Versions:
    if state.metadata_location is None:
        raise InvalidInput(f"table {state.identifier} has no metadata file to copy")
    log = [entry.metadata_file for entry in state.metadata.metadata_log]
    history = [*log, state.metadata_location]
    end = len(history) - 1 if request.end_version is None else _find(state, history, request.end_version)
    start = -1 if request.start_version is None else _find(state, history, request.start_version)
    if start >= end:
        raise InvalidInput(
            f"table {state.identifier}: start_version {request.start_version} is not before end_version "
            f"{history[end].rpartition('/')[2]}"
        )

    def read(location: str) -> TableMetadata:
        return read_metadata(pointer.store_for(location), location)

    # Older metadata files may have been removed; nobody needs them.
    older = [one for one in reversed(history[start + 1 : end]) if pointer.store_for(one).exists(one)]
    return _Versions((history[end], *older), read(history[end]), None if start < 0 else read(history[start]))


def _find(state: TableState, history: list[str], version: str) -> int:
    """The place of a version in the table's history, by the name of its metadata file or the whole location."""
    for number, location in enumerate(history):
        if version in (location, location.rpartition("/")[2]):
            return number
    raise InvalidInput(
        f"table {state.identifier} has no version {version!r:.80} in its metadata log; there are "
        f"{', '.join(one.rpartition('/')[2] for one in history[-5:])}",
        table=state.identifier,
    )


@dataclass(slots=True)
class _Job:
    """One rewrite on its way."""

    pointer: TablePointer
    change: PrefixChange
    work: FileWork
    written: list[str] = field(default_factory=list)
    copies: dict[str, str] = field(default_factory=dict)
    """What is to be copied, by where it goes."""

    def run(self, versions: _Versions, *, create_file_list: bool) -> RewrittenPaths:
        workspace = Workspace(self.pointer)
        known, known_files = self._known(workspace, versions)
        known_ids = set() if versions.start is None else {one.snapshot_id for one in versions.start.snapshots}
        snapshots = [one for one in versions.end.snapshots if one.snapshot_id not in known_ids]
        manifests = {
            one.manifest_path: one for snapshot in snapshots for one in workspace.manifests(snapshot, versions.end)
        }
        deletes = self._deletes(workspace, versions.end, manifests.values(), known_files)
        moved = self._manifests(manifests, {path: one for path, (_, one) in deletes.items()}, known)
        new = {path: one for path, one in moved.items() if path not in known}
        for manifest in new.values():
            self.copies |= {self.change.new(path): path for path in manifest.copied if path not in known_files}
        self._stage_lists(snapshots, {path: one.size_bytes for path, one in moved.items()})
        self._stage_metadata(versions)
        in_new = {path for one in new.values() for path in one.moved_deletes}
        return RewrittenPaths(
            latest_version=versions.locations[0].rpartition("/")[2],
            staging_location=self.change.staging.text,
            file_list_location=self._file_list() if create_file_list else NO_FILE_LIST,
            rewritten_manifests=len(new),
            rewritten_delete_files=sum(count for path, (count, _) in deletes.items() if path in in_new),
        )

    def _known(self, workspace: Workspace, versions: _Versions) -> tuple[set[str], set[str]]:
        """The manifests that the copy has, and the files in them; without those of snapshots that have expired since."""
        known: dict[str, ManifestFile] = {}
        if versions.start is None:
            return set(), set()
        for snapshot in versions.start.snapshots:
            try:
                known |= {one.manifest_path: one for one in workspace.manifests(snapshot, versions.start)}
            except FileNotFound:
                continue
        files = {
            entry.data_file.file_path
            for manifest in known.values()
            for entry in workspace.live_entries(manifest, versions.start)
        }
        return set(known), files

    def _deletes(
        self, workspace: Workspace, metadata: TableMetadata, manifests: Iterable[ManifestFile], known_files: set[str]
    ) -> dict[str, tuple[int, MovedDeletes]]:
        """The changed position delete files and files of deletion vectors, and how many entries each has. Those that the copy
        has are only measured."""
        files: dict[str, DataFile] = {}
        entries: dict[str, set[tuple[str, int | None]]] = {}
        for manifest in manifests:
            if manifest.content is not ManifestContent.DELETES:
                continue
            for entry in workspace.live_entries(manifest, metadata):
                file = entry.data_file
                if file.content is FileContent.POSITION_DELETES:
                    files.setdefault(file.file_path, file)
                    entries.setdefault(file.file_path, set()).add(file.identity)
        self._is_staged(path for path in files if path not in known_files)
        moving = MovingDeletes(self.work, self.change, self.pointer.effects.clock)
        found = self.work.each(moving, [(file, path not in known_files) for path, file in files.items()])
        return {path: (len(entries[path]), one) for path, one in zip(files, found, strict=True)}

    def _manifests(
        self, manifests: Mapping[str, ManifestFile], deletes: Mapping[str, MovedDeletes], known: set[str]
    ) -> dict[str, MovedManifest]:
        """Every manifest of the new manifest lists, changed. Those that the copy has are only measured."""
        self._is_staged(path for path in manifests if path not in known)
        moving = MovingManifests(self.work, self.change, deletes)
        found = self.work.each(moving, [(path, path not in known) for path in manifests])
        return dict(zip(manifests, found, strict=True))

    def _stage_lists(self, snapshots: Iterable[Snapshot], sizes: Mapping[str, int]) -> None:
        for snapshot in snapshots:
            if (path := snapshot.manifest_list) is not None:
                content = self.pointer.store_for(path).read(path)
                self._stage(path, moved_manifest_list(content, self.change, sizes))

    def _stage_metadata(self, versions: _Versions) -> None:
        """Metadata files, the newest last, and the statistics that the newest names."""
        known = set() if versions.start is None else set(_statistics(versions.start))
        for path in _statistics(versions.end):
            if path not in known:
                self.copies[self.change.new(path)] = path
        for location in reversed(versions.locations):
            content = self.pointer.store_for(location).read(location)
            self._stage(location, moved_metadata(content, location, self.change))

    def _is_staged(self, paths: Iterable[str]) -> None:
        """Notes what is staged, before it is, so that it is removed when the rewrite fails."""
        for path in paths:
            where = self.change.staged(path)
            self.written.append(where)
            self.copies[self.change.new(path)] = where

    def _stage(self, path: str, content: bytes) -> None:
        self._is_staged([path])
        where = self.change.staged(path)
        self.pointer.store_for(where).replace(where, content)

    def _file_list(self) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows((source, target) for target, source in self.copies.items())
        where = f"{self.change.staging.text}/{FILE_LIST}"
        self.written.append(where)
        self.pointer.store_for(where).replace(where, text.getvalue().encode())
        return where


def _statistics(metadata: TableMetadata) -> Iterator[str]:
    yield from (file.statistics_path for file in metadata.statistics)
    yield from (file.statistics_path for file in metadata.partition_statistics)
