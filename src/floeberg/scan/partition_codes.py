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
        self._tables: dict[int, list[pl.DataFrame]] = {}
        taken = 0
        for part in parts:
            keys = _keys(part.frame).unique(maintain_order=True)
            count = keys.height if keys.width else 1
            numbers = pl.Series(CODE, np.arange(taken, taken + count, dtype=np.int64))
            taken += count
            table = keys.with_columns(numbers) if keys.width else numbers.to_frame()
            self._tables.setdefault(part.spec.spec_id, []).append(table)

    def of(self, part: FilesOfSpec) -> pl.Series:
        """The numbers of the files' partitions, in their order."""
        keys = _keys(part.frame)
        for table in self._tables.get(part.spec.spec_id, ()):
            if not keys.width:
                return table.get_column(CODE).new_from_index(0, part.frame.height)
            dtypes = _shared_dtypes(keys, table)
            if dtypes is not None:
                found = keys.cast(dtypes).join(
                    table.cast(dtypes), on=keys.columns, how="left", nulls_equal=True, maintain_order="left"
                )
                return found.get_column(CODE)
        return pl.Series(CODE, [None], dtype=pl.Int64).new_from_index(0, part.frame.height)


def _shared_dtypes(keys: pl.DataFrame, table: pl.DataFrame) -> pl.Schema | None:
    """The dtypes that both have; None when they differ. If a source column was dropped, only the manifests know the type of
    its values, and a manifest whose values are all null may not."""
    dtypes = pl.Schema()
    for name in keys.columns:
        own, other = keys.schema[name], table.schema[name]
        if pl.Null in (own, other):
            dtypes[name] = other if own == pl.Null else own
        elif own == other:
            dtypes[name] = own
        else:
            return None
    return dtypes


def _keys(frame: pl.DataFrame) -> pl.DataFrame:
    partition = frame.get_column("partition")
    columns = [] if not partition.struct.fields else partition.struct.unnest().get_columns()
    return pl.DataFrame([_bits(column) if column.dtype.is_float() else column for column in columns])


def _bits(values: pl.Series) -> pl.Series:
    """Floats by their bits, with one NaN."""
    bits = pl.Series(values.name, values.cast(pl.Float64).fill_null(0.0).to_numpy().view(np.int64))
    bits = bits.set(values.is_nan().fill_null(False), _NAN_BITS)
    return bits.set(values.is_null(), None)
