"""A proxy in front of an S3 server whose session tokens end when a test says so, as AWS answers it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

EXPIRED = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>ExpiredToken</Code>'
    b"<Message>The provided token has expired.</Message></Error>"
)
_OF_THE_CONNECTION = ("connection", "content-length", "transfer-encoding", "date", "server")


@contextmanager
def ending_s3(upstream: str) -> Iterator[tuple[str, set[str]]]:
    """The proxy's address, and the tokens that have ended."""
    ended: set[str] = set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("x-amz-security-token") in ended:
                self._reply(400, EXPIRED, {"Content-Type": "application/xml"})
                return
            kept = {key: value for key, value in self.headers.items() if key.lower() != "connection"}
            answer = httpx.request(self.command, f"{upstream}{self.path}", content=body, headers=kept, timeout=60)
            headers = {key: value for key, value in answer.headers.items() if key not in _OF_THE_CONNECTION}
            if self.command == "HEAD":
                headers["Content-Length"] = answer.headers["content-length"]
            self._reply(answer.status_code, answer.content, headers)

        def _reply(self, status: int, content: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for key, value in ({"Content-Length": str(len(content))} | headers).items():
                self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", ended
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
