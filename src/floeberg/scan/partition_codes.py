"""Partitions as numbers, so that files and deletes of one partition can be joined.

Two partitions are the same when their spec is and all values are: null equals null, NaN equals NaN, and -0.0 is another
value than 0.0, as in the reference implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from floeberg.scan.manifest_frames import FilesOfSpec

CODE: Final = "partition_code"
_NAN_BITS: Final = 0x7FF8000000000000


class PartitionCodes:
    """Numbers for the partitions of some files. Other files get the number of their partition, null when it has none."""

    def __init__(self, parts: Sequence[FilesOfSpec]) -> None:
        self._tables: dict[int, pl.DataFrame] = {}
        taken = 0
        for part in parts:
            keys = _keys(part.frame).unique(maintain_order=True)
            count = keys.height if keys.width else 1
            numbers = pl.Series(CODE, np.arange(taken, taken + count, dtype=np.int64))
            taken += count
            self._tables[part.spec.spec_id] = keys.with_columns(numbers) if keys.width else numbers.to_frame()

    def of(self, part: FilesOfSpec) -> pl.Series:
        """The numbers of the files' partitions, in their order."""
        table = self._tables.get(part.spec.spec_id)
        if table is None:
            return pl.Series(CODE, [None], dtype=pl.Int64).new_from_index(0, part.frame.height)
        keys = _keys(part.frame)
        if not keys.width:
            return table.get_column(CODE).new_from_index(0, part.frame.height)
        return keys.join(table, on=keys.columns, how="left", nulls_equal=True, maintain_order="left").get_column(CODE)


def _keys(frame: pl.DataFrame) -> pl.DataFrame:
    partition = frame.get_column("partition")
    columns = [] if not partition.struct.fields else partition.struct.unnest().get_columns()
    return pl.DataFrame([_bits(column) if column.dtype.is_float() else column for column in columns])


def _bits(values: pl.Series) -> pl.Series:
    """Floats by their bits, with one NaN."""
    bits = pl.Series(values.name, values.cast(pl.Float64).fill_null(0.0).to_numpy().view(np.int64))
    bits = bits.set(values.is_nan().fill_null(False), _NAN_BITS)
    return bits.set(values.is_null(), None)
