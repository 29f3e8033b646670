"""Which rows of which files a change touches: gathered in workers as bitmaps, put together here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from floeberg.files.deletion_vector import bitmap_of, decode_deletion_vector, encode_deletion_vector
from floeberg.spark.in_workers import map_in_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RESULT: Final = pa.schema(
    [("file", pa.string()), ("kind", pa.int32()), ("rows", pa.int64()), ("positions", pa.binary())]
)
_RESULT_TEXT: Final = "file string, kind int, rows bigint, positions binary"


class RowKind(IntEnum):
    """What becomes of a row of a change."""

    UNTOUCHED = 0
    DELETE = 1
    UPDATE = 2
    INSERT = 3


@dataclass(slots=True)
class Touched:
    """The rows that are deleted or replaced, by file; and whether a row was found more than once."""

    positions: dict[str, BitMap64] = field(default_factory=dict)
    deleted: int = 0
    updated: int = 0
    twice: str | None = None
    """A file one of whose rows was matched by more than one source row."""


def touched_rows(frame: DataFrame, *, once: bool = False) -> Touched:
    """Runs the frame, whose columns are kind, file and position. With `once`, notes whether a row comes more than once,
    whatever becomes of it."""
    found: list[Any] = map_in_workers(frame, gather_positions, _RESULT_TEXT).collect()
    touched = Touched()
    seen: dict[str, BitMap64] = {}
    rows: dict[str, int] = {}
    for row in found:
        positions = decode_deletion_vector(bytes(row.positions))
        if row.kind != RowKind.UNTOUCHED:
            touched.positions[row.file] = touched.positions.get(row.file, BitMap64()) | positions
        if row.kind == RowKind.DELETE:
            touched.deleted += row.rows
        elif row.kind == RowKind.UPDATE:
            touched.updated += row.rows
        if once:
            seen[row.file] = seen.get(row.file, BitMap64()) | positions
            rows[row.file] = rows.get(row.file, 0) + row.rows
    touched.twice = next((file for file, number in rows.items() if number > len(seen[file])), None)
    if not once:
        _count_once(touched)
    return touched


def _count_once(touched: Touched) -> None:
    """A row that an unconditional delete finds several times is deleted once."""
    total = sum(len(found) for found in touched.positions.values())
    if touched.deleted + touched.updated > total:
        touched.deleted = total - touched.updated


def gather_positions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a worker: a bitmap for each file and kind among its rows."""
    found: dict[tuple[str, int], BitMap64] = {}
    rows: dict[tuple[str, int], int] = {}
    for batch in batches:
        for key, positions in _groups(batch):
            found[key] = found.get(key, BitMap64()) | bitmap_of(positions)
            rows[key] = rows.get(key, 0) + len(positions)
    keys = list(found)
    yield pa.RecordBatch.from_arrays(
        [
            pa.array([file for file, _ in keys], pa.string()),
            pa.array([kind for _, kind in keys], pa.int32()),
            pa.array([rows[key] for key in keys], pa.int64()),
            pa.array([encode_deletion_vector(found[key]) for key in keys], pa.binary()),
        ],
        schema=_RESULT,
    )


def _groups(batch: pa.RecordBatch) -> Iterator[tuple[tuple[str, int], np.ndarray[Any, np.dtype[np.int64]]]]:
    if not batch.num_rows:
        return
    kinds = batch.column(0).to_numpy(zero_copy_only=False)
    files = batch.column(1).dictionary_encode()
    names = files.dictionary.to_pylist()
    codes = files.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    positions = batch.column(2).to_numpy(zero_copy_only=False)
    keys = codes * len(RowKind) + kinds
    for key in np.unique(keys):
        yield (names[key // len(RowKind)], int(key % len(RowKind))), positions[keys == key]
