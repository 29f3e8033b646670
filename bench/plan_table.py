"""A table for planning benchmarks: metadata and manifests of files that are not there."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Final

import fastavro

from floeberg.expr.build import col
from floeberg.expr.nodes import TRUE, Expression
from floeberg.files.avro_container import read_header
from floeberg.files.manifest import write_manifest
from floeberg.files.manifest_list import write_manifest_list
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates import AddSnapshot, SetSnapshotRef, create_table_updates
from floeberg.spec.metadata.table_metadata_json import write_table_metadata
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import parse_transform
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, EntryStatus, FileFormat, ManifestEntry
from floeberg.spec.snapshots.refs import SnapshotRef
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.types import INT, LONG, NestedField

COLUMNS: Final = range(1, 17)
PARTITIONS: Final = 100
ROWS: Final = 1_000
SNAPSHOT_ID: Final = 4711
SCHEMA: Final = Schema(
    *(NestedField(column, f"c{column}", LONG) for column in COLUMNS), NestedField(17, "p", INT), schema_id=0
)
SPEC: Final = PartitionSpec(0, (PartitionField((17,), 1000, "p", parse_transform("identity")),))


def filters(files: int) -> dict[str, tuple[Expression, str]]:
    """What is asked, as ours and as text that PyIceberg parses: 1 % by bounds, 1 % by partition, everything."""
    low, high = files // 2 * ROWS, (files // 2 + files // 100) * ROWS - 1
    return {
        "bounds": ((col("c1") >= low) & (col("c1") <= high), f"c1 >= {low} and c1 <= {high}"),
        "partition": (col("p") == 7, "p = 7"),
        "none": (TRUE, ""),
    }


def make_table(folder: Path, *, files: int, manifests: int, one_record_a_block: bool) -> Path:
    """Writes the table, unless it is there, and gives its metadata file."""
    location = folder / f"plan-{files}-{manifests}-{'single' if one_record_a_block else 'blocked'}"
    metadata_file = location / "metadata" / "v1.metadata.json"
    if metadata_file.exists():
        return metadata_file
    (location / "metadata").mkdir(parents=True, exist_ok=True)
    listed = []
    each = files // manifests
    for number in range(manifests):
        entries = [_entry(location, place) for place in range(number * each, (number + 1) * each)]
        written = write_manifest(entries, schema=SCHEMA, spec=SPEC, format_version=2, snapshot_id=SNAPSHOT_ID)
        data = _single(written.data) if one_record_a_block else written.data
        path = location / "metadata" / f"m{number}.avro"
        path.write_bytes(data)
        listed.append(written.to_manifest_file(str(path), 1))
    manifest_list = location / "metadata" / "list.avro"
    manifest_list.write_bytes(
        write_manifest_list(
            listed, format_version=2, snapshot_id=SNAPSHOT_ID, parent_snapshot_id=None, sequence_number=1
        )
    )
    snapshot = Snapshot(
        snapshot_id=SNAPSHOT_ID, sequence_number=1, timestamp_ms=2**41 - 2**38, manifest_list=str(manifest_list),
        operation="append", schema_id=0,
    )  # fmt: skip
    updates = create_table_updates(
        table_uuid="9c12d441-03fe-4693-9a96-a0705ddf69c1", location=str(location), schema=SCHEMA, spec=SPEC
    )
    made = [*updates, AddSnapshot(snapshot), SetSnapshotRef("main", SnapshotRef(snapshot_id=SNAPSHOT_ID))]
    metadata_file.write_bytes(write_table_metadata(apply_updates(None, made, now_ms=2**41 - 2**38)))
    return metadata_file


def _entry(location: Path, number: int) -> ManifestEntry:
    low = {column: (number * ROWS * column).to_bytes(8, "little") for column in COLUMNS}
    high = {column: ((number * ROWS + ROWS - 1) * column).to_bytes(8, "little") for column in COLUMNS}
    partition = number % PARTITIONS
    low[17] = high[17] = partition.to_bytes(4, "little")
    columns = [*COLUMNS, 17]
    return ManifestEntry(
        status=EntryStatus.ADDED,
        snapshot_id=SNAPSHOT_ID,
        data_file=DataFile(
            file_path=f"{location}/data/p={partition}/{number:08}-0-d4c5b1f2-61a5-4b5e-9b8a-5a3d1c2b4e6f-00001.parquet",
            file_format=FileFormat.PARQUET,
            partition=(partition,),
            record_count=ROWS,
            file_size_in_bytes=50_000_000 + number,
            column_sizes={column: 3_000_000 + number * column % 1_000 for column in columns},
            value_counts=dict.fromkeys(columns, ROWS),
            null_value_counts=dict.fromkeys(columns, 0),
            nan_value_counts={},
            lower_bounds=low,
            upper_bounds=high,
            split_offsets=(4,),
            sort_order_id=0,
        ),
    )


def _single(data: bytes) -> bytes:
    """The manifest with a block for each record, as PyIceberg writes it."""
    header = read_header(data)
    schema = fastavro.parse_schema(json.loads(header.text("avro.schema") or "{}"))
    metadata = {
        key: value.decode() for key, value in header.metadata.items() if key not in ("avro.schema", "avro.codec")
    }
    out = io.BytesIO()
    writer = fastavro.write.Writer(out, schema, codec="deflate", metadata=metadata)
    for record in fastavro.reader(io.BytesIO(data)):
        writer.write(record)
        writer.dump()
    return out.getvalue()
