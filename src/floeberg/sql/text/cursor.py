"""A place in a token stream, with the moves that every grammar of this package is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.sql.text.lexer import Kind, Token, line_and_column, name_value, string_value, tokenize
from floeberg.sql.text.names import Name

Args = Mapping[str, object] | Sequence[object] | None
"""Parameters of `spark.sql(query, args)`: by name or by position."""

MAX_NESTING: Final = 60
"""Deeper nesting than this is refused, so that no text can run the parser out of stack."""


class UnresolvedIdentifier(InvalidInput):
    """IDENTIFIER(…) of something that is known only to Spark; the statement is refused rather than passed on."""


class Cursor:
    """Reads tokens one after another; errors name the place, and what was expected there."""

    __slots__ = ("_marks", "_parameters_before", "args", "index", "nesting", "owned", "sql", "tokens")

    def __init__(
        self,
        sql: str,
        *,
        tokens: list[Token] | None = None,
        args: Args = None,
        double_quoted_identifiers: bool = False,
    ) -> None:
        self.sql = sql
        if tokens is None:
            tokens = tokenize(sql, double_quoted_identifiers=double_quoted_identifiers)
        self.tokens = tokens
        self.args = args
        self.index = 0
        self._parameters_before = 0
        self.owned = False  # whether the statement is known to be about something of ours
        self.nesting = 0
        self._marks: dict[int, int] | None = None

    def within(self, start: int, end: int) -> Cursor:
        """A cursor over the tokens of one part of the text; positions stay those of the whole."""
        inside = [token for token in self.tokens if start <= token.start and token.end <= end]
        if not inside or inside[-1].kind is not Kind.END:
            inside.append(Token(Kind.END, end, end, ""))
        part = Cursor(self.sql, tokens=inside, args=self.args)
        part._parameters_before = sum(1 for token in self.tokens if token.upper == "?" and token.start < start)
        return part

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def start(self) -> int:
        """Offset in the text where the next token starts."""
        return self.tokens[self.index].start

    @property
    def last_end(self) -> int:
        """Offset in the text where the last token read ends."""
        return self.tokens[self.index - 1].end if self.index else 0

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def text(self, token: Token) -> str:
        return self.sql[token.start : token.end]

    def advance(self) -> Token:
        token = self.tokens[self.index]
        if token.kind is not Kind.END:
            self.index += 1
        return token

    def at_end(self) -> bool:
        """At the end of the text, a closing semicolon allowed."""
        token = self.token
        return token.kind is Kind.END or (token.upper == ";" and self.peek().kind is Kind.END)

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these words or symbols."""
        tokens = self.tokens
        index = self.index
        if tokens[index].upper != words[0]:
            return False
        return all(self.peek(ahead).upper == word for ahead, word in enumerate(words))

    def at_any(self, *words: str) -> bool:
        return self.token.upper in words

    def at_kind(self, *kinds: Kind) -> bool:
        return self.token.kind in kinds

    def accept(self, *words: str) -> bool:
        """Moves past the words if they all are there."""
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def accept_any(self, *words: str) -> str | None:
        """Moves past whichever of the words is next, and gives it."""
        upper = self.token.upper
        if upper not in words:
            return None
        self.index += 1
        return upper

    def expect(self, *words: str, hint: str = "") -> None:
        if not self.accept(*words):
            raise self.error(f"expected {' '.join(words)}", hint=hint)

    def expect_any(self, *words: str, hint: str = "") -> str:
        found = self.accept_any(*words)
        if found is None:
            raise self.error(f"expected {' or '.join(words)}", hint=hint)
        return found

    def expect_end(self, hint: str = "") -> None:
        if not self.at_end():
            raise self.error("expected the end of the statement", hint=hint)

    def error(self, message: str, *, hint: str = "", token: Token | None = None) -> InvalidInput:
        """An error at the next token."""
        token = token or self.token
        found = "the end" if token.kind is Kind.END else repr(self.text(token)[:60])
        where = line_and_column(self.sql, token.start)
        text = f"SQL: {message}, found {found} ({where})" + (f"; {hint}" if hint else "")
        return InvalidInput(text, position=token.start, text=self.sql, hint=hint)

    def deeper(self) -> None:
        """Counts a level of nesting. Raises InvalidInput when there are too many."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise self.error(f"nested deeper than {MAX_NESTING} levels")

    def name(self, what: str = "a name") -> str:
        """One identifier."""
        if not self.token.is_name:
            raise self.error(f"expected {what}", hint="quote a name that is no plain word with backquotes")
        return name_value(self.text(self.advance()))

    def multipart(self, what: str = "a name") -> Name:
        """`a.b.c`, with IDENTIFIER(…) resolved from a literal or a parameter. Raises InvalidInput when it cannot be."""
        start = self.start
        parts = [*self._parts(what)]
        while self.at(".") and self.peek().is_name:
            self.advance()
            parts.extend(self._parts(what))
        return Name(tuple(parts), start, self.last_end)

    def _parts(self, what: str) -> tuple[str, ...]:
        if self.at("IDENTIFIER", "("):
            return self.identifier_clause()
        return (self.name(what),)

    def identifier_clause(self) -> tuple[str, ...]:
        """The parts that IDENTIFIER(<constant string>) stands for."""
        opening = self.token
        self.expect("IDENTIFIER", "(")
        pieces = [self._constant_string(opening)]
        while self.accept("||"):
            pieces.append(self._constant_string(opening))
        if not self.accept(")"):
            raise self._unresolved(opening)
        return parse_parts("".join(pieces))

    def _constant_string(self, opening: Token) -> str:
        if self.token.kind is Kind.STRING:
            return "".join(self.strings())
        value = self.parameter()
        if not isinstance(value, str):
            raise self._unresolved(opening)
        return value

    def _unresolved(self, opening: Token) -> UnresolvedIdentifier:
        where = line_and_column(self.sql, opening.start)
        return UnresolvedIdentifier(
            f"SQL: IDENTIFIER(…) can only be resolved from string literals and string parameters ({where}); write the "
            "name itself, or pass it as spark.sql(query, args={'name': 'catalog.db.table'})",
            position=opening.start,
            text=self.sql,
            condition="NOT_A_CONSTANT_STRING.NOT_CONSTANT",
        )

    def strings(self) -> list[str]:
        """The values of the string literals that follow one another."""
        found: list[str] = []
        while self.token.kind is Kind.STRING:
            found.append(string_value(self.text(self.advance())))
        return found

    def parameter(self) -> object:
        """The value of `:name` or `?`, with the cursor past it; None when there is none."""
        if self.accept(":"):
            name = self.name("a parameter's name")
            return self.args.get(name) if isinstance(self.args, Mapping) else None
        if self.at("?"):
            ordinal = self._parameters_before + sum(1 for token in self.tokens[: self.index] if token.upper == "?")
            self.advance()
            if isinstance(self.args, Sequence) and not isinstance(self.args, str) and ordinal < len(self.args):
                return self.args[ordinal]
        return None

    def skip_parentheses(self) -> None:
        """Past a parenthesis and all that it holds; the cursor is at the opening one."""
        self.index = self.closing(self.index) + 1

    def closing(self, opening: int) -> int:
        """Index of the parenthesis that closes the one at `opening`. Raises InvalidInput when there is none."""
        if self._marks is None:
            self._marks = _match_parentheses(self.tokens)
        found = self._marks.get(opening)
        if found is None:
            raise self.error("a parenthesis is not closed", token=self.tokens[opening])
        return found


def _match_parentheses(tokens: list[Token]) -> dict[int, int]:
    pairs: dict[int, int] = {}
    open_ones: list[int] = []
    for index, token in enumerate(tokens):
        if token.upper == "(":
            open_ones.append(index)
        elif token.upper == ")" and open_ones:
            pairs[open_ones.pop()] = index
    return pairs


def parse_parts(text: str) -> tuple[str, ...]:
    """The parts of a multipart name given as a string, as `spark.table` takes it. Raises InvalidInput."""
    cursor = Cursor(text)
    name = cursor.multipart("a table's name")
    cursor.expect_end(hint="quote parts that hold other characters with backquotes")
    return name.parts
