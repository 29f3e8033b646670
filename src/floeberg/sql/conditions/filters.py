"""Expressions from SQL text, as in `price > 3 AND day(ts) = DATE '2024-01-01'`: the grammar is in
docs/reference/expressions.md.

The lexer cuts the text as Spark's does; conditions are parsed here, because literals must stay exact and every error must
give the position and a way out.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Final

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
from floeberg.spec.partitions.transforms import TemporalTransform
from floeberg.sql.conditions.filter_literals import like_predicate, read_literal
from floeberg.sql.conditions.filter_text import RESERVED_WORDS, FilterText
from floeberg.sql.text.lexer import Kind, name_value

_COMPARISONS: Final = {
    "<": Op.LT, "<=": Op.LT_EQ, "!>": Op.LT_EQ, ">": Op.GT, ">=": Op.GT_EQ, "!<": Op.GT_EQ,
    "=": Op.EQ, "==": Op.EQ, "<>": Op.NOT_EQ, "!=": Op.NOT_EQ,
}  # fmt: skip
_MIRRORED: Final = {Op.LT: Op.GT, Op.LT_EQ: Op.GT_EQ, Op.GT: Op.LT, Op.GT_EQ: Op.LT_EQ}
_TIME_TERMS: Final[dict[str, Callable[[Reference], object]]] = {
    "year": year, "years": year, "month": month, "months": month, "day": day, "days": day, "date": day,
    "hour": hour, "hours": hour, "date_hour": hour,
}  # fmt: skip
_SIZED_TERMS: Final[dict[str, Callable[[int, Reference], object]]] = {"bucket": bucket, "truncate": truncate}
_EPOCH_YEAR: Final = 1970


def parse_where(condition: str) -> Expression:
    """The expression of a condition as Spark's WHERE has it. Raises InvalidInput, with the position in the text."""
    text = FilterText(condition)
    if text.at_kind(Kind.END):
        raise text.error("the condition is empty; to keep every row, write TRUE")
    parsed = _disjunction(text)
    if not text.at_kind(Kind.END):
        raise text.error(f"{text.shown()} is not expected here; combine conditions with AND, OR and NOT")
    return parsed


def _disjunction(text: FilterText) -> Expression:
    parts = [_conjunction(text)]
    while text.accept("OR"):
        parts.append(_conjunction(text))
    return Or(tuple(parts)) if len(parts) > 1 else parts[0]


def _conjunction(text: FilterText) -> Expression:
    parts = [_negation(text)]
    while text.accept("AND"):
        parts.append(_negation(text))
    return And(tuple(parts)) if len(parts) > 1 else parts[0]


def _negation(text: FilterText) -> Expression:
    negations = 0
    while text.accept_any("NOT", "!"):
        negations += 1
    function = not text.at("(")
    expression = _condition(text)
    if not negations % 2:
        return expression
    # NOT isnan(x) has a predicate of its own; other negations stay as they were written
    as_leaf = function and isinstance(expression, Predicate) and expression.op in (Op.IS_NAN, Op.STARTS_WITH)
    return negated(expression) if as_leaf else Not(expression)


def _condition(text: FilterText) -> Expression:
    if text.at("(") and not text.operand_in_parentheses():
        with text.parentheses():
            text.expect_symbol("(", "an opening parenthesis")
            inner = _disjunction(text)
            text.expect_symbol(")", "a closing parenthesis")
            return inner
    literal = read_literal(text)
    if literal is not None:
        return _after_literal(text, literal)
    if (tested := _function_condition(text)) is not None:
        return tested
    return _after_term(text, *_term(text))


def _function_condition(text: FilterText) -> Expression | None:
    """`isnan(x)` and `startswith(x, 'abc')`, which are conditions themselves."""
    if text.word not in ("ISNAN", "STARTSWITH", "STARTS_WITH") or text.peek().upper != "(":
        return None
    name = text.word
    text.advance()
    text.advance()
    term, _ = _term(text)
    if name == "ISNAN":
        text.expect_symbol(")", "a closing parenthesis")
        return is_nan(term)
    text.expect_symbol(",", "a comma and the prefix")
    prefix = _literal(text)
    if not isinstance(prefix, str):
        raise text.error("startswith takes the prefix in quotes")
    text.expect_symbol(")", "a closing parenthesis")
    return starts_with(term, prefix)


