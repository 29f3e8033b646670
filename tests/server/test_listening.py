"""Where the server listens, and how long it waits for what a connection wants."""

from __future__ import annotations

import errno
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn

import floeberg as fb
from floeberg.cli.main import BAD_INPUT, run
from floeberg.errors import InvalidInput
from floeberg.server.http import listening
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings
from servers.floeberg_server import server_in_thread


@pytest.mark.parametrize("command", [["serve"], ["ui", "--no-browser"]])
def test_a_port_that_is_taken_is_named_with_the_way_out(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert run([*command, "--warehouse", str(tmp_path), "--port", str(port)]) == BAD_INPUT
    said = capsys.readouterr().err
    assert f"port {port} of 127.0.0.1 is taken by another process" in said
    assert "--port" in said
    assert "Errno" not in said


def test_a_host_of_another_machine_is_refused() -> None:
    for host in ("192.0.2.1", "no.such.host.invalid"):
        with pytest.raises(InvalidInput, match="--host"):
            listening.listening_sockets(ServerSettings(host=host, port=0))


def test_a_connection_that_does_not_send_its_request_in_time_is_closed_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "HEADER_TIMEOUT_S", 0.4)
    with (
        fb.catalog("lake", warehouse=str(tmp_path)) as catalog,
        server_in_thread([ServedCatalog.of(catalog, warehouse=str(tmp_path))]) as url,
        httpx.Client(base_url=url) as client,
    ):
        place = (urlsplit(url).hostname, urlsplit(url).port)
        request = b"GET /v1/config HTTP/1.1\r\nHost: localhost\r\n"
        with socket.create_connection(place) as silent, socket.create_connection(place) as slow:  # type: ignore[type-var]
            slow.sendall(request)
            assert client.get("/v1/config").status_code == 200
            assert silent.recv(1) == b""
            assert slow.recv(1) == b""
        with socket.create_connection(place) as again:  # type: ignore[type-var]
            again.sendall(request + b"\r\n")
            assert again.recv(15) == b"HTTP/1.1 200 OK"
            again.sendall(request)
            while again.recv(4096):
                pass
        assert client.get("/v1/config").status_code == 200


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8181"),
        ("0.0.0.0", "http://127.0.0.1:8181"),
        ("::", "http://[::1]:8181"),
        ("::1", "http://[::1]:8181"),
        ("localhost", "http://localhost:8181"),
    ],
)
def test_the_address_for_this_machine_is_of_the_family_that_the_server_listens_on(host: str, url: str) -> None:
    assert ServerSettings(host=host).url == url


def test_every_address_of_a_host_has_the_same_port(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{last}", 0)) for last in (1, 2, 3)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
    sockets = listening.listening_sockets(ServerSettings(host="localhost", port=0))
    try:
        assert [one.getsockname()[0] for one in sockets] == ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
        assert len({one.getsockname()[1] for one in sockets}) == 1
    finally:
        for one in sockets:
            one.close()


def test_a_port_that_is_free_at_one_address_alone_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{last}", 0)) for last in (1, 2)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
    real, tried = socket.create_server, []

    def create_server(address: Any, **options: Any) -> socket.socket:
        tried.append(address)
        if len(tried) == 2:
            raise OSError(errno.EADDRINUSE, "taken")
        return real(address, **options)

    monkeypatch.setattr(socket, "create_server", create_server)
    sockets = listening.listening_sockets(ServerSettings(host="localhost", port=0))
    ports = {one.getsockname()[1] for one in sockets}
    for one in sockets:
        one.close()
    assert len(tried) == 4
    assert len(sockets) == 2
    assert len(ports) == 1


def test_an_address_keeps_its_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    address = ("fe80::1", 0, 0, 7)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", address)])
    asked: list[Any] = []
    monkeypatch.setattr(socket, "create_server", lambda given, **_: asked.append(given))
    listening.listening_sockets(ServerSettings(host="fe80::1%eth0", port=0))
    assert asked == [address]


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed it; what it sent is passed over."""
    try:
        return connection.recv(65536) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    "head",
    [
        b"GET /v1/config HTTP/1.1\r\nHost: localhost",
        b"GET /v1/config HTTP/1.1\r\nHost: elsewhere",
        b"POST /v1/lake/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain",
        b"POST /v1/lake/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json",
    ],
)
def test_a_body_that_comes_byte_by_byte_holds_no_connection(
    head: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "HEADER_TIMEOUT_S", 0.4)
    settings = ServerSettings(body_timeout_s=0.4)
    with (
        fb.catalog("lake", warehouse=str(tmp_path)) as catalog,
        server_in_thread([ServedCatalog.of(catalog, warehouse=str(tmp_path))], settings) as url,
        socket.create_connection((urlsplit(url).hostname, urlsplit(url).port)) as dripping,  # type: ignore[type-var]
    ):
        dripping.sendall(head + b"\r\nContent-Length: 100000\r\n\r\n{")
        dripping.settimeout(0.05)
        for _ in range(400):
            if is_closed(dripping):
                break
            dripping.sendall(b" ")
        else:
            pytest.fail("the connection is open still")


def test_an_answer_that_its_client_does_not_take_holds_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "HEADER_TIMEOUT_S", 0.4)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(24 << 20)})

    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            app, http=listening.TimedProtocol, log_level="warning", lifespan="off", ws="none", timeout_keep_alive=0
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            with socket.create_connection(listener.getsockname()) as idle:
                idle.sendall(2 * b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert idle.recv(15) == b"HTTP/1.1 200 OK"
                for _ in range(400):
                    if not server.server_state.connections:
                        break
                    time.sleep(0.05)
                assert not server.server_state.connections
            assert len(httpx.get(f"http://127.0.0.1:{listener.getsockname()[1]}/").content) == 24 << 20
        finally:
            server.should_exit = True
            thread.join()
