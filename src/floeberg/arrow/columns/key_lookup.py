"""Finds rows by key: which row of a source, if any, has the key of each row of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from floeberg.errors import InvalidInput

Rows: TypeAlias = npt.NDArray[np.int64]


class KeyLookup:
    """Rows of a source by the values of some columns, which hold no nulls. Raises InvalidInput when two rows have the same
    key: it would not be known which of them a match means."""

    def __init__(self, columns: Sequence[pa.Array], names: Sequence[str]) -> None:
        self._distinct: list[pa.Array] = []
        self._combined: list[pa.Array] = []
        codes: Rows = np.zeros(len(columns[0]), dtype=np.int64)
        for column, name in zip(columns, names, strict=True):
            if column.null_count:
                raise InvalidInput(f"key column {name!r} holds nulls, and null equals nothing; leave such rows out")
            encoded = column.dictionary_encode()
            self._distinct.append(encoded.dictionary)
            combined = codes * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False)
            known, codes = np.unique(combined, return_inverse=True)
            self._combined.append(pa.array(known))
        self._row_of_key: Rows = np.zeros(len(self._combined[-1]), dtype=np.int64)
        self._row_of_key[codes] = np.arange(len(codes), dtype=np.int64)
        if len(self._row_of_key) < len(codes):
            row = int(np.flatnonzero(np.bincount(codes)[codes] > 1)[0])
            key = ", ".join(f"{name}={column[row].as_py()!r}" for column, name in zip(columns, names, strict=True))
            raise InvalidInput(f"two rows have the key {key:.200}; a key may be there once")

    def find(self, columns: Sequence[pa.Array]) -> Rows:
        """For each row of key columns of the same types, the source's row with that key, or -1."""
        codes: Rows = np.zeros(len(columns[0]), dtype=np.int64)
        missing = np.zeros(len(codes), dtype=np.bool_)
        for column, distinct, combined in zip(columns, self._distinct, self._combined, strict=True):
            code = _index_in(column, distinct)
            missing |= code < 0
            codes = _index_in(pa.array(codes * len(distinct) + code), combined)
            missing |= codes < 0
        found: Rows = np.where(missing, -1, self._row_of_key[np.maximum(codes, 0)] if len(self._row_of_key) else -1)
        return found


def _index_in(values: pa.Array, known: pa.Array) -> Rows:
    """The place of each value among known ones, -1 when it is not there (null never is)."""
    if not len(known):
        return np.full(len(values), -1, dtype=np.int64)
    places: Rows = pc.index_in(values, value_set=known).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return places
