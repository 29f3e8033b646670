"""Position deletes and deletion vectors on the native scan: bitmaps of 64-bit words, in which each row looks up its position.

https://iceberg.apache.org/spec/#position-delete-files, https://iceberg.apache.org/spec/#deletion-vectors
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import functions as F

from floeberg.arrow.scan.deletes import DeleteLoader
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.read.parquet.scan import ROW_INDEX
from floeberg.spark.workers.scan import TableFiles
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.snapshots.manifest_entry import DataFile

Words: TypeAlias = npt.NDArray[np.int64]

PLACE: Final = f"{ENGINE_PREFIX}place"
_WORDS: Final = f"{ENGINE_PREFIX}words"
MAX_STORED_BYTES: Final = 32 << 20
"""Delete files with more bytes than this in total are not read on the driver, but in the workers."""
MAX_WORDS_BYTES: Final = 64 << 20
"""Bitmaps with more bytes than this in total are not sent to the executors."""
_SMALL_BYTES: Final = 4 << 20
_KEPT: Final = "_floeberg_deleted_positions"
_MAX_KEPT: Final = 8
_MAX_KEPT_BYTES: Final = 4 << 20
_WORD_BITS: Final = 64
_WORD: Final = f"shiftright({ROW_INDEX}, 6)"
_COUNT_BITS: Final = 24
"""More than the words of all files can be, so that both numbers of a file fit what the log of files carries."""


def stored_bytes(tasks: Sequence[FileScanTask]) -> int:
    """The stored bytes of the position deletes of tasks, each counted once."""
    sizes = {
        delete.file.identity: delete.file.content_size_in_bytes or delete.file.file_size_in_bytes
        for task in tasks
        for delete in (*task.position_deletes, *((task.deletion_vector,) if task.deletion_vector else ()))
    }
    return sum(sizes.values())


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the words of files are laid out in one array: a number for each file, and from it the index of a row's word."""

    values: Words
    places: list[int]
    index: str
    past_the_end: str
    """A check for the few rows whose bit is set: after a file's own words come those of the next file."""


@dataclass(frozen=True, slots=True)
class DeletedPositions:
    """The deleted positions of some files as one array that every row sees: joining each file's own bitmap to its rows would
    cost an object per row."""

    words: Any
    places: pa.Array
    """A fact of each file: PLACE."""
    index: str
    past_the_end: str

    def is_live(self) -> Any:
        """Whether the row's position is not among the deleted ones of its file."""
        word = F.get(self.words.scalar(), F.expr(f"CAST({self.index} AS INT)"))
        bit = F.call_function("bit_get", word, F.expr(f"CAST({ROW_INDEX} & 63 AS INT)"))
        return (bit == F.lit(0)) | F.expr(self.past_the_end)


def deleted_positions(spark: Any, tasks: Sequence[FileScanTask], files: TableFiles) -> DeletedPositions | None:
    """The deleted positions of each task's file; None when they are too large to be sent to the executors. Those of the last
    few queries are kept with the session: delete files never change."""
    key = (tuple((task.data_file.file_path, tuple(_known_as(d.file) for d in task.deletes)) for task in tasks),
           files.ignore_scheme)  # fmt: skip
    kept: OrderedDict[Any, DeletedPositions] = vars(spark).setdefault(_KEPT, OrderedDict())
    if (known := kept.pop(key, None)) is not None:
        kept[key] = known  # the last one asked for
        return known
    words = _load_words(tasks, files)
    if words is None:
        return None
    layout = _padded(words) or _packed(words)
    frame = spark.createDataFrame(pa.table({_WORDS: words_column([layout.values])}))
    found = DeletedPositions(frame, pa.array(layout.places, pa.int64()), layout.index, layout.past_the_end)
    if layout.values.nbytes <= _MAX_KEPT_BYTES:
        kept[key] = found
        while len(kept) > _MAX_KEPT:
            kept.popitem(last=False)
    return found


def _known_as(file: DataFile) -> tuple[object, ...]:
    return (*file.identity, file.file_size_in_bytes, file.content_size_in_bytes, file.record_count)


def _load_words(tasks: Sequence[FileScanTask], files: TableFiles) -> list[Words] | None:
    """The words of the deleted positions of each task's file; None when they are too large to be sent to the executors."""
    if stored_bytes(tasks) > MAX_STORED_BYTES:
        return None
    loader = DeleteLoader(
        files.stores.store_for, files.schemas, name_mapping=files.name_mapping, ignore_scheme=files.ignore_scheme
    )
    words: list[Words] = []
    total = 0
    for task in tasks:
        vector = task.deletion_vector
        positional = [vector.file] if vector is not None else [delete.file for delete in task.position_deletes]
        positions = loader.load(task.data_file.file_path, positional).positions
        total += 0 if not positions else int(positions.max()) // 8
        if total > MAX_WORDS_BYTES:
            return None
        words.append(to_words(positions))
    return words


def to_words(positions: BitMap64 | None) -> Words:
    """Positions as words: bit `p & 63` of word `p >> 6`."""
    if not positions:
        return np.zeros(0, dtype=np.int64)
    found = np.frombuffer(positions.to_array(), dtype=np.uint64)
    bits = np.zeros((int(found[-1]) // _WORD_BITS + 1) * _WORD_BITS, dtype=np.bool_)
    bits[found] = True
    return np.packbits(bits, bitorder="little").view("<i8").astype(np.int64, copy=False)


def words_column(words: Sequence[Words]) -> pa.Array:
    """The words of files as a column."""
    offsets = np.concatenate([np.zeros(1, dtype=np.int32), np.cumsum([len(own) for own in words], dtype=np.int32)])
    values = np.concatenate([*words, np.zeros(0, dtype=np.int64)])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))


def _padded(words: Sequence[Words]) -> _Layout | None:
    """The same number of words for each file: a row only needs the index of the first one. None if that would take much more
    space than the words themselves."""
    width = max(len(own) for own in words)
    padded_bytes = width * len(words) * 8
    if padded_bytes > max(_SMALL_BYTES, 2 * sum(own.nbytes for own in words)) or padded_bytes > MAX_WORDS_BYTES:
        return None
    values = np.zeros((len(words), width), dtype=np.int64)
    for row, own in zip(values, words, strict=True):
        row[: len(own)] = own
    places = [number * width for number in range(len(words))]
    return _Layout(values.reshape(-1), places, f"{PLACE} + {_WORD}", f"{_WORD} >= {width}L")


def _packed(words: Sequence[Words]) -> _Layout:
    """The words of all files one after the other; one number holds the index of a file's first word and their count."""
    counts = [len(own) for own in words]
    places = [
        (begin << _COUNT_BITS) | count for begin, count in zip(accumulate(counts, initial=0), counts, strict=False)
    ]
    index, past_the_end = (
        f"shiftright({PLACE}, {_COUNT_BITS}) + {_WORD}",
        f"{_WORD} >= ({PLACE} & {(1 << _COUNT_BITS) - 1}L)",
    )
    return _Layout(np.concatenate(words), places, index, past_the_end)
