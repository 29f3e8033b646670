"""Spark SQL's tokens with their positions, as Spark's own lexer cuts them.

Spark decides what is a comment, a literal or a name before anything else; a lexer that differs in one corner (nested
comments, `1abc`, raw or dollar-quoted strings) would replace text that Spark never takes for a table. So the rules of
Spark's lexer are written out here, and nothing else in this package looks at characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Final

from floeberg.errors import InvalidInput


class Kind(Enum):
    """What a token is."""

    WORD = "word"  # a keyword or an unquoted identifier; Spark reserves next to none
    QUOTED = "quoted identifier"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"
    PLACEHOLDER = "placeholder"  # {name} of spark.sql(query, name=frame)
    HINT = "hint"  # /*+ … */, kept whole: no table is read in it
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text `sql[start:end]`; `upper` is a word in capitals, a symbol as it is, and empty otherwise."""

    kind: Kind
    start: int
    end: int
    upper: str

    @property
    def is_name(self) -> bool:
        return self.kind is Kind.WORD or self.kind is Kind.QUOTED

    @property
    def is_constant(self) -> bool:
        """NULL, TRUE or FALSE without quotes, which at the start of an expression is never a column of that name."""
        return self.upper in _CONSTANTS


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the statement's text."""

    start: int
    end: int

    def of(self, sql: str) -> str:
        return sql[self.start : self.end]


def words(text: str) -> frozenset[str]:
    """A set of keywords, written as one text."""
    return frozenset(text.split())


_CONSTANTS: Final = words("NULL TRUE FALSE")

