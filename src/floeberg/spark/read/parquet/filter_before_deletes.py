"""Conditions of a query that Spark evaluates before the delete check.

Spark evaluates the filters of a frame in their order, so the delete check would run before the query's own conditions, which
cost less and leave few rows. Repeated here, they run first; the optimizer removes the repetition. Only comparisons of a number
or a date with a literal are repeated: their meaning depends on no setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from floeberg.expr.nodes import BoundPredicate, BoundReference, Expression, Op
from floeberg.scan.pruning import conjuncts
from floeberg.spark.read.parquet.columns import NativeColumn
from floeberg.spec.types import DateType, DecimalType, IntegerType, LongType
from floeberg.spec.values.temporal import LONG_MAX
from floeberg.sql.ddl.default_values import literal_text
from floeberg.sql.text.lexer import quote_name

_SIGNS: Final = {Op.LT: "<", Op.LT_EQ: "<=", Op.GT: ">", Op.GT_EQ: ">=", Op.EQ: "=", Op.NOT_EQ: "<>"}
_TYPES: Final = (IntegerType, LongType, DateType, DecimalType)
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31: what Spark reads in a literal whatever its settings."""


def filter_before_deletes(bound: Expression, columns: Mapping[int, NativeColumn]) -> str | None:
    """The conjuncts of `bound` on columns that are read, as SQL over the names under which they are read; None when there
    are none. `bound` implies them."""
    texts = [text for part in conjuncts(bound) if (text := _text(part, columns)) is not None]
    return " AND ".join(texts) or None


def _text(part: Expression, columns: Mapping[int, NativeColumn]) -> str | None:
    if not isinstance(part, BoundPredicate) or not isinstance(part.term, BoundReference) or part.op not in _SIGNS:
        return None
    column = columns.get(part.term.field_id)
    if column is None or column.read is None or column.field.type != part.term.type:
        return None
    if not isinstance(part.term.type, _TYPES) or not _is_plain(part.literal, part.term.type):
        return None
    return f"{quote_name(column.read.name)} {_SIGNS[part.op]} {literal_text(part.term.type, part.literal)}"


def _is_plain(value: object, data_type: object) -> bool:
    if isinstance(data_type, DateType):
        return isinstance(value, int) and _FIRST_DAY <= value <= _LAST_DAY
    return isinstance(value, Decimal) or (isinstance(value, int) and abs(value) < LONG_MAX)
