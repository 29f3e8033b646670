"""Key values of a small table, known while a query is planned, by which files and rows of a large one are left out.

The small table is read at the snapshot that the query reads, with its deletes, under conditions that are never stronger than
the query's own: there may be more values than the join will see, never fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind_reference
from floeberg.expr.nodes import FALSE, BoundPredicate, BoundReference, Expression, Op, and_
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    DateType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestamptzType,
)
from floeberg.spec.values.temporal import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN

MAX_VALUES: Final = 10_000
"""Beyond this number only the least and the greatest value leave out files."""
_WHOLE: Final = (IntegerType, LongType)
_OPS: Final = {"<": Op.LT, "<=": Op.LT_EQ, ">": Op.GT, ">=": Op.GT_EQ}
_KEY_TYPES: Final = (IntegerType, LongType, DateType, StringType, TimestamptzType)
"""Types whose values are equal in Spark exactly when they are here. Not the floating ones, uuid and binary."""


@dataclass(frozen=True, slots=True)
class KeyValues:
    """Values of a column, physical ones in order, in words where they are from, and how many rows that table has."""

    type: IcebergType
    values: Sequence[Any]
    source: str
    table_rows: int | None = None
    """Those under no condition; None where that is not known."""


class KeyReader(Protocol):
    """Gives key values when they are first needed; None when there are too many, or none that restrict anything."""

    def values(self, *, beside_rows: int) -> KeyValues | None:
        """The values, for a table of so many rows."""


@dataclass(frozen=True, slots=True)
class JoinKey:
    """A column of a table, only those rows of which are needed whose value is among some keys."""

    column: str
    keys: KeyReader
    op: str = "="
    added: int = 0


def is_key_type(data_type: IcebergType) -> bool:
    return isinstance(data_type, _KEY_TYPES)


def key_predicate(
    keys: KeyValues, reference: BoundReference, *, op: str = "=", added: int = 0, most: int = MAX_VALUES
) -> Expression | None:
    """That a column's value compares by `op` with one of the keys, to which `added` is added, or lies between them if there are
    more than `most`; None where Spark would convert one side to compare them, or a sum may not be what it is here."""
    if not _are_compared_as_they_are(keys, reference):
        return None
    values: Sequence[Any] = keys.values if not added else _sums(keys, added)
    if keys.values and not values:
        return None
    if op != "=":
        return _bound(values, reference, op)
    values = _of_the_type(values, reference)
    if not values:
        return FALSE
    if len(values) > most:
        low, high = (
            BoundPredicate(Op.GT_EQ, reference, (values[0],)),
            BoundPredicate(Op.LT_EQ, reference, (values[-1],)),
        )
        return and_(low, high)
    return BoundPredicate(Op.EQ if len(values) == 1 else Op.IN, reference, tuple(values))


def equal_values(keys: KeyValues, reference: BoundReference) -> Sequence[Any] | None:
    """The values of a column that equal one of the keys, in order; None where Spark would convert one side to compare them."""
    return _of_the_type(keys.values, reference) if _are_compared_as_they_are(keys, reference) else None


def _are_compared_as_they_are(keys: KeyValues, reference: BoundReference) -> bool:
    same = type(keys.type) is type(reference.type)
    return is_key_type(reference.type) and (
        same or (isinstance(keys.type, _WHOLE) and isinstance(reference.type, _WHOLE))
    )


def _of_the_type(values: Sequence[Any], reference: BoundReference) -> Sequence[Any]:
    """The values that the column can have."""
    if not isinstance(reference.type, IntegerType) or not values or INT_MIN <= values[0] <= values[-1] <= INT_MAX:
        return values
    return [value for value in values if INT_MIN <= value <= INT_MAX]


def _sums(keys: KeyValues, added: int) -> Sequence[Any]:
    """The keys with a number added to each; none where a sum leaves their type, which wraps round or raises in Spark."""
    if not isinstance(keys.type, _WHOLE):
        return ()
    least, most = (INT_MIN, INT_MAX) if isinstance(keys.type, IntegerType) else (LONG_MIN, LONG_MAX)
    sums = [value + added for value in keys.values]
    return sums if all(least <= value <= most for value in sums) else ()


def _bound(values: Sequence[Any], reference: BoundReference, op: str) -> Expression | None:
    """That a column's value compares by `op`, which is no equality, with one of the values, which are in order."""
    if not values:
        return FALSE
    literal = values[0] if op in (">", ">=") else values[-1]
    if isinstance(reference.type, IntegerType) and not INT_MIN <= literal <= INT_MAX:
        return None
    return BoundPredicate(_OPS[op], reference, (literal,))


def key_reference(column: str, schema: Schema) -> BoundReference | None:
    """The top-level column of that name, whatever its case; None when it is none whose values can be keys."""
    try:
        found = bind_reference(column, schema, case_sensitive=False)
    except InvalidInput:
        return None
    return found if is_key_type(found.type) and not found.is_nested else None
