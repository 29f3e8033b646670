"""Snapshot summaries: what a commit added and removed, and the table's totals after it.
https://iceberg.apache.org/spec/#optional-snapshot-summary-fields"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from floeberg.spec.data_file import DataFile, FileContent
from floeberg.spec.metadata import TableMetadata

TOTALS = (
    ("total-records", "added-records", "deleted-records"),
    ("total-files-size", "added-files-size", "removed-files-size"),
    ("total-data-files", "added-data-files", "deleted-data-files"),
    ("total-delete-files", "added-delete-files", "removed-delete-files"),
    ("total-position-deletes", "added-position-deletes", "removed-position-deletes"),
    ("total-equality-deletes", "added-equality-deletes", "removed-equality-deletes"),
)


@dataclass(slots=True)
class SummaryBuilder:
    """Counts files as they are added and removed."""

    metadata: TableMetadata
    counts: dict[str, int] = field(default_factory=dict)
    partitions: dict[tuple[int, tuple[object, ...]], dict[str, int]] = field(default_factory=dict)

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
        partition = self.partitions.setdefault((file.spec_id, file.partition), {})
        for key, number in counts.items():
            self.counts[key] = self.counts.get(key, 0) + number
            partition[key] = partition.get(key, 0) + number

    def build(self, previous: Mapping[str, str] | None, extra: Mapping[str, str]) -> dict[str, str]:
        """The summary without `operation`. Totals continue the previous summary's, and are left out where it does not
        give them (its writer did not know)."""
        summary = {key: str(number) for key, number in self.counts.items() if number}
        if self.partitions:
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
        limit = int(self.metadata.properties.get("write.summary.partition-limit", "0"))
        if not self.partitions or len(self.partitions) > limit:
            return {}
        shown = {"partition-summaries-included": "true"}
        for (spec_id, partition), counts in self.partitions.items():
            spec = self.metadata.spec(spec_id)
            path = spec.path(self.metadata.current_schema, partition)
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


def operation_of(added: Sequence[DataFile], removed_any: bool) -> str:
    """append, delete or overwrite, by what a change of rows did."""
    adds_data = any(file.content is FileContent.DATA for file in added)
    deletes = removed_any or any(file.content is not FileContent.DATA for file in added)
    if adds_data:
        return "overwrite" if deletes else "append"
    return "delete" if deletes else "append"