def _after_literal(text: FilterText, literal: Literal) -> Expression:
    if isinstance(literal, bool) and not (_comparison_at(text) or text.at("<=>")):
        return TRUE if literal else FALSE
    op = _comparison_at(text)
    if op is None and not text.at("<=>"):
        raise text.error("a comparison is expected after a literal, as in 3 < x")
    text.advance()
    other = read_literal(text)
    if other is not None:
        return _constant(text, literal, op or Op.EQ, other)
    term, calendar_year = _term(text)
    if op is None:
        return _null_safe(term, literal)
    return _compare(text, _MIRRORED.get(op, op), term, literal, calendar_year=calendar_year)


def _after_term(text: FilterText, term: Term, calendar_year: bool) -> Expression:
    if (op := _comparison_at(text)) is not None:
        text.advance()
        _refuse_null(text)
        return _compare(text, op, term, _literal(text), calendar_year=calendar_year)
    if text.accept("<=>"):
        return Predicate(Op.IS_NULL, term) if text.accept("NULL") else _null_safe(term, _literal(text))
    if text.accept("IS"):
        return _is_test(text, term)
    opposite = text.accept("NOT")
    if text.accept("IN"):
        found = _in_list(text, term, calendar_year=calendar_year)
    elif text.accept("BETWEEN"):
        found = _between(text, term, calendar_year=calendar_year)
    elif text.accept("LIKE"):
        found = like_predicate(text, term, _literal(text))
    elif text.at("RLIKE") or text.at("ILIKE"):
        raise text.error("patterns cannot be planned by; only x LIKE 'abc%' can. Filter the result instead")
    elif opposite or isinstance(term, TransformTerm):
        raise text.error(f"a comparison with {term} is expected here")
    else:
        return Predicate(Op.EQ, term, (True,))
    if not opposite:
        return found
    return negated(found) if isinstance(found, Predicate) else Not(found)


def _is_test(text: FilterText, term: Term) -> Expression:
    opposite = text.accept("NOT")
    if text.accept("NULL"):
        return Predicate(Op.NOT_NULL if opposite else Op.IS_NULL, term)
    if text.at("TRUE") or text.at("FALSE"):
        tested = _null_safe(term, _literal(text))
        return Not(tested) if opposite else tested
    raise text.error("IS [NOT] NULL, IS [NOT] TRUE or IS [NOT] FALSE is expected; for NaN write isnan(x)")


def _in_list(text: FilterText, term: Term, *, calendar_year: bool) -> Expression:
    text.expect_symbol("(", "a list in parentheses after IN")
    literals: list[Literal] = []
    while literals or not text.at(")"):
        if text.at("NULL"):
            raise text.error("NULL in a list matches nothing and makes NOT IN reject every row; write IS NULL")
        if text.at("SELECT"):
            raise text.error("a condition holds no subquery; give the values")
        literals.append(_ordinal_year(text, term, _literal(text)) if calendar_year else _literal(text))
        if not text.accept(","):
            break
    text.expect_symbol(")", "a comma or a closing parenthesis")
    return Predicate(Op.IN, term, tuple(literals))


def _between(text: FilterText, term: Term, *, calendar_year: bool) -> Expression:
    low = _literal(text)
    text.expect_symbol("AND", "AND and the upper end of BETWEEN")
    high = _literal(text)
    return and_(
        _compare(text, Op.GT_EQ, term, low, calendar_year=calendar_year),
        _compare(text, Op.LT_EQ, term, high, calendar_year=calendar_year),
    )


def _compare(text: FilterText, op: Op, term: Term, literal: Literal, *, calendar_year: bool) -> Expression:
    return Predicate(op, term, (_ordinal_year(text, term, literal) if calendar_year else literal,))


