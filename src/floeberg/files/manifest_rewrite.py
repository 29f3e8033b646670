"""Manifests written from a frame: for rewriting and merging, where entries are thousands and few of them change.

The bytes are those that `manifest.write_manifest` writes for the same entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
import numpy as np
import polars as pl

from floeberg.errors import InvalidInput
from floeberg.files import avro_columns as columns
from floeberg.files.avro_columns import Ragged
from floeberg.files.avro_container import BLOCK_BYTES, write_container
from floeberg.files.avro_encode import partition_encoder
from floeberg.files.avro_schemas import DEFAULT_BLOCK_SIZE_IN_BYTES, manifest_entry_schema
from floeberg.files.compression import avro_codec
from floeberg.files.manifest import WrittenManifest, manifest_metadata, partition_tuples
from floeberg.files.partition_summary import PartitionSummaries
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import EntryStatus, FieldSummary, FileContent, ManifestContent
from floeberg.spec.types import StructType

_CHUNK_ROWS: Final = 4_096
"""Rows that are encoded at a time: bounds what the index arrays take."""

_METRICS: Final = (
    ("column_sizes", columns.optional_counts),
    ("value_counts", columns.optional_counts),
    ("null_value_counts", columns.optional_counts),
    ("nan_value_counts", columns.optional_counts),
    ("lower_bounds", columns.optional_bounds),
    ("upper_bounds", columns.optional_bounds),
    ("key_metadata", columns.optional_texts),
    ("split_offsets", columns.optional_lists),
)


def write_manifest_frame(
    frame: pl.DataFrame,
    *,
    schema: Schema,
    spec: PartitionSpec,
    format_version: int,
    snapshot_id: int | None,
    content: ManifestContent = ManifestContent.DATA,
    partition_type: StructType | None = None,
    codec: str = "gzip",
    level: int | None = None,
) -> WrittenManifest:
    """`manifest.write_manifest` for the rows of a whole frame (`files.manifest_frame`), whose `status` and `snapshot_id` the
    caller has set. Raises InvalidInput."""
    partition_type = spec.partition_type(schema) if partition_type is None else partition_type
    _check(frame, format_version, snapshot_id, content)
    partitions = partition_tuples(frame.get_column("partition"), partition_type)
    encode_partition = partition_encoder(partition_type)
    chunks = (
        _encoded(
            frame.slice(start, _CHUNK_ROWS),
            Ragged.of([encode_partition(values) for values in partitions[start : start + _CHUNK_ROWS]]),
            format_version,
        )
        for start in range(0, frame.height, _CHUNK_ROWS)
    )
    data = write_container(
        msgspec.json.encode(manifest_entry_schema(partition_type, format_version)),
        _blocked(chunks),
        metadata=manifest_metadata(schema, spec, format_version, content),
        codec=avro_codec(codec),
        level=level,
    )
    summaries = PartitionSummaries(partition_type)
    for values in partitions:
        summaries.add(values)
    return _described(
        frame,
        data,
        partition_spec_id=spec.spec_id,
        content=content,
        snapshot_id=snapshot_id,
        partitions=summaries.result(),
    )


def _check(frame: pl.DataFrame, format_version: int, snapshot_id: int | None, content: ManifestContent) -> None:
    is_data = pl.col("content") == FileContent.DATA
    is_vector = (pl.col("content") == FileContent.POSITION_DELETES) & (pl.col("file_format") == "puffin")
    unnumbered = pl.col("sequence_number").is_null()
    foreign = pl.col("snapshot_id").is_not_null() & pl.col("snapshot_id").ne_missing(pl.lit(snapshot_id, pl.Int64))
    placed = pl.all_horizontal(pl.col("referenced_data_file", "content_offset", "content_size_in_bytes").is_not_null())
    wrong = {
        "a file of another content": ~is_data if content is ManifestContent.DATA else is_data,
        "a file that must keep its sequence number": unnumbered & ((pl.col("status") != EntryStatus.ADDED) | foreign),
        "a deletion vector without data file, offset or size": is_vector & ~placed,
        "a negative record count or size": (pl.col("record_count") < 0) | (pl.col("file_size_in_bytes") < 0),
    }
    if format_version == 1:
        wrong["a delete file or a file without snapshot id, which v1 cannot hold"] = (
            ~is_data | pl.col("snapshot_id").is_null()
        )
    if format_version == 2:
        wrong["a deletion vector, which v2 cannot hold"] = is_vector
    for name, found in frame.select(**{name: rule.any() for name, rule in wrong.items()}).row(0, named=True).items():
        if found:
            raise InvalidInput(f"the manifest would have {name}", problem=name)


def _encoded(frame: pl.DataFrame, partition: Ragged, format_version: int) -> Ragged:
    """The records of a manifest, in the order of `avro_schemas.manifest_entry_schema`."""
    get = frame.get_column
    sizes = [columns.longs(get("record_count")), columns.longs(get("file_size_in_bytes"))]
    paths = [columns.texts(get("file_path")), columns.texts(get("file_format").str.to_uppercase()), partition]
    metrics = [encode(get(name)) for name, encode in _METRICS]
    tracking = [columns.longs(get("status")), columns.optional_longs(get("snapshot_id"))]
    sort_order = columns.optional_longs(get("sort_order_id"))
    if format_version == 1:
        block_size = columns.varints(np.full(frame.height, DEFAULT_BLOCK_SIZE_IN_BYTES, dtype=np.int64))
        return columns.joined([*tracking, *paths, *sizes, block_size, *metrics, sort_order])
    tracking += [columns.optional_longs(get("sequence_number")), columns.optional_longs(get("file_sequence_number"))]
    equality_ids = columns.optional_lists(get("equality_ids"))
    record = [*tracking, columns.longs(get("content")), *paths, *sizes, *metrics, equality_ids, sort_order]
    referenced = columns.optional_texts(_where(frame, "referenced_data_file", pl.col("content") != FileContent.DATA))
    if format_version == 2:
        return columns.joined([*record, referenced])
    is_position_delete = pl.col("content") == FileContent.POSITION_DELETES
    lineage = columns.optional_longs(_where(frame, "first_row_id", pl.col("content") == FileContent.DATA))
    place = [
        columns.optional_longs(_where(frame, name, is_position_delete))
        for name in ("content_offset", "content_size_in_bytes")
    ]
    return columns.joined([*record, lineage, referenced, *place])


def _where(frame: pl.DataFrame, name: str, condition: pl.Expr) -> pl.Series:
    return frame.select(pl.when(condition).then(pl.col(name)).alias(name)).to_series()


def _blocked(chunks: Iterable[Ragged]) -> Iterator[tuple[int, bytes]]:
    """Records in blocks, cut where `avro_container.blocked` cuts them."""
    rest, count = b"", 0
    for chunk in chunks:
        data = chunk.data.tobytes()
        ends = np.cumsum(chunk.lengths)
        start = row = 0
        while row < len(ends):
            cut = int(np.searchsorted(ends, start + BLOCK_BYTES - len(rest)))
            stop = min(cut + 1, len(ends))
            rest += data[start : ends[stop - 1]]
            count += stop - row
            start, row = int(ends[stop - 1]), stop
            if len(rest) >= BLOCK_BYTES:
                yield count, rest
                rest, count = b"", 0
    if count:
        yield count, rest


def _described(
    frame: pl.DataFrame,
    data: bytes,
    *,
    partition_spec_id: int,
    content: ManifestContent,
    snapshot_id: int | None,
    partitions: tuple[FieldSummary, ...],
) -> WrittenManifest:
    """A manifest's bytes with the counts of its entries."""
    counted = {
        status: frame.filter(pl.col("status") == status).select(pl.len(), pl.col("record_count").sum()).row(0)
        for status in EntryStatus
    }
    live = frame.filter(pl.col("status") != EntryStatus.DELETED).get_column("sequence_number").drop_nulls().to_list()
    return WrittenManifest(
        data=data,
        partition_spec_id=partition_spec_id,
        content=content,
        snapshot_id=snapshot_id,
        added_files_count=counted[EntryStatus.ADDED][0],
        existing_files_count=counted[EntryStatus.EXISTING][0],
        deleted_files_count=counted[EntryStatus.DELETED][0],
        added_rows_count=counted[EntryStatus.ADDED][1],
        existing_rows_count=counted[EntryStatus.EXISTING][1],
        deleted_rows_count=counted[EntryStatus.DELETED][1],
        min_sequence_number=min(live, default=None),
        partitions=partitions,
    )
