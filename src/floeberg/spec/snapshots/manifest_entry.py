"""Data files, delete files, manifest entries and manifests, as data: https://iceberg.apache.org/spec/#manifests"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from msgspec import Struct


class FileContent(IntEnum):
    """What a file tracked by a manifest holds."""

    DATA = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2


class FileFormat(StrEnum):
    """How a file is encoded. Manifests hold these names in any case; we write upper case, as the reference does."""

    AVRO = "avro"
    ORC = "orc"
    PARQUET = "parquet"
    PUFFIN = "puffin"


class EntryStatus(IntEnum):
    """What a manifest entry says of its file."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


class ManifestContent(IntEnum):
    """Whether a manifest tracks data files or delete files."""

    DATA = 0
    DELETES = 1


# Plans and commits make these by the hundred thousand: a Struct is made several times as fast as a frozen dataclass, and
# without the collector, which has nothing to find in them.
class DataFile(Struct, frozen=True, kw_only=True, gc=False):
    """A data or delete file. `partition` holds physical values in the order of its spec's fields; bounds are in
    single-value binary form, by field id."""

    content: FileContent = FileContent.DATA
    file_path: str
    file_format: FileFormat
    spec_id: int = 0
    partition: tuple[object, ...] = ()
    record_count: int
    file_size_in_bytes: int
    column_sizes: Mapping[int, int] | None = None
    value_counts: Mapping[int, int] | None = None
    null_value_counts: Mapping[int, int] | None = None
    nan_value_counts: Mapping[int, int] | None = None
    lower_bounds: Mapping[int, bytes] | None = None
    upper_bounds: Mapping[int, bytes] | None = None
    key_metadata: bytes | None = None
    split_offsets: tuple[int, ...] | None = None
    equality_ids: tuple[int, ...] | None = None
    sort_order_id: int | None = None
    first_row_id: int | None = None
    referenced_data_file: str | None = None
    content_offset: int | None = None
    content_size_in_bytes: int | None = None

    @property
    def is_deletion_vector(self) -> bool:
        return self.content is FileContent.POSITION_DELETES and self.file_format is FileFormat.PUFFIN

    @property
    def identity(self) -> tuple[str, int | None]:
        """What makes a file this one: its path, and for a deletion vector its place in the Puffin file."""
        return (self.file_path, self.content_offset if self.is_deletion_vector else None)


class ManifestEntry(Struct, frozen=True, kw_only=True, gc=False):
    """A file in a manifest, after inheritance when it was read (None only where the format leaves it so)."""

    status: EntryStatus
    data_file: DataFile
    snapshot_id: int | None = None
    data_sequence_number: int | None = None
    file_sequence_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSummary:
    """What a manifest's files hold in one partition field; bounds in single-value binary form."""

    contains_null: bool
    contains_nan: bool | None = None
    lower_bound: bytes | None = None
    upper_bound: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFile:
    """A manifest as its manifest list describes it: https://iceberg.apache.org/spec/#manifest-lists"""

    manifest_path: str
    manifest_length: int
    partition_spec_id: int
    content: ManifestContent = ManifestContent.DATA
    sequence_number: int = 0
    min_sequence_number: int = 0
    added_snapshot_id: int | None = None
    added_files_count: int | None = None
    existing_files_count: int | None = None
    deleted_files_count: int | None = None
    added_rows_count: int | None = None
    existing_rows_count: int | None = None
    deleted_rows_count: int | None = None
    partitions: tuple[FieldSummary, ...] | None = None
    key_metadata: bytes | None = None
    first_row_id: int | None = None

    @property
    def may_have_live_files(self) -> bool:
        """False only when the counts prove that every entry is deleted."""
        return self.added_files_count != 0 or self.existing_files_count != 0
