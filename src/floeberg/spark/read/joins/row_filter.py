"""The keys of a join as a condition on the rows of the large table.

Spark joins in the order of the text, and sends rows through exchanges and sorts that a later join drops. Rows without a key of
the small table are dropped where they are read: whole numbers and dates are looked up in an array of bits. What a join may
leave out by whole files it may leave out by rows, so the rules of `sql/queries/join_keys.py` are all there is to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import functions as F

from floeberg.expr.nodes import BoundReference
from floeberg.scan.expected_rows import expected_rows
from floeberg.scan.kept_plans import Same
from floeberg.scan.scan_plan import ScanPlan
from floeberg.spark.read.deletes.positions import words_column
from floeberg.spark.read.joins.key_values import JoinKey, KeyValues, equal_values, key_reference
from floeberg.spec.types import DateType, IcebergType, IntegerType, LongType
from floeberg.sql.text.lexer import quote_name

LEAST_ROWS: Final = 100_000
"""Of fewer rows a join costs less than to read the keys and to look them up."""
TIMES_LARGER: Final = 4
"""The table whose rows are left out has so many times the rows of the one whose keys are read."""
MOST_LEFT: Final = 0.5
"""The share of the rows that the keys may leave: a row is looked up for each that is left out."""
MAX_BYTES: Final = 2 << 20
"""Of the bits of one column's keys: they are sent to every task."""
_TYPES: Final = (IntegerType, LongType, DateType)
_WRITTEN_OUT: Final = 10
"""So few values Spark compares with the statistics of Parquet, too."""
FUNCTIONS: Final = ("bit_get", "date_from_unix_date", "get", "shiftright", "unix_date")
"""Those of Spark that the condition calls."""
_WORD_BITS: Final = 64
_WORDS: Final = "words"


@dataclass(frozen=True, slots=True)
class RowKeys:
    """The values of a column that rows must have, in order; `source` is whose keys they are, in words."""

    column: str
    type: IcebergType
    values: Sequence[int]
    known_by: Same
    """Is equal for the same keys alone."""
    source: str

    @property
    def held_bytes(self) -> int:
        """What the values and their bits take in memory, while they are kept."""
        return 8 * len(self.values) + (self.values[-1] - self.values[0]) // 8


def row_keys(plan: ScanPlan, keys: Sequence[JoinKey]) -> tuple[RowKeys, ...]:
    """The keys that leave out enough rows of planned files, the fewest first."""
    rows = plan.record_count
    found: list[tuple[float, RowKeys]] = []
    for key in keys if rows >= LEAST_ROWS else ():
        reference = key_reference(key.column, plan.schema)
        if reference is None or key.op != "=" or key.added or not isinstance(reference.type, _TYPES):
            continue
        if _is_told_by_partitions(plan, reference):
            continue
        known = key.keys.values(beside_rows=rows // TIMES_LARGER)
        values = None if known is None else equal_values(known, reference)
        if known is None or not values or not _fits(values):
            continue
        left = _left(plan, reference, known)
        if left <= MOST_LEFT * rows:
            name = plan.schema.by_id[reference.field_id].name
            found.append((left, RowKeys(name, reference.type, values, Same(known.values), known.source)))
    return tuple(one for _, one in sorted(found, key=lambda each: each[0]))


def _is_told_by_partitions(plan: ScanPlan, reference: BoundReference) -> bool:
    """Whether files have one value of the column each, so that those with another one are left out already."""
    return all(reference.field_id in part.spec.identity_source_ids for part in plan.parts)


def _fits(values: Sequence[int]) -> bool:
    return (values[-1] - values[0]) // 8 <= MAX_BYTES


def _left(plan: ScanPlan, reference: BoundReference, known: KeyValues) -> float:
    """How many of the planned rows the keys are expected to leave: the share of the small table's rows, unless the bounds of
    files tell of more. Files were left out before, which is most of what the keys say of a column like the date."""
    share = len(known.values) / known.table_rows if known.table_rows else 1.0
    return expected_rows(plan, reference, known.values, least_share=min(share, 1.0))


def has_keys(spark: Any, keys: Sequence[RowKeys]) -> Any:
    """The condition that a row of the table has the keys."""
    return reduce(and_, (_condition(spark, one) for one in keys))


def _condition(spark: Any, keys: RowKeys) -> Any:
    """That a row has one of the keys. Null is none of them."""
    column, values = quote_name(keys.column), keys.values
    if len(values) <= _WRITTEN_OUT:
        return F.expr(f"{column} IN ({', '.join(_literal(keys.type, value) for value in values)})")
    within = f"{column} BETWEEN {_literal(keys.type, values[0])} AND {_literal(keys.type, values[-1])}"
    number = f"unix_date({column})" if isinstance(keys.type, DateType) else column
    first, words = _words(values)
    index = F.expr(f"CAST(shiftright(CAST({number} AS BIGINT), 6) - {first}L AS INT)")
    word = F.get(spark.createDataFrame(pa.table({_WORDS: words_column([words])})).scalar(), index)
    bit = F.call_function("bit_get", word, F.expr(f"CAST({number} & 63 AS INT)"))
    # An index beyond the array may not fit an INT: it is not asked for.
    return F.expr(within) & F.when(F.expr(within), bit == F.lit(1)).otherwise(F.lit(False))


def _literal(data_type: IcebergType, value: int) -> str:
    if isinstance(data_type, DateType):
        return f"date_from_unix_date({value})"
    # The least LONG is no literal: its digits without the sign are too many.
    return f"CAST('{value}' AS {'INT' if isinstance(data_type, IntegerType) else 'BIGINT'})"


def _words(values: Sequence[int]) -> tuple[int, npt.NDArray[np.int64]]:
    """Bit `value & 63` of word `(value >> 6) - first` for each value."""
    first = values[0] >> 6
    bits = np.zeros(((values[-1] >> 6) - first + 1) * _WORD_BITS, dtype=np.bool_)
    bits[np.asarray(values, dtype=np.int64) - first * _WORD_BITS] = True
    return first, np.packbits(bits, bitorder="little").view("<i8").astype(np.int64, copy=False)
