"""Reads a snapshot's manifests as frames: in parallel threads, through the table's stores, each but once.

https://iceberg.apache.org/spec/#manifests
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

import polars as pl

from floeberg.effects.protocols import Store
from floeberg.errors import FormatError, InvalidInput, ManifestCorrupt, UnsupportedFeature
from floeberg.files.manifest import unlisted_manifest
from floeberg.files.manifest_frame import manifest_frame
from floeberg.files.manifest_list import read_manifest_list
from floeberg.files.metric_columns import ALL_MAPS, metric_names
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.manifest_threads import ManifestThreads
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import ManifestContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.types import StructType, UnknownType

T = TypeVar("T")
StoreFor: TypeAlias = Callable[[str], Store]

DEFAULT_THREADS: Final = 8
ENTRY_COLUMNS: Final = ("status", "snapshot_id", "sequence_number", "file_sequence_number", "content", "spec_id")
DATA_COLUMNS: Final = (
    "file_path", "file_format", "partition", "record_count", "file_size_in_bytes", "key_metadata", "split_offsets",
    "sort_order_id", "first_row_id",
)  # fmt: skip
DELETE_COLUMNS: Final = (
    *DATA_COLUMNS, "equality_ids", "referenced_data_file", "content_offset", "content_size_in_bytes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FilesOfSpec:
    """Files of one partition spec, columns named as in manifests; `partition` is a struct by partition field id."""

    spec: PartitionSpec
    partition_type: StructType
    frame: pl.DataFrame

    def with_column(self, column: pl.Series) -> FilesOfSpec:
        """The files with one column more."""
        return FilesOfSpec(self.spec, self.partition_type, self.frame.with_columns(column))


class ManifestReader:
    """Reads manifests of one table, with partition values as the schema of one scan types them."""

    def __init__(
        self,
        metadata: TableMetadata,
        schema: Schema,
        store_for: StoreFor,
        *,
        cache: FrameCache | None = None,
        threads: int = DEFAULT_THREADS,
    ) -> None:
        self._metadata = metadata
        self._schema = schema
        self._store_for = store_for
        self._cache = cache
        self._threads = ManifestThreads(threads)
        self._partition_types: dict[int, StructType] = {}

    def manifests(self, snapshot: Snapshot) -> tuple[ManifestFile, ...]:
        """The manifests of a snapshot. Raises UnsupportedFeature when they are encrypted."""
        if snapshot.key_id is not None:
            raise UnsupportedFeature(
                f"table {self._metadata.location}: snapshot {snapshot.snapshot_id} is encrypted (key-id); encrypted "
                "tables cannot be read here",
                snapshot_id=snapshot.snapshot_id,
            )
        key = ("list", snapshot.manifest_list or snapshot.manifests)
        known = None if self._cache is None else self._cache.manifests(key)
        if known is None:
            known = self._read_list(snapshot)
            if self._cache is not None:
                self._cache.keep(key, known)
        for manifest in known:
            if manifest.key_metadata:
                raise UnsupportedFeature(
                    f"manifest {manifest.manifest_path} is encrypted (key_metadata); encrypted tables cannot be read here",
                    manifest=manifest.manifest_path,
                )
        return known

    def spec(self, manifest: ManifestFile) -> PartitionSpec:
        """The spec that a manifest was written with. Raises ManifestCorrupt when the table has no such spec."""
        try:
            return self._metadata.spec(manifest.partition_spec_id)
        except InvalidInput as error:
            raise ManifestCorrupt(
                f"manifest {manifest.manifest_path} is of partition spec {manifest.partition_spec_id}, which table "
                f"{self._metadata.location} does not have",
                manifest=manifest.manifest_path,
            ) from error

    def partition_type(self, spec: PartitionSpec) -> StructType:
        """The type of a spec's partition tuples, by the scan's schema and, for columns it lacks, by the others."""
        known = self._partition_types.get(spec.spec_id)
        if known is None:
            sources = {source_id for field in spec.fields for source_id in field.source_ids}
            if sources <= self._schema.by_id.keys():
                known = spec.partition_type(self._schema)
            else:
                known = partition_type_of(self._metadata, spec.spec_id)
            self._partition_types[spec.spec_id] = known
        return known

    def frame(
        self, manifest: ManifestFile, *, metrics_of: Collection[int] = (), with_metrics: bool = False
    ) -> pl.DataFrame:
        """A manifest's entries, deleted ones too, after inheritance: the plain columns, the metrics of some fields
        (`files.metric_columns`), and with `with_metrics` the metrics maps as they are. Raises FormatError."""
        plain = DATA_COLUMNS if manifest.content is ManifestContent.DATA else DELETE_COLUMNS
        columns = frozenset((*ENTRY_COLUMNS, *plain, *metric_names(metrics_of), *(ALL_MAPS if with_metrics else ())))
        partition_type = self.partition_type(self.spec(manifest))
        key = (
            manifest.manifest_path, manifest.sequence_number, manifest.added_snapshot_id, manifest.first_row_id,
            manifest.partition_spec_id, manifest.content, str(partition_type),
        )  # fmt: skip
        if self._cache is not None:
            if (known := self._cache.frame(key, columns)) is not None:
                return known
            decoded = columns | self._cache.held_columns(key)
        else:
            decoded = columns

        def decode(data: bytes) -> pl.DataFrame:
            frame = _decode(data, manifest, decoded, partition_type)
            # Kept by the decoder: each thread that works on frames holds memory of its own, and there are few of these.
            if self._cache is not None:
                self._cache.keep(key, frame)
            return _only(frame, columns)

        def read() -> bytes:
            return self._store_for(manifest.manifest_path).read(manifest.manifest_path)

        return self._threads.decoded(read, decode)

    def in_parallel(self, action: Callable[[ManifestFile], T], manifests: Sequence[ManifestFile]) -> Iterator[T]:
        """The action's results, in the manifests' order, as they are needed: a few are worked on ahead. The first error
        is raised and ends the rest."""
        return self._threads.in_order(action, manifests)

    def _read_list(self, snapshot: Snapshot) -> tuple[ManifestFile, ...]:
        path = snapshot.manifest_list
        if path is None:
            return tuple(self._unlisted(manifest_path, snapshot) for manifest_path in snapshot.manifests or ())
        try:
            return read_manifest_list(self._store_for(path).read(path), location=path)
        except FormatError as error:
            raise type(error)(f"manifest list {path}: {error}", **{**error.context, "manifest_list": path}) from error

    def _unlisted(self, path: str, snapshot: Snapshot) -> ManifestFile:
        data = self._store_for(path).read(path)
        spec_id = self._metadata.default_spec_id
        return unlisted_manifest(data, path, snapshot_id=snapshot.snapshot_id, default_spec_id=spec_id)


def _decode(data: bytes, manifest: ManifestFile, columns: frozenset[str], partition_type: StructType) -> pl.DataFrame:
    metrics_of = {int(name.rpartition(".")[2]) for name in columns if "." in name}
    select = {name for name in columns if "." not in name} - {"spec_id"}
    try:
        return manifest_frame(data, manifest, partition_type=partition_type, select=select, metrics_of=metrics_of)
    except FormatError as error:
        raise _naming(manifest.manifest_path, error) from error


def _naming(path: str, error: FormatError) -> FormatError:
    """The error with the manifest that it is about."""
    if path in str(error):
        return error
    return type(error)(f"manifest {path}: {error}", **{**error.context, "manifest": path})


def joined(parts: Iterable[FilesOfSpec]) -> list[FilesOfSpec]:
    """The files of each spec as one frame, in the order of first appearance; as several, where a source column was
    dropped and manifests store its partition values under different types."""
    groups: dict[tuple[int, str], list[FilesOfSpec]] = {}
    for part in parts:
        stored = str(part.frame.schema["partition"]) if _has_unknown(part.partition_type) else ""
        groups.setdefault((part.spec.spec_id, stored), []).append(part)
    return [
        FilesOfSpec(group[0].spec, group[0].partition_type, pl.concat([part.frame for part in group]))
        for group in groups.values()
    ]


def _has_unknown(partition_type: StructType) -> bool:
    return any(isinstance(member.type, UnknownType) for member in partition_type)


def _only(frame: pl.DataFrame, columns: frozenset[str]) -> pl.DataFrame:
    """The columns that were asked for, in one order: a cached frame may hold more, and frames of a plan are joined."""
    return pl.DataFrame([frame.get_column(name) for name in sorted(columns)])
