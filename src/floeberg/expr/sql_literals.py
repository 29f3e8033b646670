"""Literals in SQL text, read exactly, and the patterns of LIKE that are prefixes."""

from __future__ import annotations

import re
import uuid
from decimal import Decimal
from typing import Final

from sqlglot import TokenType

from floeberg.errors import InvalidInput
from floeberg.expr.literals import Literal, Temporal
from floeberg.expr.nodes import Expression, Op, Predicate, Term
from floeberg.expr.sql_tokens import Tokens
from floeberg.spec.temporal import NANOS_PER_MICRO, NANOS_PER_SECOND, parse_date, parse_time, split_timestamp
from floeberg.spec.types import DATE, TIME, TIMESTAMP, TIMESTAMP_NS, TIMESTAMPTZ, TIMESTAMPTZ_NS

MAX_DIGITS: Final = 1000

_SUFFIXES: Final[dict[str, type[int] | type[float] | type[Decimal]]] = {
    "l": int,
    "s": int,
    "y": int,
    "bd": Decimal,
    "d": float,
    "f": float,
}
_NUMBER: Final = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d{1,9})?", re.IGNORECASE | re.ASCII)
_WHOLE: Final = re.compile(r"\d+", re.ASCII)
_TYPED: Final = ("date", "time", "timestamp", "timestamp_ntz", "timestamp_ltz", "uuid")
_STRINGS: Final = (TokenType.STRING, TokenType.RAW_STRING)


def read_literal(tokens: Tokens) -> Literal | None:
    """The literal here, passed over; None, and nothing passed over, when something else stands here."""
    match tokens.kind:
        case TokenType.TRUE | TokenType.FALSE:
            value = tokens.kind is TokenType.TRUE
            tokens.advance()
            return value
        case TokenType.DASH | TokenType.PLUS:
            return _signed(tokens)
        case TokenType.NUMBER:
            return _number(tokens)
        case TokenType.DOT if tokens.followed_by(TokenType.NUMBER):
            tokens.advance()
            return _number(tokens, prefix=".")
        case TokenType.STRING | TokenType.RAW_STRING:
            return _text(tokens)
        case TokenType.HEX_STRING:
            return _hexadecimal(tokens)
    if tokens.word() in _TYPED and tokens.followed_by(TokenType.STRING):
        return _typed(tokens)
    if tokens.word() in ("double", "float") and tokens.followed_by(TokenType.L_PAREN):
        return _floating_call(tokens)
    return None


def like_predicate(tokens: Tokens, term: Term, pattern: Literal) -> Expression:
    """The predicate of `x LIKE pattern`, when that is an equality or a prefix. Raises InvalidInput."""
    if tokens.is_at(TokenType.ESCAPE):
        raise tokens.error("ESCAPE is not supported; write startswith(x, 'abc') for a prefix")
    if not isinstance(pattern, str):
        raise tokens.error("LIKE takes a pattern in quotes")
    plain, rest = _plain_start(pattern)
    if rest == "":
        return Predicate(Op.EQ, term, (plain,))
    if rest == "%":
        return Predicate(Op.STARTS_WITH, term, (plain,))
    raise tokens.error(
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


def _signed(tokens: Tokens) -> Literal:
    negative = False
    while tokens.kind in (TokenType.DASH, TokenType.PLUS):
        negative ^= tokens.kind is TokenType.DASH
        tokens.advance()
    number = read_literal(tokens)
    if isinstance(number, bool) or not isinstance(number, (int, float, Decimal)):
        raise tokens.error(f"a number is expected after the sign, not {tokens.shown()}")
    return number.copy_negate() if negative and isinstance(number, Decimal) else -number if negative else number


def _number(tokens: Tokens, *, prefix: str = "") -> int | float | Decimal:
    text = prefix + tokens.text
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > MAX_DIGITS:
        raise tokens.error(f"{text[:40]!r} is not a number that can be read")
    tokens.advance()
    suffix = None
    if tokens.is_at(TokenType.DCOLON) and tokens.source_text != "::":  # a suffix, as in 3L, comes as a cast
        tokens.advance()
        suffix = _SUFFIXES.get(tokens.text.lower())
        if suffix is None:
            raise tokens.error(f"the suffix of {tokens.shown()} is not known; there are L, S, Y, BD, D and F")
        tokens.advance()
    if suffix is int and not _WHOLE.fullmatch(text):
        raise tokens.error(f"{text} is not a whole number, as its suffix says")
    if suffix is None:
        suffix = int if _WHOLE.fullmatch(text) else Decimal
    return float(text) if suffix is float else int(text) if suffix is int else Decimal(text)


def _text(tokens: Tokens) -> str:
    """A string; `''` in it is a quote, and strings that follow each other are one, as in Spark 4."""
    parts = [tokens.text]
    tokens.advance()
    while tokens.kind in _STRINGS:
        if tokens.touches_previous and tokens.source_text.startswith("'"):
            parts.append("'")
        parts.append(tokens.text)
        tokens.advance()
    return "".join(parts)


def _hexadecimal(tokens: Tokens) -> bytes:
    text = tokens.text
    if tokens.source_text[:1] not in "xX" or len(text) % 2:
        raise tokens.error(f"{tokens.shown()} is not bytes; write X'00FF', two digits a byte")
    try:
        value = bytes.fromhex(text)
    except ValueError:
        raise tokens.error(f"{tokens.shown()} is not hexadecimal") from None
    tokens.advance()
    return value


def _typed(tokens: Tokens) -> Literal:
    kind = tokens.word()
    tokens.advance()
    text = tokens.text.strip()
    try:
        value = _of_type(kind, text)
    except ValueError as error:  # InvalidInput is one
        raise tokens.error(f"{kind.upper()} {text[:60]!r}: {error}") from error
    tokens.advance()
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


def _floating_call(tokens: Tokens) -> float:
    """`double('Infinity')`, for the values that have no number."""
    tokens.advance(2)
    text = tokens.text.lower()
    if not tokens.is_at(TokenType.STRING) or text.lstrip("+-") not in ("infinity", "inf"):
        raise tokens.error("only double('Infinity') and double('-Infinity') are literals; for NaN write isnan(x)")
    tokens.advance()
    tokens.expect(TokenType.R_PAREN, "a closing parenthesis")
    return float(text)
