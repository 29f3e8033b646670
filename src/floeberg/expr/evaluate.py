"""What an expression means for a row: the oracle that every other evaluation is tested against.

Three-valued logic, as SQL has it: a comparison, a list or a prefix test of null is null (None); only TRUE keeps a row.
`is_null`, `not_null`, `is_nan` and `not_nan` are never null; a null is not NaN. The order of values is Spark's, which
is total, because Spark filters the rows that planning keeps:

- NaN equals itself and is greater than any other value, and so `x > 3` and `x != 3` keep NaN, `x < 3` does not;
- -0.0 equals 0.0;
- strings compare by code point (that is, by their UTF-8 bytes), binary, fixed and uuid by unsigned bytes.

The specification's column metrics leave NaN out of the bounds, so whoever prunes by bounds must ask for the NaN count
where NaN can make a predicate true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from floeberg.errors import InvalidInput
from floeberg.expr.nodes import (
    AlwaysFalse,
    AlwaysTrue,
    BoundPredicate,
    BoundReference,
    BoundTerm,
    Expression,
    Op,
    fold,
)

Row: TypeAlias = Mapping[str, object] | Sequence[object]
"""A struct value: by field name, or in field order. A partition tuple is one."""


def evaluate(expression: Expression, row: Row) -> bool | None:
    """True, false or null (None) for one row, with values in physical form, of a bound expression."""
    return fold(
        expression,
        leaf=lambda node: _evaluate_leaf(node, row),
        every=lambda values: all_of(values),
        some=lambda values: any_of(values),
        negate=lambda value: None if value is None else not value,
    )


def keeps(expression: Expression, row: Row) -> bool:
    """Whether a filter keeps the row: only when the expression is true, neither false nor null."""
    return evaluate(expression, row) is True


def value_of(term: BoundTerm, row: Row) -> object:
    """The term's value in a row; null where an enclosing struct is null."""
    if not isinstance(term, BoundReference):
        return term.transform.apply(term.reference.type, value_of(term.reference, row))
    value: object = row
    for position, name in zip(term.positions, term.names, strict=True):
        if value is None:
            return None
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, Sequence):
            value = value[position]
        else:
            raise InvalidInput(f"column {term.name}: {value!r:.60} is not a struct value")
    return value


def holds(op: Op, value: object, literals: Sequence[object]) -> bool | None:
    """Whether a predicate holds for one value."""
    if value is None:
        return _OF_NULL.get(op, None if literals else op is Op.NOT_IN)
    return _OF_VALUE[op](value, literals)


def order_key(value: object) -> Any:
    """A key whose equality and order are those of predicates on non-null values of one type."""
    if isinstance(value, float):
        return (1, 0.0) if value != value else (0, value)
    return value


def all_of(values: Sequence[bool | None]) -> bool | None:
    """AND in three-valued logic."""
    if any(value is False for value in values):
        return False
    return None if any(value is None for value in values) else True


def any_of(values: Sequence[bool | None]) -> bool | None:
    """OR in three-valued logic."""
    if any(value is True for value in values):
        return True
    return None if any(value is None for value in values) else False


_OF_NULL: Final[dict[Op, bool]] = {Op.IS_NULL: True, Op.NOT_NULL: False, Op.IS_NAN: False, Op.NOT_NAN: True}

_OF_VALUE: Final[dict[Op, Callable[[Any, Sequence[Any]], bool]]] = {
    Op.IS_NULL: lambda value, _: False,
    Op.NOT_NULL: lambda value, _: True,
    Op.IS_NAN: lambda value, _: bool(value != value),
    Op.NOT_NAN: lambda value, _: bool(value == value),
    Op.LT: lambda value, literals: bool(order_key(value) < order_key(literals[0])),
    Op.LT_EQ: lambda value, literals: bool(order_key(value) <= order_key(literals[0])),
    Op.GT: lambda value, literals: bool(order_key(value) > order_key(literals[0])),
    Op.GT_EQ: lambda value, literals: bool(order_key(value) >= order_key(literals[0])),
    Op.EQ: lambda value, literals: bool(order_key(value) == order_key(literals[0])),
    Op.NOT_EQ: lambda value, literals: bool(order_key(value) != order_key(literals[0])),
    Op.IN: lambda value, literals: order_key(value) in {order_key(literal) for literal in literals},
    Op.NOT_IN: lambda value, literals: order_key(value) not in {order_key(literal) for literal in literals},
    Op.STARTS_WITH: lambda value, literals: bool(value.startswith(literals[0])),
    Op.NOT_STARTS_WITH: lambda value, literals: not value.startswith(literals[0]),
}


def _evaluate_leaf(node: Expression, row: Row) -> bool | None:
    match node:
        case AlwaysTrue():
            return True
        case AlwaysFalse():
            return False
        case BoundPredicate(op=op, term=term, literals=literals):
            return holds(op, value_of(term, row), literals)
    raise InvalidInput(f"{node} is not bound to a schema: bind it before it is evaluated")
