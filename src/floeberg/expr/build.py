"""Expressions by operators and constructors: `col("price") > 3`, `day("ts") == date(2024, 1, 1)`, `is_null("x")`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from floeberg.errors import InvalidInput
from floeberg.expr.literals import Literal, to_literal
from floeberg.expr.nodes import Expression, Op, Predicate, Reference, Term, TransformTerm, and_
from floeberg.spec.partitions.transforms import parse_transform


class Column:
    """A column, or a transform of one, whose operators build predicates."""

    __slots__ = ("term",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, term: Term) -> None:
        self.term = term

    def __repr__(self) -> str:
        return f"col({str(self.term)!r})"

    def __bool__(self) -> bool:
        raise InvalidInput(f"column {self.term} is neither true nor false: compare it, as in {self!r} == True")

    def __lt__(self, literal: object) -> Expression:
        return lt(self, literal)

    def __le__(self, literal: object) -> Expression:
        return lte(self, literal)

    def __gt__(self, literal: object) -> Expression:
        return gt(self, literal)

    def __ge__(self, literal: object) -> Expression:
        return gte(self, literal)

    def __eq__(self, literal: object) -> Expression:  # type: ignore[override]
        return eq(self, literal)

    def __ne__(self, literal: object) -> Expression:  # type: ignore[override]
        return ne(self, literal)

    def is_null(self) -> Expression:
        return is_null(self)

    def not_null(self) -> Expression:
        return not_null(self)

    def is_nan(self) -> Expression:
        return is_nan(self)

    def not_nan(self) -> Expression:
        return not_nan(self)

    def in_(self, literals: Iterable[object]) -> Expression:
        return in_(self, literals)

    def not_in(self, literals: Iterable[object]) -> Expression:
        return not_in(self, literals)

    def between(self, low: object, high: object) -> Expression:
        """From low to high, both included."""
        return and_(gte(self, low), lte(self, high))

    def starts_with(self, prefix: str) -> Expression:
        return starts_with(self, prefix)

    def not_starts_with(self, prefix: str) -> Expression:
        return not_starts_with(self, prefix)


TermLike: TypeAlias = str | Reference | TransformTerm | Column


def col(name: str) -> Column:
    """A column by its full name."""
    return Column(Reference(name))


def bucket(count: int, column: TermLike) -> Column:
    """The bucket, 0 to count - 1, that a value hashes to."""
    return _transformed(f"bucket[{count}]", column)


def truncate(width: int, column: TermLike) -> Column:
    """A number rounded down to a multiple of width, or a text or bytes cut to that length."""
    return _transformed(f"truncate[{width}]", column)


def year(column: TermLike) -> Column:
    """Years since 1970."""
    return _transformed("year", column)


def month(column: TermLike) -> Column:
    """Months since 1970-01."""
    return _transformed("month", column)


def day(column: TermLike) -> Column:
    """The date."""
    return _transformed("day", column)


def hour(column: TermLike) -> Column:
    """Hours since 1970-01-01 00:00."""
    return _transformed("hour", column)


def is_null(term: TermLike) -> Expression:
    return Predicate(Op.IS_NULL, to_term(term))


def not_null(term: TermLike) -> Expression:
    return Predicate(Op.NOT_NULL, to_term(term))


def is_nan(term: TermLike) -> Expression:
    return Predicate(Op.IS_NAN, to_term(term))


def not_nan(term: TermLike) -> Expression:
    return Predicate(Op.NOT_NAN, to_term(term))


def lt(term: TermLike, literal: object) -> Expression:
    return _compare(Op.LT, term, literal)


def lte(term: TermLike, literal: object) -> Expression:
    return _compare(Op.LT_EQ, term, literal)


def gt(term: TermLike, literal: object) -> Expression:
    return _compare(Op.GT, term, literal)


def gte(term: TermLike, literal: object) -> Expression:
    return _compare(Op.GT_EQ, term, literal)


def eq(term: TermLike, literal: object) -> Expression:
    return _compare(Op.EQ, term, literal)


def ne(term: TermLike, literal: object) -> Expression:
    return _compare(Op.NOT_EQ, term, literal)


def in_(term: TermLike, literals: Iterable[object]) -> Expression:
    return Predicate(Op.IN, to_term(term), _listed(literals))


def not_in(term: TermLike, literals: Iterable[object]) -> Expression:
    return Predicate(Op.NOT_IN, to_term(term), _listed(literals))


def starts_with(term: TermLike, prefix: str) -> Expression:
    return Predicate(Op.STARTS_WITH, to_term(term), (prefix,))


def not_starts_with(term: TermLike, prefix: str) -> Expression:
    return Predicate(Op.NOT_STARTS_WITH, to_term(term), (prefix,))


def to_term(term: TermLike) -> Term:
    """The term that a name, a column or a term stands for. Raises InvalidInput."""
    match term:
        case str():
            return Reference(term)
        case Column():
            return term.term
        case Reference() | TransformTerm():
            return term
    raise InvalidInput(f"{term!r:.60} is not a column; give its name, or col(name)")


def _transformed(transform: str, column: TermLike) -> Column:
    reference = to_term(column)
    if not isinstance(reference, Reference):
        raise InvalidInput(f"{transform} applies to a column, not to {reference}")
    return Column(TransformTerm(parse_transform(transform), reference))


def _compare(op: Op, term: TermLike, literal: object) -> Expression:
    if isinstance(literal, (Column, Expression, Reference, TransformTerm)):
        raise InvalidInput("a predicate compares a column with a literal, not with another column")
    return Predicate(op, to_term(term), (to_literal(literal),))


def _listed(literals: Iterable[object]) -> tuple[Literal, ...]:
    if isinstance(literals, (str, bytes)):
        raise InvalidInput(f"a list of literals is wanted, not {literals!r:.60}; write [{literals!r:.60}]")
    return tuple(map(to_literal, literals))
