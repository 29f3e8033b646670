"""The tokens of a condition, with a place in them: Spark's, as sqlglot cuts them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlglot import Token, TokenType
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

from floeberg.errors import InvalidInput, LimitExceeded
from floeberg.expr.nodes import MAX_DEPTH

MAX_TEXT_LENGTH: Final = 4_000_000
RESERVED_WORDS: Final = frozenset({"and", "or", "not", "in", "is", "null", "like", "between", "true", "false", "rlike"})

_WORD: Final = re.compile(r"[^\W\d]\w*")
_LOOSE_WORD: Final = re.compile(r"\w+")
_OPERAND_ENDS: Final = frozenset(
    {
        TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.EQ, TokenType.NEQ, TokenType.NULLSAFE_EQ,
        TokenType.IS, TokenType.IN, TokenType.BETWEEN, TokenType.LIKE, TokenType.RLIKE, TokenType.ILIKE,
    }
)  # fmt: skip


class Tokens:
    """A cursor over the tokens of a text."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_TEXT_LENGTH:
            raise LimitExceeded(f"the condition has {len(text):,} characters; {MAX_TEXT_LENGTH:,} are read")
        self.source = text
        try:
            self._tokens: list[Token] = Spark().tokenize(text)
        except TokenError as error:
            raise InvalidInput(f"condition {_excerpt(text, 0)}: a quote or comment is not closed") from error
        self._at = 0
        self._depth = 0
        self._closing: dict[int, int] | None = None

    def ended(self) -> bool:
        return self._at >= len(self._tokens)

    @property
    def kind(self) -> TokenType:
        return TokenType.SENTINEL if self.ended() else self._tokens[self._at].token_type

    @property
    def text(self) -> str:
        return "" if self.ended() else self._tokens[self._at].text

    @property
    def source_text(self) -> str:
        """The token as it stands in the text."""
        if self.ended():
            return ""
        token = self._tokens[self._at]
        return self.source[token.start : token.end + 1]

    @property
    def touches_previous(self) -> bool:
        """Whether nothing stands between this token and the one before."""
        if self.ended() or self._at == 0:
            return False
        return self._tokens[self._at].start == self._tokens[self._at - 1].end + 1

    def is_at(self, kind: TokenType) -> bool:
        return self.kind is kind

    def followed_by(self, kind: TokenType) -> bool:
        return self._at + 1 < len(self._tokens) and self._tokens[self._at + 1].token_type is kind

    def word(self) -> str:
        """The token in lower case, when it is a word (a name or a keyword, not quoted)."""
        return self.text.lower() if self.kind is not TokenType.STRING and _WORD.fullmatch(self.text) else ""

    def name_text(self) -> str:
        """The token as a part of a name; Spark lets a plain name begin with a digit."""
        if self.kind in (TokenType.STRING, TokenType.NUMBER, TokenType.RAW_STRING, TokenType.HEX_STRING):
            return ""
        return self.text if _LOOSE_WORD.fullmatch(self.text) else ""

    def advance(self, count: int = 1) -> None:
        self._at += count

    def take(self, kind: TokenType) -> bool:
        """Moves on when the token is of that kind."""
        if self.kind is not kind:
            return False
        self._at += 1
        return True

    def expect(self, kind: TokenType, wanted: str) -> None:
        if not self.take(kind):
            raise self.error(f"{wanted} is expected, not {self.shown()}")

    def parenthesised_operand(self) -> bool:
        """Whether the parenthesis here holds an operand, as in `(x) > 3`, rather than a condition."""
        if self._closing is None:
            self._closing = self._match_parentheses()
        closing = self._closing.get(self._at)
        if closing is None or closing + 1 >= len(self._tokens):
            return False
        after = self._tokens[closing + 1].token_type
        negated_test = after is TokenType.NOT
        return after in _OPERAND_ENDS or negated_test

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One level of parentheses; too many are refused before the stack ends."""
        self._depth += 1
        if self._depth > MAX_DEPTH // 2:
            raise self.error(f"parentheses nest deeper than {MAX_DEPTH // 2} levels")
        yield
        self._depth -= 1

    def shown(self) -> str:
        return "the end of the text" if self.ended() else repr(self.source_text[:40])

    def error(self, message: str) -> InvalidInput:
        """An error that points to the token."""
        position = len(self.source) if self.ended() else self._tokens[self._at].start
        return InvalidInput(
            f"condition {_excerpt(self.source, position)}, at character {position + 1}: {message}", position=position
        )

    def _match_parentheses(self) -> dict[int, int]:
        opened: list[int] = []
        closing: dict[int, int] = {}
        for index, token in enumerate(self._tokens):
            if token.token_type is TokenType.L_PAREN:
                opened.append(index)
            elif token.token_type is TokenType.R_PAREN and opened:
                closing[opened.pop()] = index
        return closing


def _excerpt(text: str, position: int) -> str:
    start = max(0, position - 40)
    cut = text[start : position + 40]
    return repr(f"{'…' if start else ''}{cut}{'…' if position + 40 < len(text) else ''}")
