"""The port of a server, and how long a connection may take to say what it wants."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Sequence
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from floeberg.errors import InvalidInput
from floeberg.server.settings import ServerSettings

HEADER_TIMEOUT_S: Final = 30.0
_LEAST_BYTES_TAKEN: Final = 32 * 1024
"""What a client must take of a long answer in each timeout."""
_BACKLOG: Final = 2048
_TRIES_OF_FREE_PORTS: Final = 20
_NOT_OF_THIS_MACHINE: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def listening_sockets(settings: ServerSettings) -> list[socket.socket]:
    """Sockets that listen at every address of the host. Raises InvalidInput when the port or the host cannot be had."""
    try:
        found = socket.getaddrinfo(
            settings.host or None, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise InvalidInput(f"{settings.host!r} is no address to listen on ({error}); give another --host") from error
    addresses = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
    tries = _TRIES_OF_FREE_PORTS if settings.port == 0 else 1
    while True:
        sockets, missing = _bound(addresses)
        if missing is None or (sockets and missing.errno in _NOT_OF_THIS_MACHINE):
            return sockets
        for one in sockets:
            one.close()
        tries -= 1
        if tries == 0 or missing.errno != errno.EADDRINUSE:
            raise _refusal(settings, missing) from missing


def _bound(addresses: Sequence[tuple[int, tuple[Any, ...]]]) -> tuple[list[socket.socket], OSError | None]:
    """Sockets at the addresses, and the error of one that cannot be had. A port that the system chooses (0) is the same at all
    of them: a client may take any."""
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    for family, address in addresses:
        port = sockets[0].getsockname()[1] if sockets else address[1]
        try:
            sockets.append(socket.create_server((address[0], port, *address[2:]), family=family, backlog=_BACKLOG))
        except OSError as error:
            missing = error
            if error.errno not in _NOT_OF_THIS_MACHINE:
                break
    return sockets, missing


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
    """HTTP whose clients must send the whole head of a request in time, and the body of one that is answered already, and must
    take their answers: otherwise a few of them that send or take a byte now and then would hold every connection that the
    server allows."""

    _waiting: asyncio.TimerHandle | None = None
    _watching: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_incomplete():
            self._wait()
        else:
            self._stop_waiting()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        self._stop_watching()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_watching()
        super().connection_lost(exc)

    def _is_incomplete(self) -> bool:
        """Whether the head of a request is not there yet, or the body of one that is answered. A body that the application
        reads is limited by the application."""
        is_answered = self.conn.our_state is h11.DONE
        return self.conn.their_state is h11.IDLE or (is_answered and self.conn.their_state is h11.SEND_BODY)

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(HEADER_TIMEOUT_S, self._close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _close(self) -> None:
        self.transport.close()
        self._watch()

    def _watch(self) -> None:
        """A closed connection stays until all is sent, so it must be seen that the client takes what is left."""
        unsent = self.transport.get_write_buffer_size()
        if unsent and self._watching is None:
            self._watching = self.loop.call_later(HEADER_TIMEOUT_S, self._look, unsent)

    def _look(self, before: int) -> None:
        self._watching = None
        unsent = self.transport.get_write_buffer_size()
        if unsent and before - unsent < _LEAST_BYTES_TAKEN:
            self.transport.abort()
        else:
            self._watch()

    def _stop_watching(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
