"""A manifest entry's bytes, in the order of `avro_schemas.manifest_entry_schema`."""

from __future__ import annotations

from collections.abc import Callable

from floeberg.errors import InvalidInput
from floeberg.files.avro_encode import (
    encode_bounds,
    encode_counts,
    encode_optional_bytes,
    encode_optional_long,
    encode_optional_longs,
    encode_optional_text,
    encode_text,
    long_bytes,
    partition_encoder,
)
from floeberg.files.avro_schemas import DEFAULT_BLOCK_SIZE_IN_BYTES
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestEntry
from floeberg.spec.types import StructType

EntryEncoder = Callable[[ManifestEntry], bytes]


def entry_encoder(partition_type: StructType, format_version: int) -> EntryEncoder:
    """A function from an entry to its bytes in a manifest of that format version. It raises InvalidInput for what that
    version cannot hold."""
    encode_partition = partition_encoder(partition_type)
    if format_version == 1:
        return lambda entry: _v1(entry, encode_partition(entry.data_file.partition))
    return lambda entry: _v2_or_v3(entry, encode_partition(entry.data_file.partition), format_version)


def _v1(entry: ManifestEntry, partition: bytes) -> bytes:
    file = entry.data_file
    if file.content is not FileContent.DATA or entry.snapshot_id is None:
        raise InvalidInput(
            f"{file.file_path} is a delete file or has no snapshot id, which v1 cannot hold; upgrade the table to v2",
            path=file.file_path,
        )
    return b"".join(
        (
            long_bytes(entry.status),
            encode_optional_long(entry.snapshot_id),
            _path_and_sizes(file, partition),
            long_bytes(DEFAULT_BLOCK_SIZE_IN_BYTES),
            _metrics(file),
            encode_optional_long(file.sort_order_id),
        )
    )


def _v2_or_v3(entry: ManifestEntry, partition: bytes, format_version: int) -> bytes:
    file = entry.data_file
    parts = [
        long_bytes(entry.status),
        encode_optional_long(entry.snapshot_id),
        encode_optional_long(entry.data_sequence_number),
        encode_optional_long(entry.file_sequence_number),
        long_bytes(file.content),
        _path_and_sizes(file, partition),
        _metrics(file),
        encode_optional_longs(file.equality_ids),
        encode_optional_long(file.sort_order_id),
    ]
    is_position_delete = file.content is FileContent.POSITION_DELETES
    referenced = encode_optional_text(file.referenced_data_file if file.content is not FileContent.DATA else None)
    if format_version == 2:
        if file.is_deletion_vector:
            raise InvalidInput(f"{file.file_path} is a deletion vector, which v2 cannot hold; upgrade the table to v3")
        return b"".join((*parts, referenced))
    if file.is_deletion_vector and None in (file.referenced_data_file, file.content_offset, file.content_size_in_bytes):
        raise InvalidInput(f"the deletion vector in {file.file_path} must say its data file, offset and size")
    parts += (
        encode_optional_long(file.first_row_id if file.content is FileContent.DATA else None),
        referenced,
        encode_optional_long(file.content_offset if is_position_delete else None),
        encode_optional_long(file.content_size_in_bytes if is_position_delete else None),
    )
    return b"".join(parts)


def _path_and_sizes(file: DataFile, partition: bytes) -> bytes:
    if file.record_count < 0 or file.file_size_in_bytes < 0:
        raise InvalidInput(f"{file.file_path} has a negative record count or size", path=file.file_path)
    return b"".join(
        (
            encode_text(file.file_path),
            encode_text(file.file_format.upper()),
            partition,
            long_bytes(file.record_count),
            long_bytes(file.file_size_in_bytes),
        )
    )


def _metrics(file: DataFile) -> bytes:
    return b"".join(
        (
            encode_counts(file.column_sizes),
            encode_counts(file.value_counts),
            encode_counts(file.null_value_counts),
            encode_counts(file.nan_value_counts),
            encode_bounds(file.lower_bounds),
            encode_bounds(file.upper_bounds),
            encode_optional_bytes(file.key_metadata),
            encode_optional_longs(file.split_offsets),
        )
    )
