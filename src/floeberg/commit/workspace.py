"""The workspace of one commit: reads manifests, writes new ones, and remembers both over the attempts.

A manifest written for one attempt is used again by the next where it still fits, because sequence numbers and row ids are
inherited from the manifest list. What the commit wrote is known here, so that it can be removed when, and only when, it is
proved that nothing refers to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from floeberg.commit.pointer import TablePointer
from floeberg.errors import FloebergError, UnsupportedFeature
from floeberg.files.manifest import UNASSIGNED_SEQUENCE_NUMBER, read_manifest, write_manifest
from floeberg.files.manifest_list import read_manifest_list, write_manifest_list
from floeberg.spec.data_file import DataFile, EntryStatus, ManifestContent, ManifestEntry, ManifestFile
from floeberg.spec.lineage import assign_first_row_ids
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.partition_types import partition_type_of
from floeberg.spec.snapshots import Snapshot
from floeberg.storage.location import join

T = TypeVar("T")

MAX_SNAPSHOT_ID_DRAWS: Final = 100

EntriesKey = tuple[str, int, int | None]
"""A manifest as one list describes it: an own manifest is listed anew, with another age, at each attempt."""


class Workspace:
    """What one commit reads and writes, over all its attempts."""

    def __init__(self, pointer: TablePointer, *, engine_summary: Mapping[str, str] | None = None) -> None:
        self._pointer = pointer
        self._commit_uuid = pointer.effects.ids.uuid()
        self._manifest_number = 0
        self._snapshot_ids: dict[int, int] = {}
        self._keys: dict[int, object] = {}
        self._remembered: dict[int, object] = {}
        self._lists: dict[str, list[ManifestFile]] = {}
        self._entries: dict[EntriesKey, list[ManifestEntry]] = {}
        self._written: dict[object, ManifestFile] = {}
        self._created: list[str] = []
        self._own_lists: set[str] = set()
        self.attempt_number = 1
        self.engine_summary: Mapping[str, str] = engine_summary or {}

    @property
    def identifier(self) -> str:
        return self._pointer.identifier

    def now_ms(self) -> int:
        return self._pointer.effects.clock.now_ms()

    def snapshot_id(self, key: object, base: TableMetadata) -> int:
        """The id of the snapshot that an operation makes: one for all attempts, and no one else's."""
        known = self._snapshot_ids.get(id(key))
        if known is not None and not self._is_taken(known, base):
            return known
        for _ in range(MAX_SNAPSHOT_ID_DRAWS):
            drawn = self._pointer.effects.ids.snapshot_id()
            if not self._is_taken(drawn, base) and drawn not in self._snapshot_ids.values():
                self._snapshot_ids[id(key)] = drawn
                self._keys[id(key)] = key
                return drawn
        raise FloebergError(f"table {self.identifier}: no free snapshot id in {MAX_SNAPSHOT_ID_DRAWS} draws")

    def _is_taken(self, snapshot_id: int, base: TableMetadata) -> bool:
        return base.find_snapshot(snapshot_id) is not None

    def remember(self, key: object, make: Callable[[], T]) -> T:
        """What `make` gave for this key the first time, so that a replay has the same parts."""
        if id(key) not in self._remembered:
            self._remembered[id(key)] = make()
            self._keys[id(key)] = key
        return self._remembered[id(key)]  # type: ignore[return-value]

    def is_own(self, snapshot: Snapshot) -> bool:
        """Whether this commit made the snapshot. Ids may repeat in a broken world; manifest lists are named by uuid."""
        return snapshot.manifest_list is not None and snapshot.manifest_list in self._own_lists

    def manifests(self, snapshot: Snapshot, metadata: TableMetadata) -> list[ManifestFile]:
        """The manifests of a snapshot."""
        if snapshot.key_id is not None:
            raise UnsupportedFeature(f"table {self.identifier}: snapshot {snapshot.snapshot_id} is encrypted (key-id)")
        if snapshot.manifest_list is None:
            return [self._described(path, snapshot, metadata) for path in snapshot.manifests or ()]
        known = self._lists.get(snapshot.manifest_list)
        if known is None:
            known = list(read_manifest_list(self._read(snapshot.manifest_list)))
            self._lists[snapshot.manifest_list] = known
        return known

    def _described(self, path: str, snapshot: Snapshot, metadata: TableMetadata) -> ManifestFile:
        """A v1 manifest that no list describes: what a list would say is taken from the manifest itself."""
        bare = ManifestFile(
            manifest_path=path,
            manifest_length=self._pointer.store_for(path).size(path),
            partition_spec_id=metadata.default_spec_id,
            added_snapshot_id=snapshot.snapshot_id,
        )
        entries = self.entries(bare, metadata)
        spec_id = entries[0].data_file.spec_id if entries else bare.partition_spec_id
        return replace(bare, partition_spec_id=spec_id, **_counts(entries))  # type: ignore[arg-type]

    def entries(self, manifest: ManifestFile, metadata: TableMetadata) -> list[ManifestEntry]:
        """The entries of a manifest, after inheritance."""
        key = (manifest.manifest_path, manifest.sequence_number, manifest.first_row_id)
        known = self._entries.get(key)
        if known is None:
            known = read_manifest(
                self._read(manifest.manifest_path),
                manifest,
                partition_type=partition_type_of(metadata, manifest.partition_spec_id),
            )
            self._entries[key] = known
        return known

    def new_manifests(
        self,
        files: Sequence[DataFile],
        *,
        content: ManifestContent,
        metadata: TableMetadata,
        snapshot_id: int,
        data_sequence_number: int | None,
    ) -> list[ManifestFile]:
        """Manifests for files that this commit adds, one a spec. Ages and row ids are left to be inherited."""
        by_spec: dict[int, list[DataFile]] = {}
        for file in files:
            by_spec.setdefault(file.spec_id, []).append(file)
        manifests = []
        for spec_id, group in by_spec.items():
            key = ("new", content, spec_id, metadata.format_version, snapshot_id, id(files[0]), data_sequence_number)
            entries = [
                ManifestEntry(
                    status=EntryStatus.ADDED,
                    snapshot_id=snapshot_id,
                    data_sequence_number=data_sequence_number,
                    data_file=replace(file, first_row_id=None) if file.first_row_id is not None else file,
                )
                for file in group
            ]
            manifests.append(
                self._manifest(
                    key, entries, spec_id=spec_id, content=content, metadata=metadata, snapshot_id=snapshot_id
                )
            )
        return manifests

    def rewritten_without(
        self,
        manifest: ManifestFile,
        live: Sequence[ManifestEntry],
        doomed: Sequence[ManifestEntry],
        *,
        metadata: TableMetadata,
        snapshot_id: int,
    ) -> ManifestFile:
        """A manifest written anew with some entries marked deleted and the other live ones kept as existing."""
        gone = {id(entry) for entry in doomed}
        entries = [
            replace(entry, status=EntryStatus.DELETED, snapshot_id=snapshot_id)
            if id(entry) in gone
            else replace(entry, status=EntryStatus.EXISTING)
            for entry in live
        ]
        key = ("without", manifest.manifest_path, snapshot_id, metadata.format_version,
               frozenset(entry.data_file.identity for entry in doomed))  # fmt: skip
        return self._manifest(
            key,
            entries,
            spec_id=manifest.partition_spec_id,
            content=manifest.content,
            metadata=metadata,
            snapshot_id=snapshot_id,
        )

    def merged(self, group: Sequence[ManifestFile], *, metadata: TableMetadata, snapshot_id: int) -> ManifestFile:
        """Several manifests joined into one. Entries deleted by this very snapshot stay, older deleted ones go."""
        entries: list[ManifestEntry] = []
        for manifest in group:
            for entry in self.entries(manifest, metadata):
                own = entry.snapshot_id == snapshot_id
                if entry.status is EntryStatus.DELETED:
                    entries.extend([entry] if own else [])
                elif entry.status is EntryStatus.ADDED and own:
                    entries.append(entry)
                else:
                    entries.append(replace(entry, status=EntryStatus.EXISTING))
        key = ("merged", tuple(manifest.manifest_path for manifest in group), snapshot_id, metadata.format_version)
        return self._manifest(
            key,
            entries,
            spec_id=group[0].partition_spec_id,
            content=group[0].content,
            metadata=metadata,
            snapshot_id=snapshot_id,
        )

    def existing_manifest(
        self,
        entries: Sequence[ManifestEntry],
        *,
        spec_id: int,
        content: ManifestContent,
        metadata: TableMetadata,
        snapshot_id: int,
    ) -> ManifestFile:
        """A manifest of entries that are live already."""
        kept = [replace(entry, status=EntryStatus.EXISTING) for entry in entries]
        key = ("existing", spec_id, content, snapshot_id, metadata.format_version,
               tuple(entry.data_file.identity for entry in kept))  # fmt: skip
        return self._manifest(key, kept, spec_id=spec_id, content=content, metadata=metadata, snapshot_id=snapshot_id)

    def _manifest(
        self,
        key: object,
        entries: Sequence[ManifestEntry],
        *,
        spec_id: int,
        content: ManifestContent,
        metadata: TableMetadata,
        snapshot_id: int,
    ) -> ManifestFile:
        known = self._written.get(key)
        if known is not None:
            return known
        location = self._metadata_location(metadata, f"{self._commit_uuid}-m{self._manifest_number}.avro")
        self._manifest_number += 1
        written = write_manifest(
            entries,
            spec=metadata.spec(spec_id),
            schema=metadata.current_schema,
            format_version=metadata.format_version,
            content=content,
            snapshot_id=snapshot_id,
            partition_type=partition_type_of(metadata, spec_id),
            codec=metadata.properties.get("write.avro.compression-codec", "gzip"),
        )
        self._write(location, written.data)
        manifest = written.to_manifest_file(location)
        self._written[key] = manifest
        # As they are, without an age: only a merge in this very attempt reads them so.
        self._entries[location, manifest.sequence_number, None] = list(entries)
        return manifest

    def write_snapshot(
        self,
        base: TableMetadata,
        *,
        snapshot_id: int,
        parent: Snapshot | None,
        manifests: Sequence[ManifestFile],
        operation: str,
        summary: Mapping[str, str],
    ) -> Snapshot:
        """Writes the manifest list, where ages and row ids are given, and describes the snapshot."""
        sequence_number = base.next_sequence_number
        first_row_id = base.next_row_id if base.format_version >= 3 else None
        listed = [_with_sequence_number(manifest, sequence_number) for manifest in manifests]
        added_rows: int | None = None
        if first_row_id is not None:
            listed, next_row_id = _with_first_row_ids(listed, first_row_id)
            added_rows = next_row_id - first_row_id
        name = f"snap-{snapshot_id}-{self.attempt_number}-{self._commit_uuid}.avro"
        location = self._metadata_location(base, name)
        self._write(
            location,
            write_manifest_list(
                listed,
                format_version=base.format_version,
                snapshot_id=snapshot_id,
                parent_snapshot_id=None if parent is None else parent.snapshot_id,
                sequence_number=sequence_number,
                first_row_id=first_row_id,
            ),
        )
        self._own_lists.add(location)
        self._lists[location] = listed
        return Snapshot(
            snapshot_id=snapshot_id,
            parent_snapshot_id=None if parent is None else parent.snapshot_id,
            sequence_number=sequence_number,
            timestamp_ms=self.now_ms(),
            manifest_list=location,
            operation=operation,
            summary=dict(summary),
            schema_id=base.current_schema_id,
            first_row_id=first_row_id,
            added_rows=added_rows,
        )

    def clean_up(self, *, keep: TableMetadata | None) -> None:
        """Removes what the commit wrote and nothing refers to. Only called when the outcome is proved: `keep` is the
        committed metadata, or None when the commit was rejected."""
        kept: set[str] = set()
        if keep is not None:
            committed = {
                snapshot_id for snapshot_id in self._snapshot_ids.values() if keep.snapshots.has_id(snapshot_id)
            }
            for location in {keep.snapshot(snapshot_id).manifest_list for snapshot_id in committed}:
                if location in self._own_lists:
                    kept.add(location)
                    kept.update(manifest.manifest_path for manifest in self._lists[location])
        for location in self._created:
            if location not in kept:
                self._pointer.store_for(location).delete(location)
        self._created = [location for location in self._created if location in kept]

    def _metadata_location(self, metadata: TableMetadata, name: str) -> str:
        folder = metadata.properties.get("write.metadata.path") or join(metadata.location, "metadata")
        return join(folder, name)

    def _write(self, location: str, content: bytes) -> None:
        self._created.append(location)
        self._pointer.store_for(location).write(location, content)

    def _read(self, location: str) -> bytes:
        return self._pointer.store_for(location).read(location)


