"""What the keys of a small table say of a column of a large one, at the ends of the types' ranges."""

from __future__ import annotations

from typing import Any

import pytest

from floeberg.expr.bind import bind_reference
from floeberg.expr.nodes import FALSE, BoundPredicate, Op
from floeberg.spark.read.joins.key_values import KeyValues, key_predicate
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DATE, INT, LONG, STRING, IcebergType, NestedField

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1


def predicate(
    kind: IcebergType, key_kind: IcebergType, values: tuple[Any, ...], op: str, added: int = 0
) -> tuple[Op, Any] | None:
    reference = bind_reference("c", Schema(NestedField(1, "c", kind)), case_sensitive=True)
    found = key_predicate(KeyValues(key_kind, values, "d"), reference, op=op, added=added)
    assert found is None or isinstance(found, BoundPredicate)
    return None if found is None else (found.op, found.literal if len(found.literals) == 1 else found.literals)


@pytest.mark.parametrize(
    ("kind", "key_kind", "values", "op", "added", "expected"),
    [
        (LONG, LONG, (3, 7), "=", 1, (Op.IN, (4, 8))),
        (LONG, INT, (3, 7), ">=", 1, (Op.GT_EQ, 4)),
        (LONG, INT, (3, 7), ">", 0, (Op.GT, 3)),
        (LONG, INT, (3, 7), "<=", -1, (Op.LT_EQ, 6)),
        (LONG, INT, (3, 7), "<", 0, (Op.LT, 7)),
        (STRING, STRING, ("a", "b"), ">=", 0, (Op.GT_EQ, "a")),
        (DATE, DATE, (1, 9), "<", 0, (Op.LT, 9)),
        # Such a sum wraps round or raises in Spark.
        (LONG, INT, (3, INT_MAX), ">=", 1, None),
        (LONG, INT, (3, INT_MAX), "=", 1, None),
        (LONG, LONG, (3, INT_MAX), ">=", 1, (Op.GT_EQ, 4)),
        (LONG, LONG, (3, LONG_MAX), ">=", 1, None),
        (DATE, DATE, (1, 9), "<", 1, None),
        # No int is a literal of this size.
        (INT, LONG, (2**40,), ">=", 0, None),
        (INT, LONG, (5, 2**40), ">=", 0, (Op.GT_EQ, 5)),
        # Spark converts one side.
        (LONG, STRING, ("3",), ">=", 0, None),
        (STRING, DATE, (3,), "<", 0, None),
    ],
)
def test_a_column_compares_with_the_keys(
    kind: IcebergType, key_kind: IcebergType, values: tuple[Any, ...], op: str, added: int, expected: object
) -> None:
    assert predicate(kind, key_kind, values, op, added) == expected


@pytest.mark.parametrize("op", ["=", ">="])
def test_a_column_compares_with_no_key(op: str) -> None:
    reference = bind_reference("c", Schema(NestedField(1, "c", LONG)), case_sensitive=True)
    assert key_predicate(KeyValues(INT, (), "d"), reference, op=op, added=1) is FALSE
