"""Tokens of Spark DDL text, each with its place in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from floeberg.errors import InvalidInput

Kind = Literal["word", "quoted", "string", "hex", "number", "symbol", "end"]

MAX_DDL_CHARS: Final = 16 * 1024 * 1024

_TOKEN: Final = re.compile(
    r"""
    (?P<blank>\s+|--[^\n]*|/\*.*?\*/)
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<hex>[xX]'[0-9a-fA-F]*')
  | (?P<string>[rR]?'(?:[^'\\]|\\.|'')*'|[rR]?"(?:[^"\\]|\\.|"")*")
  | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[bB][dD]|[lLsSyYdDfF])?(?![\w]))
  | (?P<word>\w+)
  | (?P<symbol>[<>(),:+\-.])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text; `value` is unquoted and unescaped, `position` counts from 0."""

    kind: Kind
    value: str
    position: int


class TokenStream:
    """The tokens of a text, read from left to right."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_DDL_CHARS:
            raise InvalidInput(f"the DDL text has {len(text)} characters, more than {MAX_DDL_CHARS}")
        self.text = text
        self._tokens = _tokens(text)
        self._next = 0

    def peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self.peek()
        self._next += 1
        return token

    def take_symbol(self, symbol: str) -> bool:
        """Takes the symbol if it is next."""
        found = self.peek().kind == "symbol" and self.peek().value == symbol
        self._next += found
        return found

    def take_words(self, *words: str) -> bool:
        """Takes the words, in any case, if they are all next."""
        found = all(self.next_is_word(word, ahead=index) for index, word in enumerate(words))
        self._next += len(words) if found else 0
        return found

    def next_is_word(self, word: str, *, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token.kind == "word" and token.value.upper() == word

    def expect_symbol(self, symbol: str) -> None:
        if not self.take_symbol(symbol):
            raise self.error(f"{symbol!r} is expected")

    def expect_int(self, what: str) -> int:
        token = self.peek()
        if token.kind != "number" or not token.value.isdigit() or len(token.value) > 10:
            raise self.error(f"{what} is expected, a whole number")
        self._next += 1
        return int(token.value)

    def error(self, why: str, token: Token | None = None) -> InvalidInput:
        """An error that names the place of a token, by default of the next one."""
        at = token or self.peek()
        near = self.text[at.position : at.position + 30]
        place = f"at position {at.position}, near {near!r}" if near else "at the end of the text"
        return InvalidInput(f"DDL text: {why} {place}", position=at.position)


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            near = text[position : position + 30]
            raise InvalidInput(f"DDL text: cannot be read at position {position}, near {near!r}", position=position)
        kind = match.lastgroup
        raw = match.group()
        if kind == "quoted":
            tokens.append(Token("quoted", raw[1:-1].replace("``", "`"), position))
        elif kind == "hex":
            tokens.append(Token("hex", raw[2:-1], position))
        elif kind == "string":
            tokens.append(Token("string", _unquote(raw), position))
        elif kind == "number":
            tokens.append(Token("number", raw, position))
        elif kind == "word":
            tokens.append(Token("word", raw, position))
        elif kind == "symbol":
            tokens.append(Token("symbol", raw, position))
        position = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens


def _unquote(raw: str) -> str:
    if raw[0] in "rR":
        return raw[2:-1]
    quote, body = raw[0], raw[1:-1]
    parts = []
    position = 0
    for match in re.finditer(r"\\(?:u[0-9a-fA-F]{4}|.)|" + quote * 2, body, re.DOTALL):
        parts.append(body[position : match.start()])
        parts.append(quote if match.group()[0] == quote else _ESCAPE.sub(_escaped, match.group()))
        position = match.end()
    parts.append(body[position:])
    return "".join(parts)


def _escaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    # LIKE patterns: Spark keeps the backslash before % and _.
    return match[0] if code in "%_" else _ESCAPES.get(code, code)


def quote_string(text: str) -> str:
    """The text as a string literal of Spark SQL."""
    escaped = (
        text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return f"'{escaped}'"


def quote_name(name: str) -> str:
    """The name as an identifier of Spark SQL, in backticks where it needs them."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None
    return name if plain else "`" + name.replace("`", "``") + "`"
