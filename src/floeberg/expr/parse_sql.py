"""Expressions from SQL text, as in `price > 3 AND day(ts) = DATE '2024-01-01'`: the grammar is in
docs/reference/expressions.md.

The text is cut into tokens as Spark cuts it; the conditions are parsed here, because literals must stay exact and every
refusal must say where and what instead.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Final

from sqlglot import TokenType

from floeberg.expr.build import bucket, day, hour, is_nan, month, starts_with, to_term, truncate, year
from floeberg.expr.literals import Literal
from floeberg.expr.nodes import (
    FALSE,
    TRUE,
    And,
    Expression,
    Not,
    Op,
    Or,
    Predicate,
    Reference,
    Term,
    TransformTerm,
    and_,
)
from floeberg.expr.rewrite import negated
from floeberg.expr.sql_literals import like_predicate, read_literal
from floeberg.expr.sql_tokens import RESERVED_WORDS, Tokens
from floeberg.spec.transforms import TemporalTransform

_COMPARISONS: Final[dict[TokenType, Op]] = {
    TokenType.LT: Op.LT,
    TokenType.LTE: Op.LT_EQ,
    TokenType.GT: Op.GT,
    TokenType.GTE: Op.GT_EQ,
    TokenType.EQ: Op.EQ,
    TokenType.NEQ: Op.NOT_EQ,
}
_MIRRORED: Final = {Op.LT: Op.GT, Op.LT_EQ: Op.GT_EQ, Op.GT: Op.LT, Op.GT_EQ: Op.LT_EQ}
_TIME_TERMS: Final[dict[str, Callable[[Reference], object]]] = {
    "year": year, "years": year, "month": month, "months": month, "day": day, "days": day, "date": day,
    "hour": hour, "hours": hour, "date_hour": hour,
}  # fmt: skip
_SIZED_TERMS: Final[dict[str, Callable[[int, Reference], object]]] = {"bucket": bucket, "truncate": truncate}
_EPOCH_YEAR: Final = 1970


def parse_where(text: str) -> Expression:
    """The expression of a condition as Spark's WHERE has it. Raises InvalidInput, with the position in the text."""
    tokens = Tokens(text)
    if tokens.ended():
        raise tokens.error("the condition is empty; to keep every row, write TRUE")
    parsed = _disjunction(tokens)
    if not tokens.ended():
        raise tokens.error(f"{tokens.shown()} is not expected here; combine conditions with AND, OR and NOT")
    return parsed


def _disjunction(tokens: Tokens) -> Expression:
    parts = [_conjunction(tokens)]
    while tokens.take(TokenType.OR):
        parts.append(_conjunction(tokens))
    return Or(tuple(parts)) if len(parts) > 1 else parts[0]


def _conjunction(tokens: Tokens) -> Expression:
    parts = [_negation(tokens)]
    while tokens.take(TokenType.AND):
        parts.append(_negation(tokens))
    return And(tuple(parts)) if len(parts) > 1 else parts[0]


def _negation(tokens: Tokens) -> Expression:
    negations = 0
    while tokens.take(TokenType.NOT):
        negations += 1
    function = not tokens.is_at(TokenType.L_PAREN)
    expression = _condition(tokens)
    if not negations % 2:
        return expression
    # NOT isnan(x) has a predicate of its own; other negations stay as they were written
    as_leaf = function and isinstance(expression, Predicate) and expression.op in (Op.IS_NAN, Op.STARTS_WITH)
    return negated(expression) if as_leaf else Not(expression)


def _condition(tokens: Tokens) -> Expression:
    if tokens.is_at(TokenType.L_PAREN) and not tokens.parenthesised_operand():
        with tokens.deeper():
            tokens.expect(TokenType.L_PAREN, "an opening parenthesis")
            inner = _disjunction(tokens)
            tokens.expect(TokenType.R_PAREN, "a closing parenthesis")
            return inner
    literal = read_literal(tokens)
    if literal is not None:
        return _after_literal(tokens, literal)
    if (tested := _function_condition(tokens)) is not None:
        return tested
    return _after_term(tokens, *_term(tokens))


def _function_condition(tokens: Tokens) -> Expression | None:
    """`isnan(x)` and `startswith(x, 'abc')`, which are conditions themselves."""
    if tokens.word() not in ("isnan", "startswith", "starts_with") or not tokens.followed_by(TokenType.L_PAREN):
        return None
    name = tokens.word()
    tokens.advance(2)
    term, _ = _term(tokens)
    if name == "isnan":
        tokens.expect(TokenType.R_PAREN, "a closing parenthesis")
        return is_nan(term)
    tokens.expect(TokenType.COMMA, "a comma and the prefix")
    prefix = _literal(tokens)
    if not isinstance(prefix, str):
        raise tokens.error("startswith takes the prefix in quotes")
    tokens.expect(TokenType.R_PAREN, "a closing parenthesis")
    return starts_with(term, prefix)


