"""Reads Parquet data files: only the leaves that are asked for, only the row groups that can hold a match, and each
batch with the position of its first row in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from floeberg.arrow.formats.file_schema import FileField, file_fields, has_ids, keep_leaves, select_leaves
from floeberg.arrow.formats.io import open_source, reading
from floeberg.arrow.formats.parquet_footer import MendedFile, is_group_annotation
from floeberg.arrow.formats.projection import Projection
from floeberg.arrow.formats.resolve_ids import resolve_ids
from floeberg.effects.leniencies import Leniency, tolerate
from floeberg.effects.protocols import Store
from floeberg.errors import DataFileCorrupt, UnsupportedFeature
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.schema import MAX_SCHEMA_DEPTH, Schema, walk_fields
from floeberg.spec.types import TimestampNsType, TimestamptzNsType

DEFAULT_BATCH_ROWS: Final = 1 << 18
"""Rows in a batch at most; of many columns a batch has fewer."""
_BATCH_VALUES: Final = 1 << 21
_LEAST_ROWS: Final = 1 << 13

RowGroupFilter = Callable[[Any, Sequence[FileField]], bool]
"""Whether a row group (its metadata, and the file's columns with ids) may hold a row of interest."""


@dataclass(frozen=True, slots=True)
class FileBatch:
    """Rows of a file, projected, and the position of the first of them; they follow each other in the file."""

    first_position: int
    batch: pa.RecordBatch


def open_parquet(
    store: Store,
    location: str,
    *,
    size_bytes: int | None = None,
    wants_ns: bool = False,
    verify_checksums: bool = True,
) -> Any:
    """The file, its footer read. Raises FileNotFound, DataFileCorrupt, and UnsupportedFeature when it is encrypted."""
    source = open_source(store, location, size_bytes=size_bytes)

    def opened(source: Any) -> Any:
        return pq.ParquetFile(
            source,
            pre_buffer=not isinstance(source, pa.MemoryMappedFile),
            coerce_int96_timestamp_unit="ns" if wants_ns else "us",
            schema_depth_limit=4 * MAX_SCHEMA_DEPTH,
            arrow_extensions_enabled=False,
            page_checksum_verification=verify_checksums,
        )

    with reading(location):
        try:
            return opened(source)
        except (OSError, pa.ArrowException) as error:
            if "encrypted" in str(error):
                raise UnsupportedFeature(
                    f"{location} is encrypted; encrypted tables are not supported", location=location
                ) from error
            if not is_group_annotation(error):
                raise
            tolerate(
                Leniency.LOGICAL_TYPE_OF_GROUP,
                location,
                "annotates a group with a logical type that only columns may have; the annotation is ignored",
            )
            return opened(pa.PythonFile(MendedFile(source), mode="r"))


def read_parquet(
    store: Store,
    location: str,
    schema: Schema,
    *,
    size_bytes: int | None = None,
    name_mapping: NameMapping | None = None,
    table_schema: Schema | None = None,
    constants: Mapping[int, object] | None = None,
    row_group_filter: RowGroupFilter | None = None,
    byte_range: tuple[int, int] | None = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
    use_threads: bool = True,
    verify_checksums: bool = True,
) -> Iterator[FileBatch]:
    """The rows of a file in its order, projected to a schema.

    `table_schema` is the whole one, by whose positions the columns of a file without ids are found.
    `byte_range` (offset, length) selects the row groups that begin in it: splits of a file partition its rows.
    Raises DataFileCorrupt for bytes that are not what they should be, and for columns that cannot be read as asked.
    """
    wants_ns = any(isinstance(f.type, (TimestampNsType, TimestamptzNsType)) for f, _ in walk_fields(schema.fields))
    file = open_parquet(store, location, size_bytes=size_bytes, wants_ns=wants_ns, verify_checksums=verify_checksums)
    with reading(location):
        own_fields = file_fields(file.schema_arrow, location=location)
        by_position = name_mapping is None and not has_ids(own_fields)
        all_fields = resolve_ids(own_fields, location=location, name_mapping=name_mapping, by_position=table_schema)
    leaves = select_leaves(all_fields, schema.fields)
    projection = _projection(
        keep_leaves(all_fields, leaves), schema, location, constants or {}, by_position=by_position
    )
    columns = sorted(leaves)
    # Few large batches cost less than many small ones; wide ones would take much memory.
    batch_rows = min(batch_rows, max(_LEAST_ROWS, _BATCH_VALUES // max(1, len(columns))))
    for group, first_position in _row_groups(file.metadata, byte_range):
        metadata = file.metadata.row_group(group)
        if row_group_filter is not None and not row_group_filter(metadata, all_fields):
            continue
        position = first_position
        with reading(location):
            batches = file.reader.iter_batches(
                _even(metadata.num_rows, batch_rows),
                row_groups=[group],
                column_indices=columns,
                use_threads=use_threads,
            )
        for batch in _guarded(batches, location):
            yield FileBatch(position, projection.apply(batch))
            position += batch.num_rows
        if position - first_position != metadata.num_rows:
            raise DataFileCorrupt(
                f"{location}: row group {group} has {position - first_position} rows and its footer says "
                f"{metadata.num_rows}, so that row positions in it are not certain",
                location=location,
            )


def _even(rows: int, batch_rows: int) -> int:
    """Rows in a batch, of batches of one size: the decoder takes room for a whole one, and copies what fills less of it."""
    return max(1, -(-rows // max(1, -(-rows // batch_rows))))


def _projection(
    fields: Sequence[FileField], schema: Schema, location: str, constants: Mapping[int, object], *, by_position: bool
) -> Projection:
    try:
        return Projection(fields, schema, location=location, constants=constants)
    except DataFileCorrupt as error:
        if not by_position:
            raise
        raise DataFileCorrupt(
            f"{error}; the file has no field ids and its columns were found by position: set the table property "
            "schema.name-mapping.default, or read with the option match-columns-by-name",
            **error.context,
        ) from error


def _guarded(batches: Iterator[pa.RecordBatch], location: str) -> Iterator[pa.RecordBatch]:
    while True:
        with reading(location):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _row_groups(metadata: Any, byte_range: tuple[int, int] | None) -> Iterator[tuple[int, int]]:
    """The row groups that begin in the range, each with the position of its first row."""
    position = 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        if byte_range is None or byte_range[0] <= row_group_offset(row_group) < sum(byte_range):
            yield group, position
        position += row_group.num_rows


def row_group_offset(row_group: Any) -> int:
    """Where the first page of a row group lies: its split offset."""
    if row_group.num_columns == 0:
        return 0
    chunk = row_group.column(0)
    offsets = [chunk.data_page_offset]
    # Some writers record 0 for a dictionary page that is not there.
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        offsets.append(chunk.dictionary_page_offset)
    return int(min(offsets))
