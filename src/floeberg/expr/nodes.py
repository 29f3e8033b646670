"""Expressions as data: trees of and, or, not over predicates, unbound (by name) and bound (by field id and type).

    Expression
    ├── AlwaysTrue, AlwaysFalse
    ├── And(children), Or(children), Not(child)      and and or are flat: no And lies directly in an And
    ├── Predicate(op, term, literals)                term: Reference or TransformTerm; literals as the user gave them
    └── BoundPredicate(op, term, literals)           term: BoundReference or BoundTransform; literals physical

Immutable, equal by structure; `str()` is text that `parse_where` reads back. What a predicate means for a row, with
nulls and NaN, stands in `expr/evaluate.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias, TypeVar

from floeberg.errors import InvalidInput
from floeberg.expr.literals import Literal, literal_from_physical, literal_key, literal_sql, quote_text, to_literal
from floeberg.spec.partitions.transforms import Transform
from floeberg.spec.types import IcebergType

MAX_DEPTH: Final = 200
"""Deeper alternation of and, or, not than this is refused: no walk over an expression can run out of stack."""

T = TypeVar("T")


class Op(StrEnum):
    """What a predicate asks; the values are the names of the JSON form."""

    IS_NULL = "is-null"
    NOT_NULL = "not-null"
    IS_NAN = "is-nan"
    NOT_NAN = "not-nan"
    LT = "lt"
    LT_EQ = "lt-eq"
    GT = "gt"
    GT_EQ = "gt-eq"
    EQ = "eq"
    NOT_EQ = "not-eq"
    IN = "in"
    NOT_IN = "not-in"
    STARTS_WITH = "starts-with"
    NOT_STARTS_WITH = "not-starts-with"


UNARY_OPS: Final = frozenset({Op.IS_NULL, Op.NOT_NULL, Op.IS_NAN, Op.NOT_NAN})
SET_OPS: Final = frozenset({Op.IN, Op.NOT_IN})
PREFIX_OPS: Final = frozenset({Op.STARTS_WITH, Op.NOT_STARTS_WITH})

_OPPOSITES: Final = (
    (Op.IS_NULL, Op.NOT_NULL),
    (Op.IS_NAN, Op.NOT_NAN),
    (Op.LT, Op.GT_EQ),
    (Op.GT, Op.LT_EQ),
    (Op.EQ, Op.NOT_EQ),
    (Op.IN, Op.NOT_IN),
    (Op.STARTS_WITH, Op.NOT_STARTS_WITH),
)
NEGATED: Final[dict[Op, Op]] = dict(_OPPOSITES) | {b: a for a, b in _OPPOSITES}
"""NOT p, as a predicate: true where p is false, false where p is true, null where p is null."""

_SYMBOLS: Final = {Op.LT: "<", Op.LT_EQ: "<=", Op.GT: ">", Op.GT_EQ: ">=", Op.EQ: "=", Op.NOT_EQ: "!="}
_UNARY_TEXT: Final = {
    Op.IS_NULL: "{} IS NULL",
    Op.NOT_NULL: "{} IS NOT NULL",
    Op.IS_NAN: "isnan({})",
    Op.NOT_NAN: "NOT isnan({})",
}
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_RESERVED: Final = frozenset({"and", "or", "not", "in", "is", "null", "like", "between", "true", "false", "rlike"})
_PLURALS: Final = {"year": "years", "month": "months", "day": "days", "hour": "hours"}


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition on a row. Combine with `&`, `|` and `~`."""

    def __and__(self, other: Expression) -> Expression:
        return and_(self, other)

    def __or__(self, other: Expression) -> Expression:
        return or_(self, other)

    def __invert__(self) -> Expression:
        return not_(self)

    def __bool__(self) -> bool:
        raise InvalidInput("an expression is neither true nor false: combine with &, | and ~, not with and, or, not")


@dataclass(frozen=True, slots=True)
class AlwaysTrue(Expression):
    """Keeps every row."""

    def __str__(self) -> str:
        return "TRUE"


@dataclass(frozen=True, slots=True)
class AlwaysFalse(Expression):
    """Keeps no row."""

    def __str__(self) -> str:
        return "FALSE"


TRUE: Final = AlwaysTrue()
FALSE: Final = AlwaysFalse()


@dataclass(frozen=True, slots=True)
class And(Expression):
    """True when every child is. Children that are And themselves are spliced in."""

    children: tuple[Expression, ...]
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _set_children(self, And)

    def __str__(self) -> str:
        return " AND ".join(f"({child})" if isinstance(child, Or) else str(child) for child in self.children)


