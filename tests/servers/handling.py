"""Small HTTP servers of tests: one function that handles every request, on a port of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

_OF_THE_CONNECTION = ("connection", "content-length", "transfer-encoding", "date", "server")


class Handler(BaseHTTPRequestHandler):
    """Handles every method by `handle_any`, and can send a request on to another server."""

    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        raise NotImplementedError

    def do_GET(self) -> None:
        self.handle_any()

    do_PUT = do_POST = do_DELETE = do_HEAD = do_GET

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def forwarded(self, upstream: str, body: bytes, *, without: tuple[str, ...] = ()) -> httpx.Response:
        """The other server's answer to this request."""
        left_out = ("connection", *without)
        kept = {key: value for key, value in self.headers.items() if key.lower() not in left_out}
        return httpx.request(self.command, f"{upstream}{self.path}", content=body, headers=kept, timeout=60)

    def reply(self, status: int, content: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        given = {key.lower(): value for key, value in (headers or {}).items()}
        size = given["content-length"] if self.command == "HEAD" and "content-length" in given else str(len(content))
        self.send_response(status)
        for key, value in given.items():
            if key not in _OF_THE_CONNECTION:
                self.send_header(key, value)
        self.send_header("Content-Length", size)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def drop(self) -> None:
        """Closes the connection without an answer."""
        self.close_connection = True
        self.connection.close()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (OSError, ValueError):
            self.close_connection = True


@contextmanager
def serving(handler: type[Handler]) -> Iterator[str]:
    """The address at which the handler answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
