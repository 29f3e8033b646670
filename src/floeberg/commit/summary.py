"""Snapshot summaries: what a commit added and removed, and the table's totals after it.
https://iceberg.apache.org/spec/#optional-snapshot-summary-fields"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floeberg.commit.partitions import PartitionKey, partition_key
from floeberg.spec.metadata.partition_types import source_schema
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_properties import integer_property
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent

TOTALS: Final = (
    ("total-records", "added-records", "deleted-records"),
    ("total-files-size", "added-files-size", "removed-files-size"),
    ("total-data-files", "added-data-files", "deleted-data-files"),
    ("total-delete-files", "added-delete-files", "removed-delete-files"),
    ("total-position-deletes", "added-position-deletes", "removed-position-deletes"),
    ("total-equality-deletes", "added-equality-deletes", "removed-equality-deletes"),
)
PARTITION_LIMIT: Final = "write.summary.partition-limit"


@dataclass(slots=True)
class SummaryBuilder:
    """Counts files as they are added and removed."""

    metadata: TableMetadata
    counts: dict[str, int] = field(default_factory=dict)
    partitions: dict[PartitionKey, tuple[DataFile, dict[str, int]]] = field(default_factory=dict)
    duplicates: int = 0
    """Duplicate entries of files that another entry has already."""

    def added(self, file: DataFile) -> None:
        if file.content is FileContent.DATA:
            self._count(file, {"added-data-files": 1, "added-records": file.record_count})
        else:
            self._count(file, {"added-delete-files": 1, **_delete_counts(file, "added")})
        self._count(file, {"added-files-size": _size(file)})

    def removed(self, file: DataFile) -> None:
        if file.content is FileContent.DATA:
            self._count(file, {"deleted-data-files": 1, "deleted-records": file.record_count})
        else:
            self._count(file, {"removed-delete-files": 1, **_delete_counts(file, "removed")})
        self._count(file, {"removed-files-size": _size(file)})

    def _count(self, file: DataFile, counts: Mapping[str, int]) -> None:
        _, partition = self.partitions.setdefault(partition_key(file), (file, {}))
        for key, number in counts.items():
            self.counts[key] = self.counts.get(key, 0) + number
            partition[key] = partition.get(key, 0) + number

    def build(self, previous: Mapping[str, str] | None, extra: Mapping[str, str]) -> dict[str, str]:
        """The summary without `operation`. Totals continue those of the previous summary, and are left out if it has none."""
        summary = {key: str(number) for key, number in self.counts.items() if number}
        if self.duplicates:
            summary["deleted-duplicate-files"] = str(self.duplicates)
        summary["changed-partition-count"] = str(len(self.partitions))
        summary.update(self._partition_summaries())
        for total, plus, minus in TOTALS:
            before = "0" if previous is None else previous.get(total)
            if before is None or not before.isdecimal():
                continue
            after = int(before) + self.counts.get(plus, 0) - self.counts.get(minus, 0)
            if after >= 0:
                summary[total] = str(after)
        summary.update(extra)
        return summary

    def _partition_summaries(self) -> dict[str, str]:
        limit = integer_property(self.metadata.properties, PARTITION_LIMIT, 0)
        if not self.partitions or len(self.partitions) > limit:
            return {}
        shown = {"partition-summaries-included": "true"}
        for file, counts in self.partitions.values():
            spec = self.metadata.spec(file.spec_id)
            if path := spec.path(source_schema(self.metadata, file.spec_id), file.partition):
                shown[f"partitions.{path}"] = ",".join(f"{key}={number}" for key, number in counts.items() if number)
        return shown


def _delete_counts(file: DataFile, verb: str) -> dict[str, int]:
    if file.content is FileContent.EQUALITY_DELETES:
        return {f"{verb}-equality-delete-files": 1, f"{verb}-equality-deletes": file.record_count}
    kind = f"{verb}-dvs" if file.is_deletion_vector else f"{verb}-position-delete-files"
    return {kind: 1, f"{verb}-position-deletes": file.record_count}


def _size(file: DataFile) -> int:
    """A deletion vector counts with its own blob, not with the Puffin file that it shares with others."""
    if file.is_deletion_vector and file.content_size_in_bytes is not None:
        return file.content_size_in_bytes
    return file.file_size_in_bytes
