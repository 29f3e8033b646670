"""What the metadata tables are read from: a table's metadata, its manifest lists and its manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

import polars as pl

from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.manifest_frames import ManifestReader, StoreFor
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.spec.metadata.partition_union import unified_partition_type
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import ManifestContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.types import StructType

THREADS: Final = 2
"""How many manifests are decoded at a time; the reader works a few ahead, which is what a stream holds in memory."""
_LISTED_AHEAD: Final = 64


@dataclass(frozen=True)
class Source:
    """A table as it was loaded, and where its files are. `store_for` gives the store of a location."""

    metadata: TableMetadata
    store_for: StoreFor
    metadata_location: str | None = None
    cache: FrameCache | None = None

    @cached_property
    def reader(self) -> ManifestReader:
        return ManifestReader(
            self.metadata, self.metadata.current_schema, self.store_for, cache=self.cache, threads=THREADS
        )

    @cached_property
    def partition_type(self) -> StructType:
        """The partition type over all specs."""
        return unified_partition_type(self.metadata)

    def snapshot(
        self, *, snapshot_id: int | None = None, ref: str | None = None, as_of_ms: int | None = None
    ) -> Snapshot | None:
        """The snapshot asked for; None where the table has none. Raises SnapshotNotFound, RefNotFound, InvalidInput."""
        return choose_snapshot(self.metadata, snapshot_id=snapshot_id, ref=ref, as_of_ms=as_of_ms).snapshot

    def manifests(self, snapshot: Snapshot | None, content: ManifestContent | None = None) -> list[ManifestFile]:
        """The manifests of a snapshot, of one content when it is given."""
        listed = () if snapshot is None else self.reader.manifests(snapshot)
        return [manifest for manifest in listed if content is None or manifest.content is content]

    def all_manifests(self, content: ManifestContent | None = None) -> Iterator[ManifestFile]:
        """The manifests of every snapshot that the table has, each once."""
        seen: set[str] = set()
        for snapshot in self.metadata.snapshots:
            for manifest in self.manifests(snapshot, content):
                if manifest.manifest_path not in seen:
                    seen.add(manifest.manifest_path)
                    yield manifest

    def frames(
        self, manifests: Iterable[ManifestFile], *, with_metrics: bool
    ) -> Iterator[tuple[ManifestFile, pl.DataFrame]]:
        """Each manifest with its entries, deleted ones too, in the order given and a few read ahead."""
        left = iter(manifests)
        while ahead := list(islice(left, _LISTED_AHEAD)):
            read = self.reader.in_parallel(lambda m: self.reader.frame(m, with_metrics=with_metrics), ahead)
            yield from zip(ahead, read, strict=True)

    def own_partition_type(self, manifest: ManifestFile) -> StructType:
        """The partition type of a manifest's spec, without the fields that hold nothing because they are void."""
        spec = self.reader.spec(manifest)
        kept = {field.field_id for field in spec.fields if str(field.transform) != "void"}
        return StructType(tuple(m for m in self.reader.partition_type(spec) if m.field_id in kept))
