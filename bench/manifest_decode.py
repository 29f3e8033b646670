"""Manifests of 20,000 entries with 16 columns of metrics: decoding and writing, beside PyIceberg and fastavro.

    python -m bench.manifest_decode [entries]

CPU time (user and system), best of five, microseconds for each entry. PyIceberg and fastavro read what we wrote.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from collections.abc import Callable

import fastavro
import msgspec
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestFile as PyIcebergManifestFile

from floeberg.files.avro_container import write_container
from floeberg.files.avro_schemas import manifest_entry_schema
from floeberg.files.manifest import read_manifest, write_manifest
from floeberg.files.manifest_encode import entry_encoder
from floeberg.files.manifest_frame import manifest_frame
from floeberg.files.manifest_list import read_manifest_list, write_manifest_list
from floeberg.files.manifest_rewrite import write_manifest_frame
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import parse_transform
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, EntryStatus, FileFormat, ManifestEntry, ManifestFile
from floeberg.spec.types import LONG, NestedField

COLUMNS = range(1, 17)
SNAPSHOT_ID = 4711
SCHEMA = Schema(*(NestedField(column, f"c{column}", LONG) for column in COLUMNS))
SPEC = PartitionSpec(0, (PartitionField((1,), 1000, "c1_bucket", parse_transform("bucket[16]")),))
PARTITION_TYPE = SPEC.partition_type(SCHEMA)


def main(count: int) -> None:
    entries = [_entry(number) for number in range(count)]
    written = write_manifest(entries, schema=SCHEMA, spec=SPEC, format_version=2, snapshot_id=SNAPSHOT_ID)
    manifest = _listed(written.to_manifest_file("memory:/m0.avro"))
    data = written.data
    single = _one_block_per_record(entries)
    print(f"{count} entries, {len(data):,} bytes of deflate")
    _report("ours, frame", count, lambda: manifest_frame(data, manifest, partition_type=PARTITION_TYPE))
    _report(
        "ours, frame of 8 columns", count,
        lambda: manifest_frame(data, manifest, partition_type=PARTITION_TYPE, select=["file_path", "partition"]),
    )  # fmt: skip
    _report("ours, frame, a block for each record", count,
            lambda: manifest_frame(single, manifest, partition_type=PARTITION_TYPE))  # fmt: skip
    _report("ours, entries", count, lambda: read_manifest(data, manifest, partition_type=PARTITION_TYPE))
    _report("fastavro, dicts", count, lambda: list(fastavro.reader(io.BytesIO(data))))
    _report("pyiceberg, entries", count, lambda: _pyiceberg(data, manifest))
    _report("ours, write", count, lambda: write_manifest(
        entries, schema=SCHEMA, spec=SPEC, format_version=2, snapshot_id=SNAPSHOT_ID))  # fmt: skip
    frame = manifest_frame(data, manifest, partition_type=PARTITION_TYPE)
    _report("ours, write from a frame", count, lambda: write_manifest_frame(
        frame, schema=SCHEMA, spec=SPEC, format_version=2, snapshot_id=SNAPSHOT_ID))  # fmt: skip
    _lists(1_000)


def _lists(count: int) -> None:
    entries = [_entry(number) for number in range(10)]
    written = write_manifest(entries, schema=SCHEMA, spec=SPEC, format_version=2, snapshot_id=SNAPSHOT_ID)
    manifests = [_listed(written.to_manifest_file(f"memory:/m{number}.avro")) for number in range(count)]

    def write() -> bytes:
        return write_manifest_list(
            manifests, format_version=2, snapshot_id=SNAPSHOT_ID, parent_snapshot_id=None, sequence_number=1
        )

    data = write()
    print(f"a list of {count} manifests, {len(data):,} bytes")
    _report("ours, read list", count, lambda: read_manifest_list(data))
    _report("ours, write list", count, write)
    _report("fastavro, read list", count, lambda: list(fastavro.reader(io.BytesIO(data))))


def _report(name: str, count: int, action: Callable[[], object]) -> None:
    best = min(_cpu_seconds(action) for _ in range(5))
    print(f"  {name:<40} {best / count * 1e6:8.2f} µs each  {best:8.3f} s")


def _cpu_seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def _entry(number: int) -> ManifestEntry:
    low = {column: (number * column).to_bytes(8, "little") for column in COLUMNS}
    return ManifestEntry(
        status=EntryStatus.ADDED,
        snapshot_id=SNAPSHOT_ID,
        data_file=DataFile(
            file_path=f"s3://bucket/warehouse/db/table/data/c1_bucket={number % 16}/{number:05}-0-d4c5b1f2.parquet",
            file_format=FileFormat.PARQUET,
            partition=(number % 16,),
            record_count=100_000 + number,
            file_size_in_bytes=50_000_000 + number,
            column_sizes={column: 3_000_000 + number * column for column in COLUMNS},
            value_counts=dict.fromkeys(COLUMNS, 100_000 + number),
            null_value_counts=dict.fromkeys(COLUMNS, 0),
            nan_value_counts={},
            lower_bounds=low,
            upper_bounds={column: (number * column + 99_999).to_bytes(8, "little") for column in COLUMNS},
            split_offsets=(4,),
            sort_order_id=0,
        ),
    )


def _listed(manifest: ManifestFile) -> ManifestFile:
    values = {name: getattr(manifest, name) for name in ManifestFile.__slots__}
    return ManifestFile(**{**values, "sequence_number": 1, "min_sequence_number": 1})


def _one_block_per_record(entries: list[ManifestEntry]) -> bytes:
    """The same manifest as PyIceberg lays it out."""
    encode = entry_encoder(PARTITION_TYPE, 2)
    schema = msgspec.json.encode(manifest_entry_schema(PARTITION_TYPE, 2))
    return write_container(schema, ((1, encode(entry)) for entry in entries), metadata={}, codec="deflate")


def _pyiceberg(data: bytes, manifest: ManifestFile) -> object:
    with tempfile.NamedTemporaryFile(suffix=".avro") as file:
        file.write(data)
        file.flush()
        listed = PyIcebergManifestFile.from_args(
            manifest_path=file.name, manifest_length=len(data), partition_spec_id=0, content=0, sequence_number=1,
            min_sequence_number=1, added_snapshot_id=SNAPSHOT_ID,
        )  # fmt: skip
        return listed.fetch_manifest_entry(PyArrowFileIO(), discard_deleted=False)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
