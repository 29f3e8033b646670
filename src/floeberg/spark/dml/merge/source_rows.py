"""The rows of a MERGE's source by their number (SOURCE_ROW)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import functions as F

from floeberg.files.deletion_vector import bitmap_of
from floeberg.spark.dml.change_job import SOURCE_ROW
from floeberg.spark.read.deletes.positions import to_words, words_column
from floeberg.spec.schemas.rules import ENGINE_PREFIX

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_LISTED_ROWS: Final = 1_000
_PARTITION_SHIFT: Final = 33
ROW_IN_PARTITION: Final = (1 << _PARTITION_SHIFT) - 1
"""How `monotonically_increasing_id` is made."""
_PARTITION: Final = f"{ENGINE_PREFIX}partition"
_WORDS: Final = f"{ENGINE_PREFIX}words"


def without_rows(source: DataFrame, matched: BitMap64) -> DataFrame:
    """The rows of a source but those whose SOURCE_ROW is given."""
    if not matched:
        return source
    if len(matched) <= MAX_LISTED_ROWS:
        return source.where(f"{SOURCE_ROW} NOT IN ({', '.join(str(row) for row in matched)})")
    # A row's number is that of its partition, and under it its place there: a bitmap for each partition.
    partitions: dict[int, BitMap64] = {}
    rows = np.frombuffer(matched.to_array(), dtype=np.uint64)
    numbers = rows >> np.uint64(_PARTITION_SHIFT)
    for number in np.unique(numbers):
        partitions[int(number)] = bitmap_of(rows[numbers == number] & np.uint64(ROW_IN_PARTITION))
    words = words_column([to_words(found) for found in partitions.values()])
    known = source.sparkSession.createDataFrame(pa.table({_PARTITION: pa.array(partitions, pa.int64()), _WORDS: words}))
    joined = source.join(
        F.broadcast(known), F.expr(f"shiftright({SOURCE_ROW}, {_PARTITION_SHIFT}) = {_PARTITION}"), "left"
    )
    place = f"{SOURCE_ROW} & {ROW_IN_PARTITION}"
    word = f"get({_WORDS}, CAST(shiftright({place}, 6) AS INT))"
    return joined.where(f"coalesce(bit_get({word}, CAST({place} & 63 AS INT)), 0) = 0").drop(_PARTITION, _WORDS)
