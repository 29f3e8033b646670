"""The workspace of one commit: reads manifests, writes new ones, and keeps both over the attempts.

The next attempt reuses a manifest that is unchanged, because new files inherit sequence numbers and row ids from the manifest
list. The workspace knows every file that the commit wrote, so that it can remove them when, and only when, it is proven that
nothing refers to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import polars as pl

from floeberg.commit.pointer import TablePointer
from floeberg.errors import FloebergError, StorageError, UnsupportedFeature
from floeberg.files.manifest import WrittenManifest, read_manifest, unlisted_manifest, write_manifest
from floeberg.files.manifest import entries as entries_of
from floeberg.files.manifest_frame import manifest_frame
from floeberg.files.manifest_list import read_manifest_list
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_properties import integer_property
from floeberg.spec.snapshots.manifest_entry import EntryStatus, ManifestContent, ManifestEntry, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.storage.location import join

T = TypeVar("T")

MAX_SNAPSHOT_ID_DRAWS: Final = 100
COMPRESSION: Final = "write.manifest.compression-codec"
COMPRESSION_LEVEL: Final = "write.manifest.compression-level"

EntriesKey = tuple[str, int, int | None]
"""(path, sequence number, first row id): each attempt lists the manifests of this commit with another sequence number."""


class Workspace:
    """What one commit reads and writes, over all its attempts."""

    def __init__(self, pointer: TablePointer, *, engine_summary: Mapping[str, str] | None = None) -> None:
        self._pointer = pointer
        self.commit_uuid = pointer.effects.ids.uuid()
        self._manifest_number = 0
        self._snapshot_ids: dict[int, int] = {}
        self._keys: dict[int, object] = {}
        self._remembered: dict[int, object] = {}
        self._lists: dict[str, list[ManifestFile]] = {}
        self._described: dict[tuple[str, int], ManifestFile] = {}
        self._entries: dict[EntriesKey, list[ManifestEntry]] = {}
        self._written: dict[object, ManifestFile] = {}
        self._created: list[str] = []
        self._own_lists: set[str] = set()
        self.attempt_number = 1
        self.engine_summary: Mapping[str, str] = engine_summary or {}
        self.transaction_summary: Mapping[str, str] = {}

    @property
    def identifier(self) -> str:
        return self._pointer.identifier

    def now_ms(self) -> int:
        return self._pointer.effects.clock.now_ms()

    def snapshot_id(self, key: object, base: TableMetadata) -> int:
        """The id of the snapshot that an operation makes: the same in all attempts, and unique in the table."""
        known = self._snapshot_ids.get(id(key))
        if known is not None and not base.snapshots.has_id(known):
            return known
        for _ in range(MAX_SNAPSHOT_ID_DRAWS):
            drawn = self._pointer.effects.ids.snapshot_id()
            if not base.snapshots.has_id(drawn) and drawn not in self._snapshot_ids.values():
                self._snapshot_ids[id(key)] = drawn
                self._keys[id(key)] = key
                return drawn
        raise FloebergError(f"table {self.identifier}: no free snapshot id in {MAX_SNAPSHOT_ID_DRAWS} draws")

    def remember(self, key: object, make: Callable[[], T]) -> T:
        """The result of the first `make` for this key, so that a replay reuses it."""
        if id(key) not in self._remembered:
            self._remembered[id(key)] = make()
            self._keys[id(key)] = key
        return self._remembered[id(key)]  # type: ignore[return-value]

    def is_own(self, snapshot: Snapshot) -> bool:
        """Whether this commit made the snapshot. Snapshot ids can collide; the names of manifest lists have a uuid."""
        return snapshot.manifest_list is not None and snapshot.manifest_list in self._own_lists

    # reading

    def manifests(self, snapshot: Snapshot, metadata: TableMetadata) -> list[ManifestFile]:
        """The manifests of a snapshot. Raises UnsupportedFeature for an encrypted one."""
        if snapshot.key_id is not None:
            raise UnsupportedFeature(
                f"table {self.identifier}: snapshot {snapshot.snapshot_id} is encrypted (key-id {snapshot.key_id}), which "
                "is not supported; read the table with an engine that holds its keys",
                snapshot_id=snapshot.snapshot_id,
            )
        if snapshot.manifest_list is None:
            return [self._from_manifest(path, snapshot, metadata) for path in snapshot.manifests or ()]
        known = self._lists.get(snapshot.manifest_list)
        if known is None:
            known = list(read_manifest_list(self._read(snapshot.manifest_list), location=snapshot.manifest_list))
            self._lists[snapshot.manifest_list] = known
        return known

    def _from_manifest(self, path: str, snapshot: Snapshot, metadata: TableMetadata) -> ManifestFile:
        """A v1 manifest that no list describes: what a list would say is taken from the manifest itself."""
        key = (path, snapshot.snapshot_id)
        known = self._described.get(key)
        if known is None:
            data = self._read(path)
            spec_id = metadata.default_spec_id
            unlisted = unlisted_manifest(data, path, snapshot_id=snapshot.snapshot_id, default_spec_id=spec_id)
            known = self._described[key] = self.counted(unlisted, metadata)
        return known

    def counted(self, manifest: ManifestFile, metadata: TableMetadata) -> ManifestFile:
        """The manifest with its counts, which v1 lists may leave out, from its entries."""
        if None not in (manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count,
                        manifest.added_rows_count, manifest.existing_rows_count, manifest.deleted_rows_count):  # fmt: skip
            return manifest
        return replace(manifest, **_counts(self.entries(manifest, metadata)))  # type: ignore[arg-type]

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

    def live_entries(self, manifest: ManifestFile, metadata: TableMetadata) -> list[ManifestEntry]:
        """The entries of a manifest whose files are in the table."""
        return [entry for entry in self.entries(manifest, metadata) if entry.status is not EntryStatus.DELETED]

    def find(
        self, manifests: Iterable[ManifestFile], metadata: TableMetadata, *, column: str, values: Sequence[str]
    ) -> Iterator[ManifestEntry]:
        """The live entries whose file has one of the values in a column (`file_path`, `referenced_data_file`). Manifests
        that are not known yet are searched as columns, and only what is found becomes entries."""
        wanted = set(values)
        for manifest in manifests:
            if not manifest.may_have_live_files:
                continue
            known = self._entries.get((manifest.manifest_path, manifest.sequence_number, manifest.first_row_id))
            if known is None:
                kind = partition_type_of(metadata, manifest.partition_spec_id)
                frame = manifest_frame(self._read(manifest.manifest_path), manifest, partition_type=kind)
                known = entries_of(frame.filter(pl.col(column).is_in(list(wanted))), kind)
            for entry in known:
                if entry.status is not EntryStatus.DELETED and getattr(entry.data_file, column) in wanted:
                    yield entry

    # writing

    def put_manifest(
        self,
        entries: Sequence[ManifestEntry],
        *,
        spec_id: int,
        content: ManifestContent,
        metadata: TableMetadata,
        snapshot_id: int,
    ) -> ManifestFile:
        """A manifest of these entries, in their order; one that an earlier attempt wrote with the same entries is reused."""
        key = (spec_id, content, metadata.format_version, snapshot_id, tuple(_entry_key(entry) for entry in entries))
        known = self._written.get(key)
        if known is not None:
            return known
        location = self.metadata_location(metadata, f"{self.commit_uuid}-m{self._manifest_number}.avro")
        self._manifest_number += 1
        written = encode_manifest(entries, spec_id=spec_id, content=content, metadata=metadata, snapshot_id=snapshot_id)
        self._write(location, written.data)
        manifest = written.to_manifest_file(location)
        self._written[key] = manifest
        # Without inherited sequence numbers: only a merge in this attempt reads them.
        self._entries[location, manifest.sequence_number, None] = list(entries)
        return manifest

    def put_list(self, location: str, data: bytes, manifests: list[ManifestFile]) -> None:
        """Writes the manifest list of a snapshot of this commit."""
        self._write(location, data)
        self._own_lists.add(location)
        self._lists[location] = manifests

    def metadata_location(self, metadata: TableMetadata, name: str) -> str:
        """Where a manifest or manifest list of that name goes."""
        folder = metadata.properties.get("write.metadata.path") or join(metadata.location, "metadata")
        return join(folder, name)

    # the end

    def clean_up(self, *, keep: TableMetadata | None) -> None:
        """Removes files of the commit that nothing refers to. Only called when the outcome is proven: `keep` is the committed
        metadata, or None when the commit was rejected. A file that cannot be removed is left to orphan removal: it must not
        hide the outcome."""
        kept: set[str] = set()
        for snapshot_id in () if keep is None else self._snapshot_ids.values():
            snapshot = keep.find_snapshot(snapshot_id) if keep is not None else None
            if snapshot is not None and snapshot.manifest_list in self._own_lists:
                assert snapshot.manifest_list is not None
                kept.add(snapshot.manifest_list)
                kept.update(manifest.manifest_path for manifest in self._lists[snapshot.manifest_list])
        for location in self._created:
            if location in kept:
                continue
            try:
                self._pointer.store_for(location).delete(location)
            except StorageError:
                continue  # an orphan file costs space, nothing else
        self._created = [location for location in self._created if location in kept]

    def _write(self, location: str, content: bytes) -> None:
        self._created.append(location)
        self._pointer.store_for(location).write(location, content)

    def _read(self, location: str) -> bytes:
        return self._pointer.store_for(location).read(location)


def encode_manifest(
    entries: Sequence[ManifestEntry],
    *,
    spec_id: int,
    content: ManifestContent,
    metadata: TableMetadata,
    snapshot_id: int,
) -> WrittenManifest:
    """A manifest's bytes, compressed as the table's properties say."""
    properties = metadata.properties
    return write_manifest(
        entries,
        spec=metadata.spec(spec_id),
        schema=metadata.current_schema,
        format_version=metadata.format_version,
        content=content,
        snapshot_id=snapshot_id,
        partition_type=partition_type_of(metadata, spec_id),
        codec=properties.get(COMPRESSION, "gzip"),
        level=integer_property(properties, COMPRESSION_LEVEL, 0) if COMPRESSION_LEVEL in properties else None,
    )


def _entry_key(entry: ManifestEntry) -> tuple[object, ...]:
    """The part of a manifest's entry that may change from one attempt to the next."""
    file = entry.data_file
    return (
        entry.status,
        entry.snapshot_id,
        entry.data_sequence_number,
        entry.file_sequence_number,
        file.identity,
        file.first_row_id,
    )


def _counts(entries: Sequence[ManifestEntry]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for status in EntryStatus:
        group = [entry for entry in entries if entry.status is status]
        counts[f"{status.name.lower()}_files_count"] = len(group)
        counts[f"{status.name.lower()}_rows_count"] = sum(entry.data_file.record_count for entry in group)
    return counts
