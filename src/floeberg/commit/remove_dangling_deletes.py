"""Removing delete files that delete nothing any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from floeberg.commit.delete_scope import single_referenced_path
from floeberg.commit.filtering import Removal
from floeberg.commit.history import REPLACE
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.partitions import PartitionKey, partition_key
from floeberg.commit.producer import SnapshotChange, branch_head, produce_snapshot
from floeberg.commit.workspace import Workspace
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestContent, ManifestEntry


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoveDanglingDeletes:
    """Removes deletes that apply to no live data file of the branch. Each attempt decides anew on what is there then."""

    target: SnapshotTarget = SnapshotTarget()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        head = branch_head(base, self.target.branch, workspace)
        manifests = [] if head is None else workspace.manifests(head, base)
        entries: dict[ManifestContent, list[ManifestEntry]] = {content: [] for content in ManifestContent}
        for manifest in manifests:
            entries[manifest.content] += workspace.live_entries(manifest, base)
        dangling = dangling_deletes(entries[ManifestContent.DATA], entries[ManifestContent.DELETES], base)
        if not dangling:
            return []
        change = SnapshotChange(operation=REPLACE, removed_deletes=Removal.of(dangling))
        return produce_snapshot(base, workspace, key=self, target=self.target, change=change)


def dangling_deletes(
    data: Sequence[ManifestEntry], deletes: Sequence[ManifestEntry], metadata: TableMetadata
) -> list[DataFile]:
    """The delete files that apply to none of the data files: https://iceberg.apache.org/spec/#scan-planning"""
    ages = _Ages()
    for entry in data:
        ages.add(entry)
    return [entry.data_file for entry in deletes if not _applies(entry, ages, metadata)]


@dataclass(slots=True)
class _Ages:
    """The lowest data sequence number of a table's data files: by path, by partition, and of all."""

    by_path: dict[str, int] = field(default_factory=dict)
    by_partition: dict[PartitionKey, int] = field(default_factory=dict)
    lowest: int | None = None

    def add(self, entry: ManifestEntry) -> None:
        number = entry.data_sequence_number or 0
        key = partition_key(entry.data_file)
        self.by_path[entry.data_file.file_path] = number
        self.by_partition[key] = min(number, self.by_partition.get(key, number))
        self.lowest = number if self.lowest is None else min(number, self.lowest)


def _applies(entry: ManifestEntry, ages: _Ages, metadata: TableMetadata) -> bool:
    deletes, number = entry.data_file, entry.data_sequence_number or 0
    if deletes.content is FileContent.EQUALITY_DELETES:
        everywhere = metadata.spec(deletes.spec_id).is_unpartitioned
        oldest = ages.lowest if everywhere else ages.by_partition.get(partition_key(deletes))
        return oldest is not None and oldest < number
    path = single_referenced_path(deletes)
    oldest = ages.by_partition.get(partition_key(deletes)) if path is None else ages.by_path.get(path)
    return oldest is not None and oldest <= number
