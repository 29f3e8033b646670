"""Parameters of `spark.sql(query, args)`, made independent of where they stand in the text.

A `?` is known by its number in the whole statement. We leave out, move and copy parts of statements, so each `?` becomes
a parameter with a name before anything else happens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.sql.text.cursor import Args
from floeberg.sql.text.lexer import Kind, Token, line_and_column, name_value, quote_string, tokenize

_NAME: Final = "floeberg_parameter_"
_LONG: Final = range(-(2**63), 2**63)


def named_parameters(sql: str, args: Args) -> tuple[str, Mapping[str, object] | None]:
    """The text with every `?` as a named parameter, and the values by name. Raises InvalidInput when there are fewer
    values than marks."""
    if args is None or isinstance(args, Mapping):
        return sql, args
    assert isinstance(args, Sequence)
    pieces: list[str] = []
    position = number = 0
    for token in tokenize(sql):
        if token.upper != "?":
            continue
        if number >= len(args):
            raise InvalidInput(
                f"SQL: the parameter marker ? ({line_and_column(sql, token.start)}) has no value; "
                f"args has {len(args)} values",
                position=token.start,
            )
        pieces += [sql[position : token.start], f":{_NAME}{number} "]  # the space: `?AND` is two tokens
        position, number = token.end, number + 1
    pieces.append(sql[position:])
    return "".join(pieces), {f"{_NAME}{at}": args[at] for at in range(number)} or None


def with_literals(sql: str, args: Args, *, what: str) -> str:
    """The text with its named parameters as literals, for a text that outlives the statement or is read without Spark.
    Raises UnsupportedFeature for a value that has no literal."""
    if not isinstance(args, Mapping) or not args:
        return sql
    pieces: list[str] = []
    position = 0
    for colon, name in _parameters(sql):
        given = name_value(sql[name.start : name.end])
        if given not in args:
            continue
        text = literal_of(args[given])
        if text is None:
            shown = "?" if given.startswith(_NAME) else f":{given}"
            raise UnsupportedFeature(
                f"{what}: the value of parameter {shown} cannot be written as a literal "
                f"({type(args[given]).__name__}); write it in the statement"
            )
        pieces += [sql[position : colon.start], text]
        position = name.end
    pieces.append(sql[position:])
    return "".join(pieces)


def _parameters(sql: str) -> list[tuple[Token, Token]]:
    """The colon and the name of each `:name`; `value:path` and `field: TYPE` are none."""
    tokens = tokenize(sql)
    found = []
    for number, token in enumerate(tokens[:-1]):
        following = tokens[number + 1]
        if token.upper != ":" or not following.is_name:
            continue
        before = tokens[number - 1] if number else None
        operand = before is not None and (before.is_name or before.kind is Kind.STRING or before.upper in (")", "]"))
        apart = before is not None and before.end < token.start and before.kind is Kind.WORD
        if not operand or apart:
            found.append((token, following))
    return found


def literal_of(value: object) -> str | None:
    """A literal of the type that Spark gives the Python value; None where there is none."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return f"({value})" if value in _LONG and value != _LONG.start else None
        case float():
            return f"({value!r}D)" if math.isfinite(value) else f"CAST('{value!r}' AS DOUBLE)"
        case Decimal():
            return f"({value:f}BD)" if value.is_finite() else None
        case str():
            return quote_string(value)
        case bytes() | bytearray():
            return f"X'{bytes(value).hex()}'"
        case datetime():
            return None
        case date():
            return f"DATE'{value.isoformat()}'"
    return None
