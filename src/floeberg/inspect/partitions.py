"""The `partitions` table: what each partition of a snapshot holds."""

from __future__ import annotations

from typing import Any, Final

import polars as pl
import pyarrow as pa

from floeberg.arrow.columns.types import arrow_schema, arrow_type
from floeberg.inspect.arrays import long, partition_array, to_array
from floeberg.inspect.columns import partitions_schema
from floeberg.inspect.source import Source
from floeberg.spec.snapshots.manifest_entry import EntryStatus, FileContent, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot

_MICROS_PER_MILLI: Final = 1000
_WIDTH: Final = "width"
_ROW: Final = "row"
_UPDATE: Final = "update"
"""The place of the snapshot that added a file among all, the oldest first."""


def partitions_table(source: Source, snapshot: Snapshot | None) -> pa.Table:
    """One row for each partition tuple, in the order in which the manifests name them.

    As in the reference implementation, tuples of specs with different numbers of fields are different partitions although
    they may look alike in the unified struct, and `spec_id` and the last update are those of the newest snapshot, of
    those the table still has, that added a file that is live now.
    """
    schema = partitions_schema(source.partition_type)
    files, tuples = _live_files(source, snapshot)
    rows = _counted(files.with_columns(_keys(tuples)))
    arrays = []
    for field in schema.fields:
        if field.name == "partition":
            arrays.append(tuples.take(rows.get_column(_ROW).cast(pl.Int64).to_arrow()))
        else:
            arrays.append(to_array(rows.get_column(field.name), field.type))
    return pa.Table.from_arrays(arrays, schema=arrow_schema(schema))


def _live_files(source: Source, snapshot: Snapshot | None) -> tuple[pl.DataFrame, pa.Array]:
    """The live files, and their partition tuples."""
    empty = {"snapshot_id": pl.Int64, "content": pl.Int32, "record_count": pl.Int64, "file_size_in_bytes": pl.Int64}
    parts = [pl.DataFrame(schema={**empty, "spec_id": pl.Int32, _WIDTH: pl.Int32})]
    tuples = [pa.array([], arrow_type(source.partition_type))]
    for manifest, frame in source.frames(source.manifests(snapshot), with_metrics=False):
        live = frame.filter(pl.col("status") != EntryStatus.DELETED)
        tuples.append(partition_array(live, source.partition_type, source.own_partition_type(manifest)))
        spec_id = pl.lit(manifest.partition_spec_id, dtype=pl.Int32).alias("spec_id")
        width = pl.lit(_width(source, manifest), dtype=pl.Int32).alias(_WIDTH)
        parts.append(live.select(*empty, spec_id, width))
    # Two commits may have one millisecond.
    snapshots = sorted(source.metadata.snapshots, key=lambda known: (known.timestamp_ms, known.sequence_number))
    updates = pl.DataFrame(
        {
            "snapshot_id": [long(known.snapshot_id) for known in snapshots],
            "last_updated_at": [known.timestamp_ms * _MICROS_PER_MILLI for known in snapshots],
            _UPDATE: range(len(snapshots)),
        },
        schema={"snapshot_id": pl.Int64, "last_updated_at": pl.Int64, _UPDATE: pl.Int64},
    ).unique("snapshot_id")
    files = pl.concat(parts).join(updates, on="snapshot_id", how="left", maintain_order="left")
    return files.with_row_index(_ROW), pa.concat_arrays(tuples)


def _width(source: Source, manifest: ManifestFile) -> int:
    """How many of the table's partition fields a manifest's spec has."""
    known = {member.field_id for member in source.partition_type}
    return sum(field.field_id in known for field in source.reader.spec(manifest).fields)


def _keys(tuples: Any) -> list[pl.Series]:
    """The members of the tuples as columns to group by: floats by their bits, so that -0.0 is not 0.0."""
    keys = []
    for at in range(tuples.type.num_fields):
        member = tuples.field(at)
        if pa.types.is_floating(member.type):
            member = member.view(pa.int32() if member.type == pa.float32() else pa.int64())
        elif pa.types.is_null(member.type):
            continue
        keys.append(pl.Series(f"key{at}", member))
    return keys


def _counted(files: pl.DataFrame) -> pl.DataFrame:
    keys = [_WIDTH, *(name for name in files.columns if name.startswith("key"))]
    newest = pl.col(_UPDATE).arg_max()
    is_known = pl.col("last_updated_at").is_not_null().any()
    return files.group_by(keys, maintain_order=True).agg(
        pl.col(_ROW).first(),
        pl.when(is_known).then(pl.col("spec_id").get(newest)).otherwise(pl.col("spec_id").max()).alias("spec_id"),
        _sum("record_count", FileContent.DATA).alias("record_count"),
        _count(FileContent.DATA).alias("file_count"),
        _sum("file_size_in_bytes", FileContent.DATA).alias("total_data_file_size_in_bytes"),
        _sum("record_count", FileContent.POSITION_DELETES).alias("position_delete_record_count"),
        _count(FileContent.POSITION_DELETES).alias("position_delete_file_count"),
        _sum("record_count", FileContent.EQUALITY_DELETES).alias("equality_delete_record_count"),
        _count(FileContent.EQUALITY_DELETES).alias("equality_delete_file_count"),
        pl.col("last_updated_at").max(),
        pl.when(is_known).then(pl.col("snapshot_id").get(newest)).alias("last_updated_snapshot_id"),
    )


def _sum(column: str, content: FileContent) -> pl.Expr:
    return pl.col(column).filter(pl.col("content") == content).sum()


def _count(content: FileContent) -> pl.Expr:
    return (pl.col("content") == content).sum()