def _ordinal_year(text: FilterText, term: Term, literal: Literal) -> Literal:
    """`year(ts) = 2024` names a calendar year, as it does in Spark; the transform counts from 1970. The other calendar
    fields come around again, and no transform knows them."""
    if not isinstance(literal, (int, Decimal)) or isinstance(literal, bool):
        return literal
    assert isinstance(term, TransformTerm)
    name = str(term.transform)
    if name == "year":
        return literal - _EPOCH_YEAR
    raise text.error(
        f"{name}({term.reference}) = {literal} would ask for a field of the calendar, which is not planned by; "
        f"compare {term.reference} with dates, or write {name}s({term.reference}), which counts from 1970"
    )


def _null_safe(term: Term, literal: Literal) -> Expression:
    """`<=>`: false, not null, when the term is null."""
    return And((Predicate(Op.EQ, term, (literal,)), Predicate(Op.NOT_NULL, term)))


def _constant(text: FilterText, left: Literal, op: Op, right: Literal) -> Expression:
    """Two literals compared, as in the idiom 1 = 1."""
    if type(left) is not type(right) or op not in (Op.EQ, Op.NOT_EQ):
        raise text.error("a comparison needs a column on one side")
    return TRUE if (left == right) is (op is Op.EQ) else FALSE


def _comparison_at(text: FilterText) -> Op | None:
    return _COMPARISONS.get(text.token.upper)


def _refuse_null(text: FilterText) -> None:
    if text.at("NULL"):
        raise text.error("a comparison with NULL is never true; write IS NULL or IS NOT NULL")


def _literal(text: FilterText) -> Literal:
    _refuse_null(text)
    literal = read_literal(text)
    if literal is None:
        hint = " (a column compares with literals only, not with another column)" if text.word else ""
        raise text.error(f"a literal is expected, not {text.shown()}{hint}")
    return literal


def _term(text: FilterText) -> tuple[Term, bool]:
    """A column or a transform of one, and whether whole numbers compared with it are calendar fields."""
    depth = 0
    while text.at("(") and depth < 10:
        text.advance()
        depth += 1
    name = _name(text)
    term: Term = Reference(name)
    calendar = False
    if text.at("("):
        term, calendar = _call(text, name)
    for _ in range(depth):
        text.expect_symbol(")", "a closing parenthesis")
    return term, calendar


def _call(text: FilterText, function: str) -> tuple[Term, bool]:
    name = function.lower().rpartition("system.")[2]
    qualified = name != function.lower()
    if name not in _TIME_TERMS and name not in _SIZED_TERMS:
        known = ", ".join(sorted({"isnan", "startswith", *_TIME_TERMS, *_SIZED_TERMS}))
        raise text.error(f"function {function} is not known here; there are {known}")
    text.advance()
    if name in _SIZED_TERMS:
        size = read_literal(text)
        if not isinstance(size, int) or isinstance(size, bool):
            raise text.error(f"{name} takes the number first, as in {name}(16, {text.shown()})")
        text.expect_symbol(",", "a comma and the column")
        column = _SIZED_TERMS[name](size, Reference(_name(text)))
    else:
        column = _TIME_TERMS[name](Reference(_name(text)))
    text.expect_symbol(")", "a closing parenthesis")
    term = to_term(column)  # type: ignore[arg-type]
    calendar = isinstance(term, TransformTerm) and isinstance(term.transform, TemporalTransform)
    return term, calendar and not qualified and name in ("year", "month", "day", "hour")


def _name(text: FilterText) -> str:
    """A name, perhaps with dots: each part plain or in backticks."""
    parts = [_name_part(text)]
    while text.accept("."):
        parts.append(_name_part(text))
    return ".".join(parts)


def _name_part(text: FilterText) -> str:
    token = text.token
    if not token.is_name or token.upper in RESERVED_WORDS:
        raise text.error(f"a column is expected, not {text.shown()}; odd names go in `backticks`")
    name = name_value(text.text(token))
    if not name:
        raise text.error("an empty name in backticks")
    text.advance()
    return name
