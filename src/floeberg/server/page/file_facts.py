"""The live files of a snapshot as one frame, and what can be said of them by partition and size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from floeberg.files.manifest import partition_tuples
from floeberg.inspect.source import Source
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_properties import integer_property
from floeberg.spec.snapshots.manifest_entry import EntryStatus, FileContent, ManifestContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot

TARGET_SIZE: Final = "write.target-file-size-bytes"
DEFAULT_TARGET_SIZE: Final = 512 * 1024 * 1024
SMALL: Final = 0.25
"""Of the target size: smaller files are worth compacting."""
_COLUMNS: Final = {
    "file_path": pl.String, "content": pl.Int32, "record_count": pl.Int64, "file_size_in_bytes": pl.Int64,
    "sequence_number": pl.Int64, "spec_id": pl.Int32,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """A partition's share of the table."""

    path: str
    files: int
    rows: int
    size_in_bytes: int
    small_files: int


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The live files, and their partitions by size, the largest first."""

    files: pl.DataFrame
    partitions: list[PartitionFacts]
    partition_count: int
    small_below: int

    @property
    def data(self) -> pl.DataFrame:
        return self.files.filter(pl.col("content") == FileContent.DATA)

    @property
    def small(self) -> int:
        return int((self.data.get_column("file_size_in_bytes") < self.small_below).sum())

    @property
    def skew(self) -> float | None:
        """How many times the median partition the largest one is; None with fewer than two."""
        sizes = sorted(one.size_in_bytes for one in self.partitions)
        if len(sizes) < 2 or sizes[len(sizes) // 2] == 0:
            return None
        return sizes[-1] / sizes[len(sizes) // 2]


def small_below(metadata: TableMetadata) -> int:
    """The size below which a data file counts as small."""
    return int(SMALL * integer_property(metadata.properties, TARGET_SIZE, DEFAULT_TARGET_SIZE))


def live_files(source: Source, snapshot: Snapshot | None, content: ManifestContent | None = None) -> pl.DataFrame:
    """The live files of a snapshot, one row each, without partition values."""
    frames = [pl.DataFrame(schema=_COLUMNS)]
    for manifest, frame in source.frames(source.manifests(snapshot, content), with_metrics=False):
        frames.append(_files(manifest, _live(frame)))
    return pl.concat(frames)


def file_facts(source: Source, snapshot: Snapshot | None, *, most_partitions: int) -> FileFacts:
    """What the files of a snapshot are."""
    limit = small_below(source.metadata)
    files = [pl.DataFrame(schema=_COLUMNS)]
    by_spec: dict[int, list[pl.DataFrame]] = {}
    for manifest, frame in source.frames(source.manifests(snapshot), with_metrics=False):
        live = _live(frame)
        files.append(_files(manifest, live))
        if manifest.content is ManifestContent.DATA:
            partitions = live.select("partition", "record_count", "file_size_in_bytes")
            by_spec.setdefault(manifest.partition_spec_id, []).append(partitions)
    groups = {spec_id: _grouped(pl.concat(frames), limit) for spec_id, frames in by_spec.items()}
    found = [one for spec_id, group in groups.items() for one in _facts(source, spec_id, group.head(most_partitions))]
    found.sort(key=lambda one: one.size_in_bytes, reverse=True)
    count = sum(group.height for group in groups.values())
    return FileFacts(pl.concat(files), found[:most_partitions], count, limit)


def _live(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(pl.col("status") != EntryStatus.DELETED)


def _files(manifest: ManifestFile, live: pl.DataFrame) -> pl.DataFrame:
    spec_id = pl.lit(manifest.partition_spec_id, dtype=pl.Int32).alias("spec_id")
    return live.with_columns(spec_id).select([pl.col(name).cast(kind) for name, kind in _COLUMNS.items()])


def _grouped(frame: pl.DataFrame, limit: int) -> pl.DataFrame:
    size = pl.col("file_size_in_bytes")
    return (
        frame.group_by("partition")
        .agg(
            pl.len().alias("files"),
            pl.col("record_count").sum(),
            (size < limit).sum().alias("small"),
            size.sum(),
        )
        .sort("file_size_in_bytes", descending=True)
    )


def _facts(source: Source, spec_id: int, group: pl.DataFrame) -> list[PartitionFacts]:
    metadata = source.metadata
    spec = metadata.spec(spec_id)
    partition_type = source.reader.partition_type(spec)
    values = partition_tuples(group.get_column("partition"), partition_type)
    rows = group.select("files", "record_count", "file_size_in_bytes", "small").rows()
    return [
        PartitionFacts(
            path=spec.path(metadata.current_schema, partition) or "(the whole table)",
            files=files,
            rows=records,
            size_in_bytes=size,
            small_files=small,
        )
        for partition, (files, records, size, small) in zip(values, rows, strict=True)
    ]
