"""Where the server listens, and how long it waits for what a connection wants."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

import floeberg as fb
from floeberg.cli.main import BAD_INPUT, run
from floeberg.errors import InvalidInput
from floeberg.server import listening
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
