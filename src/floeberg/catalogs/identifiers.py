"""Names of namespaces, tables and views in a catalog."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from floeberg.errors import InvalidInput

_LEVEL: Final = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")

Namespace = tuple[str, ...]
"""From the outermost level in; the empty tuple is the catalog itself."""


@dataclass(frozen=True, slots=True, order=True)
class Identifier:
    """A table or view: its namespace and its name."""

    namespace: Namespace
    name: str

    def __str__(self) -> str:
        return ".".join(quote(part) for part in (*self.namespace, self.name))


def quote(part: str) -> str:
    """A level of a name as it is written: in backticks when it could be read otherwise."""
    plain = part.isascii() and part.replace("_", "a").isalnum()
    return part if plain else "`" + part.replace("`", "``") + "`"


def split_name(text: str) -> tuple[str, ...]:
    """The levels of a dotted name; backticks keep dots (`` db.`a.b` ``). Raises InvalidInput."""
    parts: list[str] = []
    at = 0
    while (level := _LEVEL.match(text, at)) is not None:
        parts.append(level[1].replace("``", "`") if level[1] is not None else level[2])
        at = level.end() + 1
        if level.end() == len(text):
            return tuple(parts)
        if text[level.end()] != ".":
            break
    raise InvalidInput(f"{text!r} is no name; write levels as a.b.c, and in backticks what has a dot of its own")


def to_namespace(given: str | Sequence[str]) -> Namespace:
    """A namespace from `"a.b"` or `("a", "b")`. Raises InvalidInput."""
    parts = split_name(given) if isinstance(given, str) else tuple(given)
    _check(parts, given)
    return parts


def to_identifier(given: str | Sequence[str] | Identifier) -> Identifier:
    """A table's or view's name from `"db.t"`, `("db", "t")` or itself. Raises InvalidInput."""
    if isinstance(given, Identifier):
        return given
    parts = split_name(given) if isinstance(given, str) else tuple(given)
    _check(parts, given)
    if len(parts) < 2:
        raise InvalidInput(f"{given!r} names no namespace; a table is named namespace.table")
    return Identifier(parts[:-1], parts[-1])


def _check(parts: Sequence[object], given: object) -> None:
    texts = [part for part in parts if isinstance(part, str) and part and "\0" not in part]
    if not parts or len(texts) != len(parts):
        raise InvalidInput(f"{given!r} is no name: every level must be a text that is not empty")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{given!r} is no name: it is no valid Unicode") from None
