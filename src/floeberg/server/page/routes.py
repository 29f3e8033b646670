"""From an address to a view. What a view raises becomes a page that says what is wrong and the way out."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Final
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from floeberg.catalogs.identifiers import Identifier, Namespace, to_identifier, to_namespace
from floeberg.errors import FloebergError, InvalidInput, NotFound
from floeberg.server.error_bodies import status_of
from floeberg.server.page import catalog_views, definition_views, file_views, health_views, row_views
from floeberg.server.page.rendering import ROOT, load_templates, page
from floeberg.server.page.table_page import TablePage
from floeberg.server.served_catalog import ServedCatalog
from floeberg.storage.secret import redact

LOG: Final = logging.getLogger("floeberg.server.page")
_SEPARATOR: Final = "\x1f"
_Respond = Callable[[Request], Awaitable[Response]]
VIEWS: Final[Mapping[str, Callable[[TablePage], Response]]] = {
    "overview": definition_views.overview,
    "schema": definition_views.schema,
    "partitioning": definition_views.partitioning,
    "snapshots": definition_views.snapshots,
    "files": file_views.files,
    "deletes": file_views.deletes,
    "diff": row_views.diff,
    "row": row_views.row,
    "plan": row_views.plan,
    "health": health_views.health,
    "query": row_views.query,
}


def page_routes(catalogs: Mapping[str, ServedCatalog]) -> list[Route]:
    """The routes of the page."""
    load_templates()

    def table(request: Request) -> Response:
        served = _served(catalogs, request)
        tab = request.path_params["tab"]
        if tab not in VIEWS:
            raise NotFound(f"a table has no page {tab[:60]!r}; it has: {', '.join(VIEWS)}")
        identifier = _identifier(request)
        loaded = served.table_to_read(identifier)
        return VIEWS[tab](TablePage(served.name, identifier, loaded, tab, request.query_params))

    def namespace(request: Request) -> Response:
        return catalog_views.namespace(_served(catalogs, request), _namespace(request))

    def view(request: Request) -> Response:
        return catalog_views.view(_served(catalogs, request), _identifier(request))

    async def to_overview(request: Request) -> Response:
        return RedirectResponse(f"{request.url.path}/overview")

    async def to_root(request: Request) -> Response:
        return RedirectResponse(f"{ROOT}/")

    return [
        Route("/", to_root),
        Route(ROOT, to_root),
        Route(f"{ROOT}/", _respond(lambda request: catalog_views.catalogs(catalogs))),
        Route(f"{ROOT}/static/page.css", _style),
        Route(f"{ROOT}/{{catalog}}", _respond(lambda request: catalog_views.namespaces(_served(catalogs, request)))),
        Route(f"{ROOT}/{{catalog}}/ns/{{namespace}}", _respond(namespace)),
        Route(f"{ROOT}/{{catalog}}/v/{{namespace}}/{{name}}", _respond(view)),
        Route(f"{ROOT}/{{catalog}}/t/{{namespace}}/{{name}}", to_overview),
        Route(f"{ROOT}/{{catalog}}/t/{{namespace}}/{{name}}/{{tab}}", _respond(table)),
        Route(f"{ROOT}/{{rest:path}}", _respond(_nothing)),
    ]


def _nothing(request: Request) -> Response:
    raise NotFound(f"there is no page {request.url.path[:200]}")


def _respond(answer: Callable[[Request], Response]) -> _Respond:
    async def respond(request: Request) -> Response:
        return await run_in_threadpool(_shown, answer, request)

    return respond


def _shown(answer: Callable[[Request], Response], request: Request) -> Response:
    path = request.url.path
    back = path.rpartition("/")[0] if "/t/" in path else f"{ROOT}/"
    try:
        return answer(request)
    except FloebergError as error:
        status = 404 if isinstance(error, NotFound) else status_of(error)[0]
        if status >= 500:
            LOG.warning("%s", path, exc_info=True)
        return _error_page(status, redact(str(error)), back)
    except Exception:
        LOG.exception("%s failed", path)
        return _error_page(500, "A fault of the server; its log says more.", back)


def _error_page(status: int, message: str, back: str) -> Response:
    values = {"title": "Error", "message": message, "status": status, "back": back}
    return page("error.html", values, status=status)


async def _style(request: Request) -> Response:
    content = files("floeberg.server.page").joinpath("static/page.css").read_bytes()
    return Response(content, media_type="text/css", headers={"cache-control": "max-age=300"})


def _served(catalogs: Mapping[str, ServedCatalog], request: Request) -> ServedCatalog:
    name = _decoded(request, "catalog")
    if name not in catalogs:
        raise NotFound(f"this server has no catalog {name[:100]!r}; it has: {', '.join(catalogs)}")
    return catalogs[name]


def _namespace(request: Request) -> Namespace:
    return to_namespace(_decoded(request, "namespace").split(_SEPARATOR))


def _identifier(request: Request) -> Identifier:
    return to_identifier((*_namespace(request), _decoded(request, "name")))


def _decoded(request: Request, part: str) -> str:
    text: str = request.path_params[part]
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInput(f"{text[:200]!r} is no percent-encoded UTF-8") from None
