"""Requests to a REST catalog: what is sent once and what is tried again, and how an answer that never came is told apart."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final, Protocol

import httpx
import msgspec

from floeberg.effects.protocols import Effects
from floeberg.errors import CatalogError, MetadataCorrupt, Unavailable
from floeberg.spec.json.strict import decode_object
from floeberg.storage.retrying import ReadRetryPolicy
from floeberg.storage.secret import Secret, redact

logger = logging.getLogger("floeberg.rest")

TOKEN_ENDED: Final = (401, 419)
"""Who asks is not known (any more): a fresh token may help, and nothing was done."""
_TRY_AGAIN: Final = frozenset({429, 500, 502, 503, 504})
_MAX_RETRY_AFTER_MS: Final = 60_000
_NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class NotSent(Unavailable):
    """No connection was made: it is proved that the server saw nothing of the request."""


class ReplyLost(Unavailable):
    """The request may have reached the server, and its answer did not come."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request below the catalog's uri. `body` is JSON, or a form where `is_form`."""

    method: str
    path: str
    params: Mapping[str, str] | None = None
    body: object = None
    headers: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said."""

    status: int
    content: bytes
    headers: Mapping[str, str]

    @property
    def is_ok(self) -> bool:
        return 200 <= self.status < 300

    def document(self, where: str) -> dict[str, object]:
        """The JSON object. Raises MetadataCorrupt."""
        return decode_object(self.content, where=where)


class Authentication(Protocol):
    """How requests show who sends them."""

    def sign(self, request: httpx.Request) -> None:
        """Adds what shows who asks. Raises Unauthorized when there is nothing to show."""
        ...

    def renew(self) -> bool:
        """After the server said that it does not know who asks: whether there is something new to show."""
        ...

    def handed_on(self) -> Mapping[str, Secret]:
        """Settings that another process needs in the place of the user's, because these may have ended since."""
        ...

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """What must not appear in a text."""
        ...


class RestClient:
    """Requests to one server. Nothing is followed elsewhere: a redirect is an answer like another."""

    def __init__(
        self,
        uri: str,
        *,
        client: httpx.Client,
        authentication: Authentication,
        effects: Effects,
        secrets: Sequence[Secret] = (),
        policy: ReadRetryPolicy | None = None,
    ) -> None:
        """`secrets` are masked in every text, besides those of the authentication."""
        self._uri = uri
        self._secrets = tuple(secrets)
        self._client = client
        self._effects = effects
        self._policy = policy or ReadRetryPolicy()
        self.authentication = authentication

    def __repr__(self) -> str:
        return f"RestClient({self._uri!r})"

    @property
    def effects(self) -> Effects:
        return self._effects

    def masked(self, text: str) -> str:
        """The text without credentials."""
        return redact(text, (*self._secrets, *self.authentication.secrets))

    def read(self, request: Request) -> Answer:
        """The answer to a request that changes nothing, tried again as the server asks. Raises Unavailable."""
        attempt = 1
        started_ms = self._effects.clock.monotonic_ms()
        while True:
            problem: Unavailable | None = None
            asked_ms: float | None = None
            try:
                answer = self.send_once(request)
                if answer.status not in _TRY_AGAIN:
                    return answer
                asked_ms = self._retry_after_ms(answer)
            except Unavailable as error:
                problem = error
            wait_ms = self._effects.rng.uniform(0, self._policy.wait_ms(attempt)) if asked_ms is None else asked_ms
            elapsed_ms = self._effects.clock.monotonic_ms() - started_ms
            if attempt >= self._policy.max_attempts or elapsed_ms + wait_ms > max(self._policy.total_ms, wait_ms):
                if problem is not None:
                    raise problem
                return answer
            logger.info("%s %s: attempt %d failed, trying again", request.method, request.path, attempt)
            self._effects.sleeper.sleep_ms(wait_ms)
            attempt += 1

    def send_once(self, request: Request) -> Answer:
        """The answer to a request that is sent once; after 401 and 419, which say that nothing was done, once more with a
        fresh token. Raises NotSent and ReplyLost."""
        answer = self._send(request)
        if answer.status in TOKEN_ENDED and self.authentication.renew():
            return self._send(request)
        return answer

    def close(self) -> None:
        self._client.close()

    def _send(self, request: Request) -> Answer:
        sent = self._build(request)
        self.authentication.sign(sent)
        try:
            response = self._client.send(sent, follow_redirects=False)
            return Answer(response.status_code, response.content, response.headers)
        except _NEVER_SENT as error:
            raise NotSent(self._told(request, "cannot be reached; nothing was sent", error)) from None
        except httpx.HTTPError as error:
            raise ReplyLost(self._told(request, "did not answer", error)) from None

    def _build(self, request: Request) -> httpx.Request:
        headers = {"Accept": "application/json", **(request.headers or {})}
        content: bytes | None = None
        if request.body is not None:
            content = msgspec.json.encode(request.body)
            headers["Content-Type"] = "application/json"
        params = dict(request.params) if request.params else None
        return self._client.build_request(
            request.method, f"{self._uri}/{request.path}", params=params, content=content, headers=headers
        )

    def _told(self, request: Request, what: str, error: Exception) -> str:
        detail = self.masked(f"{type(error).__name__}: {error}")
        return f"the REST catalog at {self._uri} {what} ({request.method} {request.path}: {detail})"

    def _retry_after_ms(self, answer: Answer) -> float | None:
        text = answer.headers.get("retry-after", "").strip()
        if not text:
            return None
        if text.isdecimal():
            return min(int(text) * 1000, _MAX_RETRY_AFTER_MS)
        try:
            until_ms = parsedate_to_datetime(text).timestamp() * 1000
        except ValueError:
            return None
        return min(max(0.0, until_ms - self._effects.clock.now_ms()), _MAX_RETRY_AFTER_MS)


def post_form(
    client: httpx.Client, uri: str, form: Mapping[str, str], *, headers: Mapping[str, str], mask: Callable[[str], str]
) -> Answer:
    """The answer of a token server to a form, which is sent once and followed nowhere. Raises Unavailable."""
    try:
        response = client.post(
            uri, data=dict(form), headers={"Accept": "application/json", **headers}, follow_redirects=False
        )
        return Answer(response.status_code, response.content, response.headers)
    except httpx.HTTPError as error:
        detail = mask(f"{type(error).__name__}: {error}")
        raise Unavailable(f"the token server at {uri} did not answer ({detail})") from None


def json_object(answer: Answer, where: str) -> dict[str, object]:
    """The JSON object of an answer. Raises CatalogError for what is none."""
    try:
        return answer.document(where)
    except MetadataCorrupt as error:
        raise CatalogError(
            f"{where}: the server's answer (status {answer.status}) is no JSON object: {error}"
        ) from error
