"""Conditions of a query that rows are tested for before it is asked whether they are deleted.

Spark tests what a frame is made with first and a query's own conditions after it, although these cost less and leave few rows.
It finds them here again, and tests each once. Only conditions that mean the same to everyone: a number or day beside a literal.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from floeberg.expr.nodes import BoundPredicate, BoundReference, Expression, Op
from floeberg.scan.pruning import conjuncts
from floeberg.spark.read.parquet.columns import CompiledColumn
from floeberg.spec.types import DateType, DecimalType, IntegerType, LongType
from floeberg.spec.values.temporal import LONG_MAX
from floeberg.sql.ddl.default_values import literal_text
from floeberg.sql.text.lexer import quote_name

_SIGNS: Final = {Op.LT: "<", Op.LT_EQ: "<=", Op.GT: ">", Op.GT_EQ: ">=", Op.EQ: "=", Op.NOT_EQ: "<>"}
_TYPES: Final = (IntegerType, LongType, DateType, DecimalType)
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31: what Spark reads in a literal whatever its settings."""


def first_conditions(bound: Expression, columns: Mapping[int, CompiledColumn]) -> str | None:
    """The conditions about columns that are read, as SQL over the names under which they are; None when there are none.
    A row for which they are not true is none for which `bound` is."""
    texts = [text for part in conjuncts(bound) if (text := _text(part, columns)) is not None]
    return " AND ".join(texts) or None


def _text(part: Expression, columns: Mapping[int, CompiledColumn]) -> str | None:
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
