"""The text of a filter as tokens; errors quote the text around the place they name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from floeberg.errors import InvalidInput, LimitExceeded
from floeberg.expr.nodes import MAX_DEPTH
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Kind, Token, words

MAX_TEXT_LENGTH: Final = 4_000_000
RESERVED_WORDS: Final = words("AND OR NOT IN IS NULL LIKE BETWEEN TRUE FALSE RLIKE")

_OPERAND_ENDS: Final = words("< <= !> > >= !< = == <> != <=> IS IN BETWEEN LIKE RLIKE ILIKE NOT")


class FilterText(Cursor):
    """A cursor over a filter. Raises LimitExceeded for a text that is too long."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        if len(text) > MAX_TEXT_LENGTH:
            raise LimitExceeded(f"the condition has {len(text):,} characters; {MAX_TEXT_LENGTH:,} are read")
        super().__init__(text)

    @property
    def word(self) -> str:
        """The next token in capitals when it is a word, else empty."""
        return self.token.upper if self.token.kind is Kind.WORD else ""

    def expect_symbol(self, symbol: str, wanted: str) -> None:
        if not self.accept(symbol):
            raise self.error(f"{wanted} is expected, not {self.shown()}")

    def operand_in_parentheses(self) -> bool:
        """Whether the parenthesis here holds an operand, as in `(x) > 3`, rather than a condition."""
        try:
            closing = self.closing(self.index)
        except InvalidInput:
            return False
        return self.tokens[closing + 1].upper in _OPERAND_ENDS

    @contextmanager
    def parentheses(self) -> Iterator[None]:
        """One level of parentheses; too many are refused before the stack ends."""
        self.nesting += 1
        if self.nesting > MAX_DEPTH // 2:
            raise self.error(f"parentheses nest deeper than {MAX_DEPTH // 2} levels")
        yield
        self.nesting -= 1

    def shown(self) -> str:
        """The next token, for a message."""
        return "the end of the text" if self.token.kind is Kind.END else repr(self.text(self.token)[:40])

    def error(self, message: str, *, hint: str = "", token: Token | None = None) -> InvalidInput:
        """An error that points to a token, by default the next one."""
        position = (token or self.token).start
        more = f"; {hint}" if hint else ""
        return InvalidInput(
            f"condition {_excerpt(self.sql, position)}, at character {position + 1}: {message}{more}", position=position
        )


def _excerpt(text: str, position: int) -> str:
    start = max(0, position - 40)
    cut = text[start : position + 40]
    return repr(f"{'…' if start else ''}{cut}{'…' if position + 40 < len(text) else ''}")
