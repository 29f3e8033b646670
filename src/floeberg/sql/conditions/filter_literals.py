"""Literals in SQL text, read exactly, and the patterns of LIKE that are prefixes."""

from __future__ import annotations

import re
import uuid
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.expr.literals import Literal, Temporal
from floeberg.expr.nodes import Expression, Op, Predicate, Term
from floeberg.spec.types import DATE, TIME, TIMESTAMP, TIMESTAMP_NS, TIMESTAMPTZ, TIMESTAMPTZ_NS
from floeberg.spec.values.temporal import NANOS_PER_MICRO, NANOS_PER_SECOND, parse_date, parse_time, split_timestamp
from floeberg.sql.conditions.filter_text import FilterText
from floeberg.sql.text.lexer import Kind, string_value, words

MAX_DIGITS: Final = 1000

_NUMBER: Final = re.compile(
    r"(?P<digits>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,9})?)(?P<suffix>bd|[lsydf])?", re.IGNORECASE | re.ASCII
)
_WHOLE: Final = re.compile(r"\d+", re.ASCII)
_TYPED: Final = words("DATE TIME TIMESTAMP TIMESTAMP_NTZ TIMESTAMP_LTZ UUID")


def read_literal(text: FilterText) -> Literal | None:
    """The literal here, passed over; None, and nothing passed over, when something else stands here."""
    token = text.token
    if token.kind is Kind.NUMBER:
        return _number(text)
    if token.kind is Kind.STRING:
        return "".join(text.strings())
    if token.upper in ("-", "+"):
        return _signed(text)
    if token.upper in ("TRUE", "FALSE"):
        text.advance()
        return token.upper == "TRUE"
    before_string = text.peek().kind is Kind.STRING
    if token.upper == "X" and before_string:
        return _hexadecimal(text)
    if token.upper in _TYPED and before_string:
        return _typed(text)
    if token.upper in ("DOUBLE", "FLOAT") and text.peek().upper == "(":
        return _floating_call(text)
    return None


def like_predicate(text: FilterText, term: Term, pattern: Literal) -> Expression:
    """The predicate of `x LIKE pattern`, when that is an equality or a prefix. Raises InvalidInput."""
    if text.at("ESCAPE"):
        raise text.error("ESCAPE is not supported; write startswith(x, 'abc') for a prefix")
    if not isinstance(pattern, str):
        raise text.error("LIKE takes a pattern in quotes")
    plain, rest = _plain_start(pattern)
    if rest == "":
        return Predicate(Op.EQ, term, (plain,))
    if rest == "%":
        return Predicate(Op.STARTS_WITH, term, (plain,))
    raise text.error(
        f"LIKE {pattern[:60]!r} cannot be planned by: only a prefix can, as in LIKE 'abc%' or startswith(x, 'abc'). "
        "Filter the result for other patterns"
    )


def _plain_start(pattern: str) -> tuple[str, str]:
    """The text before the first wildcard, escapes resolved, and the rest of the pattern."""
    plain: list[str] = []
    at = 0
    while at < len(pattern) and pattern[at] not in "%_":
        at += pattern[at] == "\\" and at + 1 < len(pattern)
        plain.append(pattern[at])
        at += 1
    return "".join(plain), pattern[at:]


def _signed(text: FilterText) -> Literal:
    negative = False
    while (sign := text.accept_any("-", "+")) is not None:
        negative ^= sign == "-"
    number = read_literal(text)
    if isinstance(number, bool) or not isinstance(number, (int, float, Decimal)):
        raise text.error(f"a number is expected after the sign, not {text.shown()}")
    return number.copy_negate() if negative and isinstance(number, Decimal) else -number if negative else number


def _number(text: FilterText) -> int | float | Decimal:
    """A number, exact unless its suffix says otherwise."""
    match = _NUMBER.fullmatch(text.text(text.token))
    if match is None or len(match[0]) > MAX_DIGITS:
        raise text.error(f"{text.shown()} is not a number that can be read")
    text.advance()
    digits, suffix = match["digits"], (match["suffix"] or "").upper()
    whole = _WHOLE.fullmatch(digits) is not None
    if suffix in ("D", "F"):
        return float(digits)
    return int(digits) if whole and suffix != "BD" else Decimal(digits)


def _hexadecimal(text: FilterText) -> bytes:
    digits = string_value(text.text(text.peek()))
    if len(digits) % 2:
        raise text.error(f"X{digits[:40]!r} is not bytes; write X'00FF', two digits a byte")
    try:
        value = bytes.fromhex(digits)
    except ValueError:
        raise text.error(f"X{digits[:40]!r} is not hexadecimal") from None
    text.advance()
    text.advance()
    return value


def _typed(text: FilterText) -> Literal:
    kind = text.advance().upper
    written = string_value(text.text(text.token)).strip()
    try:
        value = _of_type(kind.lower(), written)
    except ValueError as error:  # InvalidInput is one
        raise text.error(f"{kind} {written[:60]!r}: {error}") from error
    text.advance()
    return value


def _of_type(kind: str, text: str) -> Literal:
    if kind == "date":
        return Temporal(DATE, parse_date(text))
    if kind == "time":
        return Temporal(TIME, parse_time(text))
    if kind == "uuid":
        return uuid.UUID(text)
    if ":" not in text:
        text += " 00:00:00"
    nanos, offset_seconds = split_timestamp(text, allow_space=True)
    fraction = re.search(r"\.(\d+)", text)
    in_nanos = fraction is not None and len(fraction[1]) > 6
    if kind == "timestamp_ntz" and offset_seconds is not None:
        raise InvalidInput("TIMESTAMP_NTZ has no zone; write TIMESTAMP for a point in time")
    zoned = offset_seconds is not None or kind == "timestamp_ltz"
    instant = nanos - (offset_seconds or 0) * NANOS_PER_SECOND
    if in_nanos:
        return Temporal(TIMESTAMPTZ_NS if zoned else TIMESTAMP_NS, instant)
    return Temporal(TIMESTAMPTZ if zoned else TIMESTAMP, instant // NANOS_PER_MICRO)


def _floating_call(text: FilterText) -> float:
    """`double('Infinity')`, for the values that have no number."""
    text.advance()
    text.advance()
    written = string_value(text.text(text.token)).lower() if text.at_kind(Kind.STRING) else ""
    if written.lstrip("+-") not in ("infinity", "inf"):
        raise text.error("only double('Infinity') and double('-Infinity') are literals; for NaN write isnan(x)")
    text.advance()
    text.expect_symbol(")", "a closing parenthesis")
    return float(written)
