"""Writes deletes: position delete files, and deletion vectors in Puffin files. Equality deletes are written by
`RollingWriter` with their content and ids. https://iceberg.apache.org/spec/#delete-formats"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from msgspec import structs
from pyroaring import BitMap64

from floeberg.arrow.columns.metrics_config import full_metrics
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.write_properties import write_properties
from floeberg.arrow.scan.deletes import POSITION_DELETE_SCHEMA
from floeberg.arrow.write.data_files import DataFileWriter, FileKind
from floeberg.effects.protocols import Store
from floeberg.errors import InvalidInput
from floeberg.files.deletion_vector import write_deletion_vectors
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, FileFormat

_ROWS_PER_BATCH: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedFile:
    """A data file that rows are deleted of; deletes carry its spec and partition, whatever the table's spec is now."""

    file_path: str
    spec_id: int
    partition: tuple[object, ...] = ()


def write_position_deletes(
    store: Store,
    location: str,
    deletes: Mapping[str, BitMap64],
    *,
    spec_id: int,
    partition: tuple[object, ...] = (),
    properties: Mapping[str, str] | None = None,
) -> DataFile:
    """A position delete file for data files of one partition: sorted by path, then position, with exact bounds of both,
    and the referenced data file when there is only one. For tables before v3. Raises InvalidInput for no deletes."""
    wanted = {path: positions for path, positions in deletes.items() if positions}
    if not wanted:
        raise InvalidInput("a position delete file needs a position to delete")
    writer = DataFileWriter(
        store,
        location,
        POSITION_DELETE_SCHEMA,
        properties=write_properties(properties or {}, deletes=True),
        metrics=full_metrics(POSITION_DELETE_SCHEMA),
        kind=FileKind(content=FileContent.POSITION_DELETES, spec_id=spec_id, partition=partition, sort_order_id=None),
    )
    try:
        # Sorted by UTF-8 bytes, as readers compare the paths, which is the order of code points.
        for path in sorted(wanted):
            positions = np.frombuffer(wanted[path].to_array(), dtype=np.uint64).astype(np.int64)
            for start in range(0, len(positions), _ROWS_PER_BATCH):
                writer.write(_batch(path, positions[start : start + _ROWS_PER_BATCH]))
        file = writer.close()
    except BaseException:
        writer.abort()
        raise
    only = next(iter(wanted)) if len(wanted) == 1 else None
    return structs.replace(file, referenced_data_file=only)


def write_vectors(
    store: Store,
    location: str,
    vectors: Mapping[DeletedFile, BitMap64],
    *,
    properties: Mapping[str, str] | None = None,
) -> list[DataFile]:
    """A Puffin file with a deletion vector for each data file, as the entries for delete manifests (v3).

    The caller merges what was deleted before: a data file has one vector at most.
    """
    written = write_deletion_vectors({file.file_path: found for file, found in vectors.items()}, properties=properties)
    store.write(location, written.data)
    by_path = {file.file_path: file for file in vectors}
    return [
        DataFile(
            content=FileContent.POSITION_DELETES,
            file_path=location,
            file_format=FileFormat.PUFFIN,
            spec_id=by_path[vector.referenced_data_file].spec_id,
            partition=by_path[vector.referenced_data_file].partition,
            record_count=vector.cardinality,
            file_size_in_bytes=len(written.data),
            referenced_data_file=vector.referenced_data_file,
            content_offset=vector.content_offset,
            content_size_in_bytes=vector.content_size_in_bytes,
        )
        for vector in written.vectors
    ]


def _batch(path: str, positions: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.RecordBatch:
    paths = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(positions), dtype=np.int32)), [path])
    return pa.RecordBatch.from_arrays(
        [paths.dictionary_decode(), pa.array(positions)], schema=arrow_schema(POSITION_DELETE_SCHEMA)
    )
