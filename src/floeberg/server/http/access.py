"""Who may ask: the Host and Origin of a request, and its token. Checked before anything of the request is read."""

from __future__ import annotations

import base64
import binascii
import logging
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from floeberg.errors import InvalidInput
from floeberg.server.error_bodies import NOT_AUTHORIZED, error_body, json_response
from floeberg.server.settings import ServerSettings

LOG: Final = logging.getLogger("floeberg.server")
API_PREFIX = "/v1/"
CONTENT_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": CONTENT_POLICY,
}


class AccessControl:
    """Refuses requests that name another host (DNS rebinding), that another site's page sends, and those without a token
    where tokens are asked for. Paths reach the application as they were sent, so that an encoded slash stays one."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings
        self._names = settings.host_names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        raw = scope.get("raw_path") or scope["path"].encode()
        scope = {**scope, "path": raw.partition(b"?")[0].decode("latin-1")}
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    sent.setdefault(name, value)
                sent.setdefault("cache-control", "no-store")
            await send(message)

        await (refusal or self._app)(scope, receive, send_safely)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if _host_name(host) not in self._names:
            return _forbidden(
                f"the host {host[:100]!r} is not one of this server's names; add it with --allowed-host if it is"
            )
        origin = headers.get("origin")
        if origin is not None and _host_of(origin) != host.lower():
            return _forbidden(f"requests from pages of {origin[:100]!r} are refused")
        fetched = headers.get("sec-fetch-site", "none") in ("cross-site", "same-site")
        if fetched and headers.get("sec-fetch-mode") != "navigate":
            return _forbidden("requests from pages of other sites are refused")
        return self._unauthorized(scope["path"], headers.get("authorization", ""))

    def _unauthorized(self, path: str, authorization: str) -> Response | None:
        tokens = self._settings.tokens
        if tokens is None:
            return None
        kind, _, value = authorization.partition(" ")
        is_api = path.startswith(API_PREFIX)
        try:
            if kind.lower() == "bearer" and tokens.accepts(value.strip()):
                return None
            if kind.lower() == "basic" and not is_api and tokens.accepts(_password(value.strip())):
                return None
        except InvalidInput as error:  # nothing was done yet: a client may send the request again
            LOG.error("%s", error)
            body = error_body(
                503, "ServiceUnavailableException", "the server cannot read its tokens; its log says more"
            )
            return json_response(503, body, headers={"retry-after": "5"})
        message = "this token is not (or no longer) valid" if authorization else "this server asks for a token"
        if is_api:
            body = error_body(
                401, NOT_AUTHORIZED, f"{message}; clients send it in the header Authorization, as a Bearer"
            )
            return json_response(401, body, headers={"www-authenticate": "Bearer"})
        return Response(
            f"{message}; give any user name, and the token as the password\n",
            status_code=401,
            media_type="text/plain",
            headers={"www-authenticate": 'Basic realm="floeberg", charset="UTF-8"'},
        )


def _forbidden(message: str) -> Response:
    return json_response(403, error_body(403, "ForbiddenException", message))


def _host_name(host: str) -> str:
    """The name in a Host header, without its port."""
    text = host.strip().lower()
    if text.startswith("["):
        return text.partition("]")[0] + "]"
    return text.partition(":")[0]


def _host_of(origin: str) -> str | None:
    """The host and port of an Origin header; None when it is no address."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8", "surrogateescape").partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