def _after_literal(tokens: Tokens, literal: Literal) -> Expression:
    if isinstance(literal, bool) and not (_comparison_at(tokens) or tokens.is_at(TokenType.NULLSAFE_EQ)):
        return TRUE if literal else FALSE
    op = _comparison_at(tokens)
    if op is None and not tokens.is_at(TokenType.NULLSAFE_EQ):
        raise tokens.error("a comparison is expected after a literal, as in 3 < x")
    tokens.advance()
    other = read_literal(tokens)
    if other is not None:
        return _constant(tokens, literal, op or Op.EQ, other)
    term, calendar_year = _term(tokens)
    if op is None:
        return _null_safe(term, literal)
    return _compare(tokens, _MIRRORED.get(op, op), term, literal, calendar_year=calendar_year)


def _after_term(tokens: Tokens, term: Term, calendar_year: bool) -> Expression:
    if (op := _comparison_at(tokens)) is not None:
        tokens.advance()
        _refuse_null(tokens)
        return _compare(tokens, op, term, _literal(tokens), calendar_year=calendar_year)
    if tokens.take(TokenType.NULLSAFE_EQ):
        return Predicate(Op.IS_NULL, term) if tokens.take(TokenType.NULL) else _null_safe(term, _literal(tokens))
    if tokens.take(TokenType.IS):
        return _is_test(tokens, term)
    opposite = tokens.take(TokenType.NOT)
    if tokens.take(TokenType.IN):
        found = _in_list(tokens, term, calendar_year=calendar_year)
    elif tokens.take(TokenType.BETWEEN):
        found = _between(tokens, term, calendar_year=calendar_year)
    elif tokens.take(TokenType.LIKE):
        found = like_predicate(tokens, term, _literal(tokens))
    elif tokens.is_at(TokenType.RLIKE) or tokens.is_at(TokenType.ILIKE):
        raise tokens.error("patterns cannot be planned by; only x LIKE 'abc%' can. Filter the result instead")
    elif opposite or isinstance(term, TransformTerm):
        raise tokens.error(f"a comparison with {term} is expected here")
    else:
        return Predicate(Op.EQ, term, (True,))
    if not opposite:
        return found
    return negated(found) if isinstance(found, Predicate) else Not(found)


def _is_test(tokens: Tokens, term: Term) -> Expression:
    opposite = tokens.take(TokenType.NOT)
    if tokens.take(TokenType.NULL):
        return Predicate(Op.NOT_NULL if opposite else Op.IS_NULL, term)
    if tokens.is_at(TokenType.TRUE) or tokens.is_at(TokenType.FALSE):
        tested = _null_safe(term, _literal(tokens))
        return Not(tested) if opposite else tested
    raise tokens.error("IS [NOT] NULL, IS [NOT] TRUE or IS [NOT] FALSE is expected; for NaN write isnan(x)")


def _in_list(tokens: Tokens, term: Term, *, calendar_year: bool) -> Expression:
    tokens.expect(TokenType.L_PAREN, "a list in parentheses after IN")
    literals: list[Literal] = []
    while literals or not tokens.is_at(TokenType.R_PAREN):
        if tokens.is_at(TokenType.NULL):
            raise tokens.error("NULL in a list matches nothing and makes NOT IN reject every row; write IS NULL")
        if tokens.is_at(TokenType.SELECT):
            raise tokens.error("a condition holds no subquery; give the values")
        literals.append(_ordinal_year(tokens, term, _literal(tokens)) if calendar_year else _literal(tokens))
        if not tokens.take(TokenType.COMMA):
            break
    tokens.expect(TokenType.R_PAREN, "a comma or a closing parenthesis")
    return Predicate(Op.IN, term, tuple(literals))


def _between(tokens: Tokens, term: Term, *, calendar_year: bool) -> Expression:
    low = _literal(tokens)
    tokens.expect(TokenType.AND, "AND and the upper end of BETWEEN")
    high = _literal(tokens)
    return and_(
        _compare(tokens, Op.GT_EQ, term, low, calendar_year=calendar_year),
        _compare(tokens, Op.LT_EQ, term, high, calendar_year=calendar_year),
    )


