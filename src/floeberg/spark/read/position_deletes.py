"""Position deletes and deletion vectors on the compiled scan: bitmaps of 64-bit words, into which each row looks.

https://iceberg.apache.org/spec/#position-delete-files, https://iceberg.apache.org/spec/#deletion-vectors
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import functions as F

from floeberg.arrow.deletes import DeleteLoader
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.read.compiled_columns import OWN_PREFIX
from floeberg.spark.read.parquet_scan import ROW_INDEX
from floeberg.spark.read.worker import TableFiles

Words: TypeAlias = npt.NDArray[np.int64]

PLACE: Final = f"{OWN_PREFIX}place"
_WORDS: Final = f"{OWN_PREFIX}words"
MAX_STORED_BYTES: Final = 32 << 20
"""Delete files of more bytes than this in all are not read here, but where the data files are."""
MAX_WORDS_BYTES: Final = 64 << 20
"""Bitmaps of more bytes than this in all are not sent to the executors."""
_WORD_BITS: Final = 64
_WORD: Final = f"shiftright({ROW_INDEX}, 6)"
_HALF: Final = 32


def stored_bytes(tasks: Sequence[FileScanTask]) -> int:
    """What the position deletes of tasks occupy, each counted once."""
    sizes = {
        delete.file.identity: delete.file.content_size_in_bytes or delete.file.file_size_in_bytes
        for task in tasks
        for delete in (*task.position_deletes, *((task.deletion_vector,) if task.deletion_vector else ()))
    }
    return sum(sizes.values())


def load_words(tasks: Sequence[FileScanTask], files: TableFiles) -> list[Words] | None:
    """The words of the deleted positions of each task's file; None when they are too many to be sent around."""
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


def places_column(words: Sequence[Words]) -> pa.Array:
    """Where the words of each file begin among those of all, and how many they are, in one number: a fact."""
    counts = [len(own) for own in words]
    first = accumulate(counts, initial=0)
    return pa.array([(begin << _HALF) | count for begin, count in zip(first, counts, strict=False)], pa.int64())


def is_live(spark: Any, words: Sequence[Words]) -> Any:
    """Whether the row's position is not among the deleted ones of its file, whose place is a fact. The words of all files
    are one array that every row sees: to join each file's own to its rows would cost an object for each row."""
    everything = spark.createDataFrame(pa.table({_WORDS: words_column([np.concatenate(words)])})).scalar()
    word = F.get(everything, F.expr(f"CAST(shiftright({PLACE}, {_HALF}) + {_WORD} AS INT)"))
    bit = F.call_function("bit_get", word, F.expr(f"CAST({ROW_INDEX} & 63 AS INT)"))
    # Asked second, of the few rows whose bit is set: behind the file's own words lie those of the next.
    is_past_the_end = F.expr(f"{_WORD} >= ({PLACE} & {(1 << _HALF) - 1}L)")
    return (bit == F.lit(0)) | is_past_the_end