def _with_sequence_number(manifest: ManifestFile, sequence_number: int) -> ManifestFile:
    """A manifest that this commit wrote has the commit's age; entries that keep an older one keep its minimum."""
    if manifest.sequence_number != UNASSIGNED_SEQUENCE_NUMBER:
        return manifest
    least = manifest.min_sequence_number
    return replace(
        manifest,
        sequence_number=sequence_number,
        min_sequence_number=sequence_number if least == UNASSIGNED_SEQUENCE_NUMBER else least,
    )


def _with_first_row_ids(manifests: Sequence[ManifestFile], first_row_id: int) -> tuple[list[ManifestFile], int]:
    """Gives every data manifest that has none a first row id. https://iceberg.apache.org/spec/#first-row-id-assignment"""
    data = [manifest for manifest in manifests if manifest.content is ManifestContent.DATA]
    assigned, next_row_id = assign_first_row_ids(
        first_row_id,
        [(m.first_row_id, (m.added_rows_count or 0) + (m.existing_rows_count or 0)) for m in data],
    )
    ids = {manifest.manifest_path: row_id for manifest, row_id in zip(data, assigned, strict=True)}
    return [
        replace(m, first_row_id=ids[m.manifest_path]) if m.content is ManifestContent.DATA else m for m in manifests
    ], next_row_id


def _counts(entries: Sequence[ManifestEntry]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for status in EntryStatus:
        group = [entry for entry in entries if entry.status is status]
        counts[f"{status.name.lower()}_files_count"] = len(group)
        counts[f"{status.name.lower()}_rows_count"] = sum(entry.data_file.record_count for entry in group)
    return counts
