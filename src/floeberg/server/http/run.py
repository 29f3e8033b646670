"""Running the server until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import uvicorn

from floeberg.server.http.app import make_app
from floeberg.server.http.listening import TimedProtocol, listening_sockets
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings

KEEP_ALIVE_S = 30


def run_server(
    catalogs: Iterable[ServedCatalog],
    settings: ServerSettings,
    *,
    log_level: str = "warning",
    started: Callable[[str], None] = lambda url: None,
) -> None:
    """Serves until the process is interrupted; requests that are under way end first. `started` is given the server's address
    once the port is bound. Raises InvalidInput when it cannot be."""
    config = uvicorn.Config(
        make_app(catalogs, settings),
        http=TimedProtocol,
        log_level=log_level,
        access_log=log_level in ("info", "debug", "trace"),
        limit_concurrency=settings.max_concurrency,
        timeout_keep_alive=KEEP_ALIVE_S,
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
    )
    sockets = listening_sockets(settings)
    bound = replace(settings, port=sockets[0].getsockname()[1])
    _Announced(config, lambda: started(bound.url)).run(sockets)


class _Announced(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = started

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            self._announce()
