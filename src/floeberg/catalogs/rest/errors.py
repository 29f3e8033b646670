"""A server's refusals as our errors, with the thing's name in front and without credentials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from floeberg.catalogs.rest.http import Answer
from floeberg.errors import (
    AlreadyExists,
    BadRequest,
    CatalogError,
    FileNotFound,
    FloebergError,
    Forbidden,
    NamespaceAlreadyExists,
    NamespaceNotEmpty,
    NamespaceNotFound,
    NotFound,
    TableAlreadyExists,
    TableNotFound,
    Throttled,
    Unauthorized,
    Unavailable,
    UnsupportedFeature,
    ViewAlreadyExists,
    ViewNotFound,
)

_BY_TYPE: Final[dict[str, type[FloebergError]]] = {
    "NoSuchNamespaceException": NamespaceNotFound,
    "NoSuchTableException": TableNotFound,
    "NoSuchIcebergTableException": TableNotFound,
    "NoSuchViewException": ViewNotFound,
    "NotFoundException": FileNotFound,
    "NamespaceNotEmptyException": NamespaceNotEmpty,
}
_MAX_SHOWN: Final = 500


@dataclass(frozen=True, slots=True)
class ServerError:
    """The error that a server's answer carries; an answer of something in between (a proxy's page) has only a status."""

    status: int
    type: str
    message: str

    def __str__(self) -> str:
        return f"{self.message or 'no message'} (status {self.status}{', ' + self.type if self.type else ''})"


def server_error(answer: Answer, mask: Callable[[str], str]) -> ServerError:
    """What the answer says went wrong."""
    error: object = None
    if answer.content:
        try:
            error = answer.document("error").get("error")
        except FloebergError:
            error = None
    if not isinstance(error, dict):
        return ServerError(answer.status, "", "")
    text = " ".join(str(error.get("message") or "").split())[:_MAX_SHOWN]
    return ServerError(answer.status, str(error.get("type") or "")[:80], mask(text))


@dataclass(frozen=True, slots=True)
class Refusals:
    """What 404 and 409 mean for one request, where the server's error type does not say it."""

    missing: type[NotFound] = NotFound
    taken: type[AlreadyExists | NamespaceNotEmpty] = AlreadyExists


NAMESPACES: Final = Refusals(NamespaceNotFound, NamespaceAlreadyExists)
DROPPED_NAMESPACES: Final = Refusals(NamespaceNotFound, NamespaceNotEmpty)
TABLES: Final = Refusals(TableNotFound, TableAlreadyExists)
NEW_TABLES: Final = Refusals(NamespaceNotFound, TableAlreadyExists)
VIEWS: Final = Refusals(ViewNotFound, ViewAlreadyExists)
NEW_VIEWS: Final = Refusals(NamespaceNotFound, ViewAlreadyExists)


def refused(error: ServerError, refusals: Refusals, *, what: str, subject: str) -> FloebergError:
    """The error for an answer that is no success. `subject` is the thing (`table lake.db.t`), `what` was asked."""
    kind = _kind(error, refusals)
    return kind(f"{subject}: {_reason(kind, what)}: {error}", status=error.status, type=error.type)


def _kind(error: ServerError, refusals: Refusals) -> type[FloebergError]:
    named = _BY_TYPE.get(error.type)
    match error.status:
        case 400 if named is NamespaceNotEmpty:
            return NamespaceNotEmpty
        case 400:
            return BadRequest
        case 401 | 419:
            return Unauthorized
        case 403:
            return Forbidden
        case 404:
            return named if named is not None and issubclass(named, NotFound) else refusals.missing
        case 409 if named is NamespaceNotEmpty:
            return NamespaceNotEmpty
        case 409:
            return _taken(error, refusals)
        case 406 | 501:
            return UnsupportedFeature
        case 429:
            return Throttled
        case status if status >= 500:
            return Unavailable
    return CatalogError


def _taken(error: ServerError, refusals: Refusals) -> type[FloebergError]:
    """A name may be taken by a view where a table was wanted, or an outer namespace be missing, which only the message
    says."""
    if refusals.taken is NamespaceAlreadyExists and "must exist" in error.message:
        return NamespaceNotFound
    if refusals.taken in (TableAlreadyExists, ViewAlreadyExists):
        lowered = error.message.lower()
        if "view with same name" in lowered or "view already exists" in lowered:
            return ViewAlreadyExists
        if "table with same name" in lowered or "table already exists" in lowered:
            return TableAlreadyExists
    return refusals.taken


def _reason(kind: type[FloebergError], what: str) -> str:
    if issubclass(kind, NotFound):
        return "the server does not find it"
    if kind is Unauthorized:
        return f"the server does not know who asks to {what}; check token or credential"
    if kind is Forbidden:
        return f"the server does not allow to {what}"
    if issubclass(kind, AlreadyExists):
        return f"cannot {what}, something of that name is there already"
    if kind is NamespaceNotEmpty:
        return f"cannot {what}, it is not empty"
    return f"the server refused to {what}"