@dataclass(frozen=True, slots=True)
class Or(Expression):
    """True when some child is. Children that are Or themselves are spliced in."""

    children: tuple[Expression, ...]
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _set_children(self, Or)

    def __str__(self) -> str:
        return " OR ".join(f"({child})" if isinstance(child, And) else str(child) for child in self.children)


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """True when the child is false; null when it is null."""

    child: Expression
    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", _checked_depth([self.child]))

    def __str__(self) -> str:
        return f"NOT ({self.child})"


@dataclass(frozen=True, slots=True)
class Reference:
    """A column by its full name, `a.b.c` for a field in structs."""

    name: str

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidInput("a column is named by a non-empty string")

    def __str__(self) -> str:
        return quote_name(self.name)


@dataclass(frozen=True, slots=True)
class TransformTerm:
    """A partition transform of a column, as in `bucket(16, id)`."""

    transform: Transform
    reference: Reference

    def __str__(self) -> str:
        return _transform_text(self.transform, str(self.reference))


@dataclass(frozen=True, slots=True)
class BoundReference:
    """A column of one schema. `positions` and `names` lead to it from the row's struct; `required` holds only when
    every enclosing struct is required as well."""

    field_id: int
    name: str
    type: IcebergType
    required: bool = False
    positions: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def reference(self) -> BoundReference:
        return self

    @property
    def is_nested(self) -> bool:
        return len(self.positions) > 1

    def __str__(self) -> str:
        return quote_name(self.name)


@dataclass(frozen=True, slots=True)
class BoundTransform:
    """A transform of a column of one schema; `type` is the result's."""

    transform: Transform
    reference: BoundReference
    type: IcebergType

    @property
    def required(self) -> bool:
        return self.reference.required

    def __str__(self) -> str:
        return _transform_text(self.transform, str(self.reference))


Term: TypeAlias = Reference | TransformTerm
BoundTerm: TypeAlias = BoundReference | BoundTransform


@dataclass(frozen=True, slots=True, eq=False)
class Predicate(Expression):
    """A question about one column by name; literals are what the user gave."""

    op: Op
    term: Term
    literals: tuple[Literal, ...] = ()

    def __post_init__(self) -> None:
        literals = tuple(to_literal(value) for value in self.literals)
        _check_arity(self.op, len(literals))
        if self.op in PREFIX_OPS and not isinstance(literals[0], str):
            raise InvalidInput(f"{self.op} takes a string, not {literals[0]!r}")
        object.__setattr__(self, "literals", literals)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Predicate) and _predicate_key(self) == _predicate_key(other)

    def __hash__(self) -> int:
        return hash(_predicate_key(self))

    def __str__(self) -> str:
        return _predicate_text(self.op, str(self.term), self.literals)


@dataclass(frozen=True, slots=True, eq=False)
class BoundPredicate(Expression):
    """A question about one column of a schema; literals are in the physical form of the term's type."""

    op: Op
    term: BoundTerm
    literals: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        _check_arity(self.op, len(self.literals))

    @property
    def literal(self) -> object:
        return self.literals[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundPredicate) and _predicate_key(self) == _predicate_key(other)

    def __hash__(self) -> int:
        return hash(_predicate_key(self))

    def __str__(self) -> str:
        literals = tuple(literal_from_physical(self.term.type, value) for value in self.literals)
        return _predicate_text(self.op, str(self.term), literals)


def and_(*expressions: Expression) -> Expression:
    """True when all are: constants folded, equal conjuncts kept once."""
    return _combine(And, expressions, neutral=TRUE, absorbing=FALSE)


def or_(*expressions: Expression) -> Expression:
    """True when any is: constants folded, equal disjuncts kept once."""
    return _combine(Or, expressions, neutral=FALSE, absorbing=TRUE)


def not_(expression: Expression) -> Expression:
    """The negation, constants folded."""
    match expression:
        case AlwaysTrue():
            return FALSE
        case AlwaysFalse():
            return TRUE
        case Not(child=child):
            return child
    return Not(expression)


