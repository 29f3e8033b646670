"""Expressions in JSON, as the REST protocol exchanges them.

Two forms are read, and both can be written: the one of terms (`{"type": "gt", "term": "x", "value": 3}`), which every
implementation knows, and the typed one of https://iceberg.apache.org/expressions-spec/, which keeps the types of
literals. In the form of terms a literal's type is known from its column alone: bind what was read with
`physical_literals=True`.

Other implementations give predicates two-valued meaning. An expression with its negation pushed down is true for them
wherever it is true here, but for NaN, which is neither less nor greater for them: see `for_others`.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

import msgspec

from floeberg.errors import InvalidInput, MetadataCorrupt
from floeberg.expr.json_terms import read_literal, read_literals, read_term, required, term_json
from floeberg.expr.literals import Literal, Temporal, literal_from_physical
from floeberg.expr.nodes import (
    FALSE,
    SET_OPS,
    TRUE,
    UNARY_OPS,
    AlwaysFalse,
    AlwaysTrue,
    And,
    BoundPredicate,
    Expression,
    Not,
    Op,
    Or,
    Predicate,
    fold,
    or_,
)
from floeberg.expr.rewrite import push_down_not
from floeberg.spec.json.strict import check_depth, decode_strict
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    MAX_DECIMAL_PRECISION,
    STRING,
    UUID,
    DecimalType,
    DoubleType,
    FloatType,
    PrimitiveType,
)
from floeberg.spec.values.single_value import to_json as value_to_json
from floeberg.spec.values.temporal import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN

_MIRRORED: Final = {Op.LT: Op.GT, Op.LT_EQ: Op.GT_EQ, Op.GT: Op.LT, Op.GT_EQ: Op.LT_EQ, Op.EQ: Op.EQ}
_OPS: Final = frozenset(op.value for op in Op)
_CONSTANTS: Final[dict[str, Expression]] = {"true": TRUE, "false": FALSE}


def parse_json(data: bytes, *, schema: Schema | None = None) -> Expression:
    """The expression of a JSON text. Raises MetadataCorrupt or LimitExceeded."""
    return from_json(decode_strict(data, where="expression"), schema=schema)


def write_json(expression: Expression, *, typed: bool = False) -> bytes:
    """The JSON text of an expression."""
    return msgspec.json.encode(to_json(expression, typed=typed))


def for_others(bound: Expression) -> Expression:
    """An expression that is true, in the two-valued logic of other implementations, for every row for which this one is
    true here: negation is pushed down, and where NaN counts as great, it is asked for."""
    return fold(
        push_down_not(bound),
        leaf=_with_nan,
        every=lambda parts: _joined(And, parts),
        some=lambda parts: _joined(Or, parts),
        negate=Not,
    )


def to_json(expression: Expression, *, typed: bool = False) -> object:
    """The JSON value, as builtins. And and or of many children nest in pairs."""
    return fold(
        expression,
        leaf=lambda node: _leaf_json(node, typed=typed),
        every=lambda parts: _pairs("and", parts),
        some=lambda parts: _pairs("or", parts),
        negate=lambda child: {"type": "not", "child": child},
    )


def from_json(obj: object, *, schema: Schema | None = None) -> Expression:
    """The expression of a JSON value. References by field id need the schema.
    Raises MetadataCorrupt or LimitExceeded."""
    check_depth(obj, where="expression")
    pending: list[tuple[object, bool]] = [(obj, False)]
    done: list[Expression] = []
    try:
        while pending:
            node, children_done = pending.pop()
            kind = _kind(node)
            if kind in ("and", "or"):
                if children_done:
                    right, left = done.pop(), done.pop()
                    done.append(And((left, right)) if kind == "and" else Or((left, right)))
                else:
                    pending.extend([(node, True), (required(node, "right"), False), (required(node, "left"), False)])
            elif kind == "not":
                if children_done:
                    done.append(Not(done.pop()))
                else:
                    pending.extend([(node, True), (required(node, "child"), False)])
            else:
                done.append(_read_leaf(kind, node, schema))
    except InvalidInput as error:
        raise MetadataCorrupt(f"not an expression: {error}", **error.context) from error
    return done[0]


def _kind(node: object) -> str:
    """The type of a node in lower case with hyphens; other writers put underscores and capitals."""
    if isinstance(node, bool):
        return "true" if node else "false"
    kind = required(node, "type")
    if not isinstance(kind, str):
        raise InvalidInput(f"the type of an expression is text, not {kind!r:.60}")
    return kind.lower().replace("_", "-")


def _read_leaf(kind: str, node: object, schema: Schema | None) -> Expression:
    if kind in _CONSTANTS:
        return _CONSTANTS[kind]
    if kind == "literal":
        value = required(node, "value")
        if not isinstance(value, bool):
            raise InvalidInput(f"a literal that is an expression is true or false, not {value!r:.60}")
        return TRUE if value else FALSE
    if kind not in _OPS:
        raise InvalidInput(f"unknown type {kind[:60]!r}")
    assert isinstance(node, Mapping)
    op = Op(kind)
    if op in UNARY_OPS:
        _refuse(node, op, "value", "values")
        return Predicate(op, read_term(_operand(node, "child"), schema))
    if op in SET_OPS:
        _refuse(node, op, "value")
        return Predicate(op, read_term(_operand(node, "child"), schema), read_literals(required(node, "values")))
    _refuse(node, op, "values")
    if "left" not in node:
        return Predicate(op, read_term(required(node, "term"), schema), (read_literal(required(node, "value")),))
    return _read_comparison(op, required(node, "left"), required(node, "right"), schema)


def _read_comparison(op: Op, left: object, right: object, schema: Schema | None) -> Expression:
    """The typed form, which lets the literal stand on either side."""
    if _is_value(left) and op in (*_MIRRORED, Op.NOT_EQ) and not _is_value(right):
        left, right, op = right, left, _MIRRORED.get(op, op)
    if _is_value(left) or not _is_value(right):
        raise InvalidInput("a comparison needs a column on one side and a literal on the other")
    return Predicate(op, read_term(left, schema), (read_literal(right),))


def _is_value(obj: object) -> bool:
    return not isinstance(obj, Mapping) or obj.get("type") == "literal"


def _operand(node: Mapping[str, object], name: str) -> object:
    return node[name] if name in node else required(node, "term")


def _refuse(node: Mapping[str, object], op: Op, *names: str) -> None:
    for name in names:
        if name in node:
            raise InvalidInput(f"{op} has no `{name}`")


def _pairs(kind: str, parts: list[object]) -> object:
    """A balanced tree, so that a long list of conditions nests no deeper than its logarithm."""
    while len(parts) > 1:
        paired: list[object] = [
            {"type": kind, "left": left, "right": right} for left, right in zip(parts[::2], parts[1::2], strict=False)
        ]
        parts = [*paired, *parts[len(paired) * 2 :]]
    return parts[0]


def _leaf_json(node: Expression, *, typed: bool) -> object:
    match node:
        case AlwaysTrue() | AlwaysFalse():
            return isinstance(node, AlwaysTrue)
        case Predicate(op=op, term=term, literals=literals):
            pass
        case BoundPredicate(op=op, term=term, literals=values):
            literals = tuple(literal_from_physical(term.type, value) for value in values)
        case _:
            raise InvalidInput(f"{node!r:.60} has no JSON form")
    written = [_literal_json(literal, typed=typed) for literal in literals]
    operand = term_json(term, typed=typed)
    if op in UNARY_OPS:
        return {"type": op.value, "child" if typed else "term": operand}
    if op in SET_OPS:
        return {"type": op.value, "child" if typed else "term": operand, "values": written}
    if typed:
        return {"type": op.value, "left": operand, "right": written[0]}
    return {"type": op.value, "term": operand, "value": written[0]}


def _literal_json(literal: Literal, *, typed: bool) -> object:
    if isinstance(literal, float) and math.isinf(literal):
        value: object = "Infinity" if literal > 0 else "-Infinity"
        return {"type": "literal", "value": value, "data-type": "double"} if typed else value
    data_type = _type_of(literal)
    if data_type is None:
        value = literal if isinstance(literal, int) else _text(literal)
        return {"type": "literal", "value": value} if typed else value
    if isinstance(data_type, DecimalType):
        assert isinstance(literal, Decimal)
        value = value_to_json(data_type, literal)
    else:
        value = value_to_json(data_type, literal.value if isinstance(literal, Temporal) else literal)
    return {"type": "literal", "value": value, "data-type": str(data_type)} if typed else value


def _text(literal: Literal) -> str:
    """The text of a literal that no type holds; it binds as the literal does."""
    return literal.text if isinstance(literal, Temporal) else str(literal)


def _type_of(literal: Literal) -> PrimitiveType | None:
    """The type that a literal has on its own; None, when no type holds it."""
    match literal:
        case bool():
            return BOOLEAN
        case int():
            if INT_MIN <= literal <= INT_MAX:
                return INT
            return LONG if LONG_MIN <= literal <= LONG_MAX else None
        case float():
            return DOUBLE
        case str():
            return STRING
        case bytes():
            return BINARY
        case uuid.UUID():
            return UUID
        case Temporal():
            return literal.type if LONG_MIN <= literal.value <= LONG_MAX else None
    _, digits, exponent = literal.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale, 1)
    return DecimalType(precision, scale) if precision <= MAX_DECIMAL_PRECISION else None


def _with_nan(node: Expression) -> Expression:
    if not isinstance(node, BoundPredicate) or node.op not in (Op.GT, Op.GT_EQ):
        return node
    if not isinstance(node.term.type, (FloatType, DoubleType)):
        return node
    return or_(node, BoundPredicate(Op.IS_NAN, node.term))


def _joined(kind: type[And] | type[Or], parts: list[Expression]) -> Expression:
    return kind(tuple(parts))
