"""Reads a simulated table from its disk as a reader would: manifest list, manifests, data files, deletes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from floeberg.errors import FloebergError
from floeberg.files.manifest import read_manifest
from floeberg.files.manifest_list import read_manifest_list
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import (
    DataFile,
    EntryStatus,
    FileContent,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
)
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.storage.location import parse
from floeberg.testing.sim_rows import Row, StoredRow, keys_of, positions_of, rows_of
from floeberg.testing.sim_store import SimDisk

LiveRow = tuple[DataFile, int, StoredRow]
"""The data file, the position in it, and the row."""


class Anomaly(AssertionError):
    """The table is not what every serial order of its commits would have made."""


@dataclass(slots=True)
class TableView:
    """One snapshot as a reader sees it."""

    manifests: list[ManifestFile] = field(default_factory=list)
    data: list[ManifestEntry] = field(default_factory=list)
    deletes: list[ManifestEntry] = field(default_factory=list)
    rows: list[LiveRow] = field(default_factory=list)
    deleted_positions: dict[str, set[int]] = field(default_factory=dict)
    """By position only: what a new deletion vector of the file must hold."""

    def row_set(self) -> frozenset[Row]:
        """Raises Anomaly when one version of a row is there twice."""
        rows = frozenset(stored.row for _, _, stored in self.rows)
        if len(rows) != len(self.rows):
            raise Anomaly("a row is in the table twice")
        return rows

    def row_ids(self) -> dict[Row, int | None]:
        """The row id of each row: its own, or its file's first and its position."""
        return {
            stored.row: stored.row_id
            if stored.row_id is not None
            else None
            if file.first_row_id is None
            else file.first_row_id + position
            for file, position, stored in self.rows
        }

    def vectors(self) -> dict[str, DataFile]:
        return {
            e.data_file.referenced_data_file: e.data_file
            for e in self.deletes
            if e.data_file.is_deletion_vector and e.data_file.referenced_data_file is not None
        }


class SimReader:
    """Reads snapshots; what never changes is read once."""

    def __init__(self, disk: SimDisk) -> None:
        self._disk = disk
        self._views: dict[int, TableView] = {}
        self._entries: dict[tuple[str, int, int | None], list[ManifestEntry]] = {}
        self._seen: dict[str, bytes] = {}

    def content(self, location: str) -> bytes:
        """The bytes of a file. Raises Anomaly when it is missing."""
        found = self._disk.objects.get(parse(location).uri)
        if found is None:
            raise Anomaly(f"a live file is missing: {location}")
        if self._seen.setdefault(location, found[0]) != found[0]:
            raise Anomaly(f"a live file was changed: {location}")
        return found[0]

    def view(self, snapshot: Snapshot | None, metadata: TableMetadata) -> TableView:
        """A snapshot's files and rows. Raises Anomaly for what no reader could read."""
        if snapshot is None:
            return TableView()
        known = self._views.get(snapshot.snapshot_id)
        if known is None:
            try:
                known = self._views[snapshot.snapshot_id] = self._read(snapshot, metadata)
            except FloebergError as error:
                raise Anomaly(f"snapshot {snapshot.snapshot_id} cannot be read: {error}") from error
        return known

    def read_again(self, snapshot: Snapshot, metadata: TableMetadata) -> None:
        """Every file of a snapshot is there as it was. Raises Anomaly."""
        view = self.view(snapshot, metadata)
        assert snapshot.manifest_list is not None
        self.content(snapshot.manifest_list)
        for manifest in view.manifests:
            self.content(manifest.manifest_path)
        for entry in (*view.data, *view.deletes):
            self.content(entry.data_file.file_path)

    def _read(self, snapshot: Snapshot, metadata: TableMetadata) -> TableView:
        assert snapshot.manifest_list is not None
        view = TableView(manifests=list(read_manifest_list(self.content(snapshot.manifest_list))))
        for manifest in view.manifests:
            live = [e for e in self._manifest(manifest, metadata) if e.status is not EntryStatus.DELETED]
            (view.data if manifest.content is ManifestContent.DATA else view.deletes).extend(live)
        self._read_rows(view, metadata)
        return view

    def _manifest(self, manifest: ManifestFile, metadata: TableMetadata) -> list[ManifestEntry]:
        key = (manifest.manifest_path, manifest.sequence_number, manifest.first_row_id)
        known = self._entries.get(key)
        if known is None:
            kind = partition_type_of(metadata, manifest.partition_spec_id)
            known = read_manifest(self.content(manifest.manifest_path), manifest, partition_type=kind)
            self._entries[key] = known
            check_counts(manifest, known)
        return known

    def _read_rows(self, view: TableView, metadata: TableMetadata) -> None:
        vectors: dict[str, set[int]] = {}
        positions: dict[str, list[tuple[int, set[int]]]] = defaultdict(list)
        equality: list[tuple[int, DataFile, set[tuple[int, int]], bool]] = []
        for entry in view.deletes:
            file, number = entry.data_file, entry.data_sequence_number or 0
            content = self.content(file.file_path)
            if file.content is FileContent.EQUALITY_DELETES:
                everywhere = metadata.spec(file.spec_id).is_unpartitioned
                equality.append((number, file, keys_of(content), everywhere))
                continue
            for target, held in positions_of(content, file).items():
                if file.is_deletion_vector:
                    if target in vectors:
                        raise Anomaly(f"two live deletion vectors for {target}")
                    vectors[target] = set(held)
                else:
                    positions[target].append((number, set(held)))
        for entry in view.data:
            self._read_file(view, entry, vectors, positions[entry.data_file.file_path], equality)
        if stray := vectors.keys() - {entry.data_file.file_path for entry in view.data}:
            raise Anomaly(f"deletion vectors for data files that are not in the snapshot: {sorted(stray)}")

    def _read_file(
        self,
        view: TableView,
        entry: ManifestEntry,
        vectors: dict[str, set[int]],
        positions: Iterable[tuple[int, set[int]]],
        equality: Iterable[tuple[int, DataFile, set[tuple[int, int]], bool]],
    ) -> None:
        file, sequence_number = entry.data_file, entry.data_sequence_number or 0
        gone = vectors.get(file.file_path)
        if gone is None:
            gone = set().union(*(held for number, held in positions if number >= sequence_number))
        view.deleted_positions[file.file_path] = gone
        place = (file.spec_id, file.partition)
        keys = [
            held
            for number, deletes, held, everywhere in equality
            if sequence_number < number and (everywhere or (deletes.spec_id, deletes.partition) == place)
        ]
        for position, stored in enumerate(rows_of(self.content(file.file_path))):
            if position not in gone and not any((stored.row.id, stored.row.p) in held for held in keys):
                view.rows.append((file, position, stored))


def check_counts(manifest: ManifestFile, entries: list[ManifestEntry]) -> None:
    """Raises Anomaly when a list says of a manifest what it is not."""
    for status in EntryStatus:
        group = [entry for entry in entries if entry.status is status]
        name = status.name.lower()
        said = (getattr(manifest, f"{name}_files_count"), getattr(manifest, f"{name}_rows_count"))
        if said != (len(group), sum(entry.data_file.record_count for entry in group)):
            raise Anomaly(f"{manifest.manifest_path}: the list says {said} {name} files and rows, it has others")
    sequence_numbers = [e.data_sequence_number or 0 for e in entries if e.status is not EntryStatus.DELETED]
    if sequence_numbers and manifest.min_sequence_number > min(sequence_numbers):
        raise Anomaly(f"{manifest.manifest_path}: an entry is older than min_sequence_number")
