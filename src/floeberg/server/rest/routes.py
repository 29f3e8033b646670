"""From an HTTP request to a handler and back. Handlers run in threads; what they raise becomes the protocol's error."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from floeberg.errors import BadRequest, FloebergError, FormatError
from floeberg.server.error_bodies import INTERNAL, STATE_UNKNOWN, error_body, error_response, json_response
from floeberg.server.rest.calls import Answer, Call, decoded
from floeberg.server.rest.endpoints import ENDPOINTS, Endpoint
from floeberg.server.rest.namespaces import UnprocessableEntity
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings
from floeberg.spec.json.strict import check_depth, decode_object

LOG: Final = logging.getLogger("floeberg.server")
_JSON: Final = "application/json"
_Respond = Callable[[Request], Awaitable[Response]]


class _Refused(Exception):
    """A request that is refused before its body is understood."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.response = json_response(status, error_body(status, kind, message))


def rest_routes(catalogs: Mapping[str, ServedCatalog], settings: ServerSettings) -> list[Route]:
    """The routes of the protocol. The first catalog is the one that a client gets that names none."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in ENDPOINTS:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    routes = [Route("/v1/config", _config(catalogs), methods=["GET"])]
    for path, methods in by_path.items():
        routes.append(Route(path, _respond(methods, catalogs, settings), methods=list(methods)))
    return routes


def _config(catalogs: Mapping[str, ServedCatalog]) -> _Respond:
    async def respond(request: Request) -> Response:
        wanted = request.query_params.get("warehouse")
        fitting = [one for one in catalogs.values() if not wanted or one.answers_to(wanted)]
        if not fitting:
            known = ", ".join(catalogs)
            message = f"there is no warehouse {str(wanted)[:200]!r}; this server has: {known}"
            return json_response(404, error_body(404, "NoSuchWarehouseException", message))
        served = fitting[0]
        offered = [str(endpoint) for endpoint in ENDPOINTS if endpoint.is_offered_by(served)]
        overrides = {"prefix": quote(served.name, safe="")}
        return json_response(200, {"defaults": {}, "overrides": overrides, "endpoints": offered})

    return respond


def _respond(
    methods: Mapping[str, Endpoint], catalogs: Mapping[str, ServedCatalog], settings: ServerSettings
) -> _Respond:
    async def respond(request: Request) -> Response:
        endpoint = methods.get(request.method)
        if endpoint is None:
            message = f"{request.method} is not a method of {request.url.path[:200]}"
            return json_response(405, error_body(405, "BadRequestException", message))
        try:
            call = Call(
                served=_served(catalogs, endpoint, request),
                path=request.path_params,
                query=dict(request.query_params),
                headers=request.headers,
                body=await _body(request, settings) if request.method == "POST" else None,
            )
        except _Refused as refused:
            return refused.response
        return await run_in_threadpool(_answer, endpoint, call)

    return respond


def _served(catalogs: Mapping[str, ServedCatalog], endpoint: Endpoint, request: Request) -> ServedCatalog:
    try:
        name = decoded(request.path_params["prefix"])
    except BadRequest as error:
        raise _Refused(400, "BadRequestException", str(error)) from error
    served = catalogs.get(name)
    if served is None:
        message = f"this server has no catalog {name[:200]!r}; ask /v1/config for the prefix"
        raise _Refused(404, "NoSuchWarehouseException", message)
    if endpoint.changes and served.read_only:
        raise _Refused(403, "ForbiddenException", f"catalog {name} is served read-only")
    return served


async def _body(request: Request, settings: ServerSettings) -> object:
    """The JSON object of a request. Only `application/json` is read: a form of another site's page cannot send it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _JSON or request.headers.get("content-encoding", "identity").lower() != "identity":
        raise _Refused(415, "BadRequestException", f"send the body as plain {_JSON}, not as {kind[:60] or 'nothing'!r}")
    limit = settings.max_body_bytes
    too_large = _Refused(413, "BadRequestException", f"the request's body has more than {limit} bytes")
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:18]) > limit:
        raise too_large
    content = bytearray()
    try:
        async with asyncio.timeout(settings.body_timeout_s):
            async for chunk in request.stream():
                content += chunk
                if len(content) > limit:
                    raise too_large
    except TimeoutError:
        raise _Refused(408, "BadRequestException", "the request's body took too long to arrive") from None
    try:
        document = decode_object(bytes(content), where="the request's body")
        check_depth(document, where="the request's body")
    except FormatError as error:
        raise _Refused(400, "BadRequestException", str(error)) from error
    return document


def _answer(endpoint: Endpoint, call: Call) -> Response:
    try:
        answer: Answer = endpoint.handler(call)
    except UnprocessableEntity as error:
        return json_response(422, error_body(422, "UnprocessableEntityException", str(error)))
    except FloebergError as error:
        response = error_response(error)
        if response.status_code >= 500:
            LOG.warning("%s: %s", endpoint, error_body(500, INTERNAL, str(error)), exc_info=True)
        return response
    except Exception:
        LOG.exception("%s failed", endpoint)
        kind = STATE_UNKNOWN if endpoint.changes else INTERNAL
        return json_response(500, error_body(500, kind, "a fault of the server; its log says more"))
    if answer.document is None:
        return Response(status_code=answer.status, headers=dict(answer.headers))
    return json_response(answer.status, answer.document, headers=answer.headers)
