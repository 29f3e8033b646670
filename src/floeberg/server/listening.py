"""The port of a server, and how long a connection may take to say what it wants."""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from floeberg.errors import InvalidInput
from floeberg.server.settings import ServerSettings

HEADER_TIMEOUT_S: Final = 30.0
_BACKLOG: Final = 2048
_NOT_OF_THIS_MACHINE: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def listening_sockets(settings: ServerSettings) -> list[socket.socket]:
    """Sockets that listen at every address of the host. Raises InvalidInput when the port or the host cannot be had."""
    try:
        found = socket.getaddrinfo(
            settings.host or None, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise InvalidInput(f"{settings.host!r} is no address to listen on ({error}); give another --host") from error
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    for family, address in dict.fromkeys((family, address) for family, _, _, _, address in found):
        try:
            sockets.append(socket.create_server(address[:2], family=family, backlog=_BACKLOG))
        except OSError as error:
            missing = error
            if error.errno not in _NOT_OF_THIS_MACHINE:
                break
    if missing is None or (sockets and missing.errno in _NOT_OF_THIS_MACHINE):
        return sockets
    for one in sockets:
        one.close()
    raise _refusal(settings, missing) from missing


def _refusal(settings: ServerSettings, error: OSError) -> InvalidInput:
    place = f"port {settings.port} of {settings.host}"
    if error.errno == errno.EADDRINUSE:
        return InvalidInput(f"{place} is taken by another process; stop that, or choose another port with --port")
    if error.errno == errno.EACCES:
        return InvalidInput(f"{place} is for privileged processes; choose one from 1024 on with --port")
    if error.errno in _NOT_OF_THIS_MACHINE:
        return InvalidInput(f"{settings.host} is no address of this machine; give another --host")
    return InvalidInput(f"the server cannot listen on {place}: {error}; choose another with --port or --host")


class TimedProtocol(H11Protocol):
    """HTTP whose clients must send the whole head of a request in time: otherwise a few of them that send a byte now and
    then would hold every connection that the server allows."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait_for_head()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(HEADER_TIMEOUT_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
