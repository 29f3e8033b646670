"""One REST catalog as its parts use it: requests to the endpoints that the server offers, and errors by name."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import httpx

from floeberg.catalogs.base import shown_name
from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.catalogs.rest import endpoints as e
from floeberg.catalogs.rest.connection import connect
from floeberg.catalogs.rest.errors import Refusals, refused, server_error
from floeberg.catalogs.rest.http import Answer, Request, RestClient, json_object
from floeberg.catalogs.rest.settings import RestSettings, merged, origin, unsupported_endpoint
from floeberg.effects.protocols import Effects
from floeberg.errors import CatalogError

logger = logging.getLogger("floeberg.rest")

IDEMPOTENCY_KEY: Final = "Idempotency-Key"
_MAX_PAGES: Final = 100_000


@dataclass(frozen=True, slots=True)
class RestSession:
    """A connection to a catalog, with what the server says of itself."""

    name: str
    client: RestClient
    settings: RestSettings
    offered: frozenset[str]
    paths: e.Paths
    is_idempotent: bool
    """Whether the server takes an Idempotency-Key."""

    @property
    def effects(self) -> Effects:
        return self.client.effects

    def shown(self, parts: Identifier | Namespace) -> str:
        return shown_name(self.name, parts)

    def offers(self, endpoint: str) -> bool:
        return endpoint in self.offered

    def require(self, endpoint: str, what: str) -> None:
        """Raises UnsupportedFeature when the server does not offer an endpoint."""
        if endpoint not in self.offered:
            raise unsupported_endpoint(self.name, what, endpoint)

    def mutation_headers(self) -> dict[str, str]:
        """A key of its own for a request that changes something, where the server knows what to do with it."""
        if not self.is_idempotent:
            return {}
        return {IDEMPOTENCY_KEY: str(_uuid7(self.effects.clock.now_ms(), self.effects.ids.uuid()))}

    def read(self, request: Request, refusals: Refusals, *, what: str, subject: str) -> Answer:
        """The answer to a request that changes nothing. Raises what the server refuses by."""
        return self._checked(self.client.read(request), refusals, what=what, subject=subject)

    def write(self, request: Request, refusals: Refusals, *, what: str, subject: str) -> Answer:
        """The answer to a request that changes something, sent once. Raises what the server refuses by, and Unavailable
        when it is not known whether it took effect."""
        keyed = Request(
            request.method,
            request.path,
            request.params,
            request.body,
            {**(request.headers or {}), **self.mutation_headers()},
        )
        return self._checked(self.client.send_once(keyed), refusals, what=what, subject=subject)

    def exists(self, request: Request, refusals: Refusals, *, what: str, subject: str) -> bool:
        """Whether what a HEAD or GET asks for is there."""
        answer = self.client.read(request)
        if answer.status == 404:
            return False
        self._checked(answer, refusals, what=what, subject=subject)
        return True

    def pages(
        self, path: str, params: Mapping[str, str], refusals: Refusals, *, what: str, subject: str
    ) -> Iterator[dict[str, object]]:
        """The pages of a listing, one after the other."""
        size = self.settings.page_size
        token = ""
        for _ in range(_MAX_PAGES):
            paged = {} if size is None and not token else {"pageToken": token}
            if size is not None:
                paged["pageSize"] = str(size)
            answer = self.read(Request("GET", path, {**params, **paged}), refusals, what=what, subject=subject)
            document = json_object(answer, subject)
            yield document
            following = document.get("next-page-token")
            if not isinstance(following, str) or not following or following == token:
                return
            token = following
        raise CatalogError(f"{subject}: the listing has no end after {_MAX_PAGES} pages")

    def _checked(self, answer: Answer, refusals: Refusals, *, what: str, subject: str) -> Answer:
        if answer.is_ok or answer.status == 304:
            return answer
        raise refused(server_error(answer, self.client.masked), refusals, what=what, subject=subject)


def open_session(
    name: str, settings: RestSettings, *, effects: Effects, transport: httpx.BaseTransport | None = None
) -> RestSession:
    """Connects: asks the server for its configuration. Raises Unavailable, Unauthorized, Forbidden, CatalogError."""
    client = connect(name, settings, effects=effects, transport=transport)
    try:
        return _configured(name, settings, client)
    except BaseException:
        client.close()
        raise


def _configured(name: str, settings: RestSettings, client: RestClient) -> RestSession:
    warehouse = settings.text("warehouse")
    request = Request("GET", "v1/config", None if warehouse is None else {"warehouse": warehouse})
    answer = client.read(request)
    subject = f"catalog {name} at {settings.uri}"
    if not answer.is_ok:
        raise refused(server_error(answer, client.masked), Refusals(), what="give its configuration", subject=subject)
    document = json_object(answer, subject)
    defaults, overrides = _texts(document.get("defaults")), _texts(document.get("overrides"))
    for given in (defaults, overrides):
        _warn_of_elsewhere(name, settings.uri, given.get("uri"))
    complete = merged(settings, defaults=defaults, overrides=overrides)
    listed = document.get("endpoints")
    views = (complete.text("view-endpoints-supported") or "").lower() == "true"
    return RestSession(
        name=name,
        client=client,
        settings=complete,
        offered=e.offered([str(one) for one in listed] if isinstance(listed, list) else None, views=views),
        paths=e.Paths(
            prefix=complete.text("prefix") or "",
            separator=complete.text("namespace-separator", "rest.namespace-separator") or e.DEFAULT_SEPARATOR,
        ),
        is_idempotent=bool(document.get("idempotency-key-lifetime")),
    )


def _warn_of_elsewhere(name: str, uri: str, given: str | None) -> None:
    """A server may name another address of its own. Credentials were given for this one, so requests stay here."""
    if given is not None and origin(given) != origin(uri):
        logger.warning(
            "catalog %s: the server names another address of itself; credentials are sent to %s only. If the catalog is "
            "elsewhere, set its uri",
            name,
            uri,
        )


def _texts(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {str(key): text for key, text in value.items() if isinstance(text, str)}


def _uuid7(now_ms: int, random: UUID) -> UUID:
    """A UUID of version 7, which begins with its time: https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-7"""
    tail = random.int & ((1 << 74) - 1)
    number = (
        (now_ms & ((1 << 48) - 1)) << 80 | 0x7 << 76 | (tail >> 62 & 0xFFF) << 64 | 0b10 << 62 | tail & ((1 << 62) - 1)
    )
    return UUID(int=number)
