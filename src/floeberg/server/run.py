"""Running the server until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import uvicorn

from floeberg.server.app import make_app
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings

KEEP_ALIVE_S = 30


def run_server(
    catalogs: Iterable[ServedCatalog],
    settings: ServerSettings,
    *,
    log_level: str = "warning",
    started: Callable[[], None] = lambda: None,
) -> None:
    """Serves until the process is interrupted; requests that are under way end first. `started` is called once the port
    is bound."""
    config = uvicorn.Config(
        make_app(catalogs, settings),
        host=settings.host,
        port=settings.port,
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
    _Announced(config, started).run()


class _Announced(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = started

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            self._announce()