def _compare(tokens: Tokens, op: Op, term: Term, literal: Literal, *, calendar_year: bool) -> Expression:
    return Predicate(op, term, (_ordinal_year(tokens, term, literal) if calendar_year else literal,))


def _ordinal_year(tokens: Tokens, term: Term, literal: Literal) -> Literal:
    """`year(ts) = 2024` names a calendar year, as it does in Spark; the transform counts from 1970. The other calendar
    fields come around again, and no transform knows them."""
    if not isinstance(literal, (int, Decimal)) or isinstance(literal, bool):
        return literal
    assert isinstance(term, TransformTerm)
    name = str(term.transform)
    if name == "year":
        return literal - _EPOCH_YEAR
    raise tokens.error(
        f"{name}({term.reference}) = {literal} would ask for a field of the calendar, which is not planned by; "
        f"compare {term.reference} with dates, or write {name}s({term.reference}), which counts from 1970"
    )


def _null_safe(term: Term, literal: Literal) -> Expression:
    """`<=>`: false, not null, when the term is null."""
    return And((Predicate(Op.EQ, term, (literal,)), Predicate(Op.NOT_NULL, term)))


def _constant(tokens: Tokens, left: Literal, op: Op, right: Literal) -> Expression:
    """Two literals compared, as in the idiom 1 = 1."""
    if type(left) is not type(right) or op not in (Op.EQ, Op.NOT_EQ):
        raise tokens.error("a comparison needs a column on one side")
    return TRUE if (left == right) is (op is Op.EQ) else FALSE


def _comparison_at(tokens: Tokens) -> Op | None:
    return _COMPARISONS.get(tokens.kind)


def _refuse_null(tokens: Tokens) -> None:
    if tokens.is_at(TokenType.NULL):
        raise tokens.error("a comparison with NULL is never true; write IS NULL or IS NOT NULL")


def _literal(tokens: Tokens) -> Literal:
    _refuse_null(tokens)
    literal = read_literal(tokens)
    if literal is None:
        hint = " (a column compares with literals only, not with another column)" if tokens.word() else ""
        raise tokens.error(f"a literal is expected, not {tokens.shown()}{hint}")
    return literal


def _term(tokens: Tokens) -> tuple[Term, bool]:
    """A column or a transform of one, and whether whole numbers compared with it are calendar fields."""
    depth = 0
    while tokens.is_at(TokenType.L_PAREN) and depth < 10:
        tokens.advance()
        depth += 1
    name = _name(tokens)
    term: Term = Reference(name)
    calendar = False
    if tokens.is_at(TokenType.L_PAREN):
        term, calendar = _call(tokens, name)
    for _ in range(depth):
        tokens.expect(TokenType.R_PAREN, "a closing parenthesis")
    return term, calendar


def _call(tokens: Tokens, function: str) -> tuple[Term, bool]:
    name = function.lower().rpartition("system.")[2]
    qualified = name != function.lower()
    if name not in _TIME_TERMS and name not in _SIZED_TERMS:
        known = ", ".join(sorted({"isnan", "startswith", *_TIME_TERMS, *_SIZED_TERMS}))
        raise tokens.error(f"function {function} is not known here; there are {known}")
    tokens.advance()
    if name in _SIZED_TERMS:
        size = read_literal(tokens)
        if not isinstance(size, int) or isinstance(size, bool):
            raise tokens.error(f"{name} takes the number first, as in {name}(16, {tokens.shown()})")
        tokens.expect(TokenType.COMMA, "a comma and the column")
        column = _SIZED_TERMS[name](size, Reference(_name(tokens)))
    else:
        column = _TIME_TERMS[name](Reference(_name(tokens)))
    tokens.expect(TokenType.R_PAREN, "a closing parenthesis")
    term = to_term(column)  # type: ignore[arg-type]
    calendar = isinstance(term, TransformTerm) and isinstance(term.transform, TemporalTransform)
    return term, calendar and not qualified and name in ("year", "month", "day", "hour")


def _name(tokens: Tokens) -> str:
    """A name, perhaps with dots: each part plain or in backticks."""
    parts = [_name_part(tokens)]
    while tokens.take(TokenType.DOT):
        parts.append(_name_part(tokens))
    return ".".join(parts)


def _name_part(tokens: Tokens) -> str:
    if tokens.kind is TokenType.IDENTIFIER:
        text = tokens.text
        if not text:
            raise tokens.error("an empty name in backticks")
    else:
        text = tokens.name_text()
        if not text or text.lower() in RESERVED_WORDS:
            raise tokens.error(f"a column is expected, not {tokens.shown()}; odd names go in `backticks`")
    tokens.advance()
    return text