def fold(
    expression: Expression,
    *,
    leaf: Callable[[Expression], T],
    every: Callable[[list[T]], T],
    some: Callable[[list[T]], T],
    negate: Callable[[T], T],
) -> T:
    """Computes a value from the leaves up, without recursion. Leaves are constants and predicates."""
    pending: list[tuple[Expression, bool]] = [(expression, False)]
    done: list[T] = []
    while pending:
        node, children_done = pending.pop()
        if isinstance(node, (And, Or)):
            if children_done:
                count = len(node.children)
                values = done[-count:]
                del done[-count:]
                done.append(every(values) if isinstance(node, And) else some(values))
            else:
                pending.append((node, True))
                pending.extend((child, False) for child in reversed(node.children))
        elif isinstance(node, Not):
            if children_done:
                done.append(negate(done.pop()))
            else:
                pending.extend([(node, True), (node.child, False)])
        else:
            done.append(leaf(node))
    return done[0]


def predicates(expression: Expression) -> list[Predicate | BoundPredicate]:
    """Every predicate in the tree, from left to right."""
    found: list[Predicate | BoundPredicate] = []
    pending = [expression]
    while pending:
        match pending.pop():
            case And(children=children) | Or(children=children):
                pending.extend(reversed(children))
            case Not(child=child):
                pending.append(child)
            case Predicate() | BoundPredicate() as predicate:
                found.append(predicate)
    return found


def quote_name(name: str) -> str:
    """A column's name as `parse_where` reads it, in backticks when it is not a plain one."""
    if _PLAIN_NAME.fullmatch(name) and not any(part.lower() in _RESERVED for part in name.split(".")):
        return name
    return "`" + name.replace("`", "``") + "`"


def _set_children(node: And | Or, kind: type[And] | type[Or]) -> None:
    flat: list[Expression] = []
    for child in node.children:
        if not isinstance(child, Expression):
            raise InvalidInput(f"{child!r:.60} is not an expression")
        flat.extend(child.children if isinstance(child, kind) else [child])
    if len(flat) < 2:
        raise InvalidInput(f"{kind.__name__} needs two children at least; use and_ and or_ for any number")
    object.__setattr__(node, "children", tuple(flat))
    object.__setattr__(node, "depth", _checked_depth(flat))


def _checked_depth(children: Iterable[Expression]) -> int:
    depth = 1 + max((getattr(child, "depth", 0) for child in children), default=0)
    if depth > MAX_DEPTH:
        raise InvalidInput(f"the expression nests deeper than {MAX_DEPTH} levels of and, or, not; write it flatter")
    return depth


def _combine(
    kind: type[And] | type[Or], expressions: Iterable[Expression], *, neutral: Expression, absorbing: Expression
) -> Expression:
    kept: dict[Expression, None] = {}
    for expression in expressions:
        if not isinstance(expression, Expression):
            raise InvalidInput(f"{expression!r:.60} is not an expression; build one with col(), or parse_where()")
        for part in expression.children if isinstance(expression, kind) else (expression,):
            if part == absorbing:
                return absorbing
            if part != neutral:
                kept[part] = None
    parts = tuple(kept)
    if len(parts) > 1:
        return kind(parts)
    return parts[0] if parts else neutral


def _check_arity(op: Op, count: int) -> None:
    if op in SET_OPS or count == (0 if op in UNARY_OPS else 1):
        return
    raise InvalidInput(f"{op} takes {'no literal' if op in UNARY_OPS else 'one literal'}, not {count}")


def _predicate_key(predicate: Predicate | BoundPredicate) -> tuple[object, ...]:
    return (predicate.op, predicate.term, tuple(map(literal_key, predicate.literals)))


def _predicate_text(op: Op, term: str, literals: tuple[Literal, ...]) -> str:
    if op in UNARY_OPS:
        return _UNARY_TEXT[op].format(term)
    if op in SET_OPS:
        return f"{term} {'IN' if op is Op.IN else 'NOT IN'} ({', '.join(map(literal_sql, literals))})"
    if op in PREFIX_OPS:
        prefix, negation = str(literals[0]), "" if op is Op.STARTS_WITH else "NOT "
        if re.search(r"[%_\\]", prefix):
            return f"{negation}startswith({term}, {quote_text(prefix)})"
        return f"{term} {negation}LIKE {quote_text(prefix + '%')}"
    return f"{term} {_SYMBOLS[op]} {literal_sql(literals[0])}"


def _transform_text(transform: Transform, argument: str) -> str:
    name, _, parameter = str(transform).rstrip("]").partition("[")
    return f"{name}({parameter}, {argument})" if parameter else f"{_PLURALS.get(name, name)}({argument})"
