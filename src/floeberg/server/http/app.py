"""The server as an ASGI application."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from floeberg.errors import InvalidInput
from floeberg.server.error_bodies import error_body, json_response
from floeberg.server.http.access import AccessControl
from floeberg.server.page.routes import page_routes
from floeberg.server.rest.routes import rest_routes
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings


def make_app(catalogs: Iterable[ServedCatalog], settings: ServerSettings) -> Starlette:
    """The application over one or more catalogs; the first answers clients that name none. Raises InvalidInput for
    settings that would open it to others."""
    settings.check()
    by_name = {served.name: served for served in catalogs}
    if not by_name:
        raise InvalidInput("a server needs a catalog to serve")
    return Starlette(
        routes=[*rest_routes(by_name, settings), *(page_routes(by_name) if settings.page else ())],
        middleware=[Middleware(AccessControl, settings=settings)],
        exception_handlers={HTTPException: _http_error},
    )


async def _http_error(request: Request, error: Exception) -> Response:
    """Paths and methods that are not there."""
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path[:200]}: {error.detail}"
    return json_response(
        error.status_code, error_body(error.status_code, "BadRequestException", message), headers=error.headers
    )