_TOKEN: Final = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>--(?:\\\n|[^\r\n])*)
  | (?P<hint>/\*\+.*?\*/)
  | (?P<block>/\*)
  | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
  | (?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
  | (?P<dollar>\$(?P<tag>[A-Za-z]*)\$.*?\$(?P=tag)\$)
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<number>(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?:BD|bd|Bd|bD|[DdFf])?(?![^\W])
              |\d+[eE][+-]?\d+(?:BD|bd|Bd|bD|[DdFf])?(?![^\W])
              |\d+(?:BD|bd|Bd|bD|[DdFfLlSsYy])?(?![^\W]))
  | (?P<word>[^\W\d]+://[\w/\-.?=&\#%]+|\w+)
  | (?P<placeholder>\{[^{}]*\})
  | (?P<symbol><=>|->|=>|\|\||\|>|::|==|<>|!=|!>|!<|<=|>=|<<|[-=<>+*/%~&|^:!?;,.()\[\]@$\\{}])
    """,
    re.VERBOSE | re.DOTALL,
)

_COMMENT_EDGE: Final = re.compile(r"/\*(?!\+)|\*/")

_KINDS: Final = {
    "hint": Kind.HINT,
    "raw": Kind.STRING,
    "string": Kind.STRING,
    "dollar": Kind.STRING,
    "tag": Kind.STRING,
    "quoted": Kind.QUOTED,
    "number": Kind.NUMBER,
    "word": Kind.WORD,
    "placeholder": Kind.PLACEHOLDER,
    "symbol": Kind.SYMBOL,
}


def tokenize(sql: str, *, double_quoted_identifiers: bool = False) -> list[Token]:
    """The tokens of the text, comments left out, with an END token last. `double_quoted_identifiers` is Spark's
    `spark.sql.ansi.doubleQuotedIdentifiers`. Raises InvalidInput on an unclosed literal."""
    tokens = list(_tokens(sql))
    if double_quoted_identifiers and '"' in sql:
        tokens = [
            Token(Kind.QUOTED, t.start, t.end, "") if t.kind is Kind.STRING and sql[t.start] == '"' else t
            for t in tokens
        ]
    tokens.append(Token(Kind.END, len(sql), len(sql), ""))
    return tokens


def with_backquotes(sql: str) -> str:
    """The text with names in double quotes in backquotes, so that it means the same under any setting."""
    pieces: list[str] = []
    position = 0
    for token in tokenize(sql, double_quoted_identifiers=True):
        if token.kind is Kind.QUOTED and sql[token.start] == '"':
            pieces += [sql[position : token.start], quote_name(name_value(sql[token.start : token.end]))]
            position = token.end
    return "".join(pieces) + sql[position:]


def first_words(sql: str, count: int = 2) -> list[str]:
    """The first words in capitals, without reading further; empty strings for what is no word."""
    found: list[str] = []
    with suppress(InvalidInput):  # Spark will say what is wrong with it
        for token in islice(_tokens(sql), count):
            found.append(token.upper if token.kind is Kind.WORD else "")
    return found + [""] * (count - len(found))


def _tokens(sql: str) -> Iterator[Token]:
    position = 0
    end = len(sql)
    match_at = _TOKEN.match
    while position < end:
        match = match_at(sql, position)
        if match is None:
            raise _bad_character(sql, position)
        group = match.lastgroup
        if group == "block":
            position = _end_of_comment(sql, match.end())
            continue
        start, position = position, match.end()
        if group == "space" or group == "comment":
            continue
        kind = _KINDS[group or ""]
        if kind is Kind.WORD:
            yield Token(kind, start, position, sql[start:position].upper())
        elif kind is Kind.SYMBOL:
            yield Token(kind, start, position, sql[start:position])
        else:
            yield Token(kind, start, position, "")


def _end_of_comment(sql: str, position: int) -> int:
    """Past the end of a bracketed comment; they nest, and one left open runs to the end of the text."""
    depth = 1
    for match in _COMMENT_EDGE.finditer(sql, position):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    raise InvalidInput(
        f"a bracketed comment is not closed ({line_and_column(sql, position)}); end it with */",
        position=position,
        text=sql,
    )


def _bad_character(sql: str, position: int) -> InvalidInput:
    what = sql[position]
    where = line_and_column(sql, position)
    if what in "'\"`":
        return InvalidInput(f"a literal that starts with {what} is not closed ({where})", position=position, text=sql)
    return InvalidInput(f"unexpected character {what!r} ({where})", position=position, text=sql)


def line_and_column(sql: str, position: int) -> str:
    """`line 2, column 7` of an offset, both from 1."""
    before = sql[:position]
    return f"line {before.count(chr(10)) + 1}, column {position - before.rfind(chr(10))}"


_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_SIMPLE_ESCAPES: Final = {
    "0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_",
}  # fmt: skip


def string_value(text: str) -> str:
    """The value of one string literal as written: plain, raw or dollar-quoted, with Spark's escapes."""
    if text[0] in "rR":
        return text[2:-1]
    if text[0] == "$":
        width = text.index("$", 1) + 1
        return text[width:-width]
    quote = text[0]
    body = text[1:-1].replace(quote * 2, quote) if "\\" not in text else _undouble(text[1:-1], quote)
    return _ESCAPE.sub(_unescape, body) if "\\" in body else body


def _undouble(body: str, quote: str) -> str:
    """Doubled quotes made one, but not where the first of the two is escaped."""
    return re.sub(rf"(\\.)|{quote}{quote}", lambda m: m[1] or quote, body, flags=re.DOTALL)


def _unescape(match: re.Match[str]) -> str:
    if match[1] or match[2]:
        code = int(match[1] or match[2], 16)
        return chr(code) if code <= 0x10FFFF else match[0]
    if match[3]:
        return chr(int(match[3], 8))
    return _SIMPLE_ESCAPES.get(match[4], match[4])


def name_value(text: str) -> str:
    """The identifier that a word or a quoted name stands for."""
    if text[0] not in '`"':
        return text
    return text[1:-1].replace(text[0] * 2, text[0])


def quote_string(text: str) -> str:
    """The text as a string literal, in which Spark finds no variable."""
    escaped = (
        text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return "'" + escaped.replace("${", "$\\{") + "'"


_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quote_name(name: str) -> str:
    """The name backquoted, so that Spark takes it as an identifier whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def needs_quotes(name: str) -> bool:
    return _PLAIN.fullmatch(name) is None
