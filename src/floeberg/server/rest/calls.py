"""One request of the protocol as handlers see it, and their answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote_plus

from floeberg.catalogs.identifiers import Identifier, Namespace, to_identifier, to_namespace
from floeberg.errors import BadRequest, FormatError, InvalidInput
from floeberg.server.served_catalog import ServedCatalog
from floeberg.spec.json.fields import JsonFields

SEPARATOR: Final = "\x1f"
"""Between the levels of a namespace in a path or query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a handler answers; without a document the answer has no body."""

    status: int = 200
    document: object = None
    headers: Mapping[str, str] = field(default_factory=dict)


NO_CONTENT: Final = Answer(status=204)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request: the catalog it is for, what its path, query and headers say, and its body."""

    served: ServedCatalog
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: object = None

    @property
    def fields(self) -> JsonFields:
        """The body's fields. Reading one that is wrong raises a FormatError: read them `in_request`."""
        return JsonFields(self.body, "the request's body")

    def part(self, name: str) -> str:
        """A part of the path. The reference client writes a space as `+`, as in forms; every client encodes a plus."""
        return decoded(self.path[name])

    @property
    def namespace(self) -> Namespace:
        return to_namespace(self.part("namespace").split(SEPARATOR))

    def identifier(self, part: str) -> Identifier:
        return identifier((*self.namespace, self.part(part)))

    @property
    def table(self) -> Identifier:
        return self.identifier("table")

    @property
    def view(self) -> Identifier:
        return self.identifier("view")

    def named(self, name: str) -> Identifier:
        """A table or view of the path's namespace, named by the body."""
        return identifier((*self.namespace, name))


Handler = Callable[[Call], Answer]


@contextmanager
def in_request() -> Iterator[None]:
    """Reads a request: what is malformed in it is the client's fault, unlike what is malformed in a table."""
    try:
        yield
    except FormatError as error:
        raise BadRequest(str(error)) from error


def identifier_of(value: object, where: str) -> Identifier:
    """A table identifier in a body."""
    fields = JsonFields(value, where)
    return identifier((*fields.texts("namespace"), fields.text("name")))


def identifier(levels: Sequence[str]) -> Identifier:
    """The name of a table or view. Raises InvalidInput."""
    _check_separator(levels)
    return to_identifier(levels)


def namespace(levels: Sequence[str]) -> Namespace:
    """A namespace in a body. Raises InvalidInput."""
    _check_separator(levels)
    return to_namespace(levels)


def _check_separator(levels: Sequence[str]) -> None:
    """In a path, a level with the separator would be read as two."""
    if any(SEPARATOR in level for level in levels):
        raise InvalidInput(
            f"{list(levels)!r} is no name here: the character 0x1F stands between the levels of a namespace"
        )


def decoded(text: str) -> str:
    """Percent-encoded text as it was meant. Raises BadRequest for what is not UTF-8: two such names would become one."""
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        raise BadRequest(f"{text[:200]!r} is no percent-encoded UTF-8") from None


def integer(text: str, what: str) -> int:
    """A number in a query. Raises InvalidInput unless it is at least 1."""
    if not text.isdecimal() or len(text) > 12 or not 1 <= int(text) <= 10**9:
        raise InvalidInput(f"{what} must be a number of at least 1, not {text[:60]!r}")
    return int(text)
