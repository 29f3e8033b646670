"""The scripted server on a port, for clients in other processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from catalogs.rest.scripted import ScriptedServer
from servers.handling import Handler, serving


@contextmanager
def over_http(server: ScriptedServer) -> Iterator[str]:
    """The server's address."""

    class Scripted(Handler):
        def handle_any(self) -> None:
            body = self.body()
            headers = dict(self.headers.items())
            answer = server.handle(
                httpx.Request(self.command, f"http://catalog.test{self.path}", content=body, headers=headers)
            )
            self.reply(answer.status_code, answer.content, answer.headers)

    with serving(Scripted) as address:
        yield f"{address}/api"
