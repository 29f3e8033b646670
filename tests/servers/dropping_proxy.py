"""A proxy in front of a server that loses answers: before the server acts, or after it did."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx


@dataclass
class Faults:
    """What happens to the next requests whose `METHOD path` is as given (`*` for anything): `drop before`, `drop after`, `<status>`, `<status>
    after`, or `twice` (sent on twice; the second answer counts). `seen` counts what was sent on."""

    planned: dict[str, list[str]] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def take(self, step: str) -> str | None:
        for pattern, faults in self.planned.items():
            if fnmatch(step, pattern) and faults:
                return faults.pop(0)
        return None


@contextmanager
def dropping_proxy(upstream: str) -> Iterator[tuple[str, Faults]]:
    """The proxy's address, and its faults."""
    faults = Faults()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            step = f"{self.command} {self.path.partition('?')[0]}"
            fault = faults.take(step)
            if fault == "drop before":
                self.close_connection = True
                self.connection.close()
                return
            if fault is not None and fault.isdecimal():
                self._reply(int(fault), b"", {})
                return
            answer = self._forward(step, body)
            if fault == "twice":
                answer = self._forward(step, body)
            if fault == "drop after":
                self.close_connection = True
                self.connection.close()
                return
            status = int(fault.split()[0]) if fault and fault.endswith("after") else answer.status_code
            self._reply(status, answer.content, dict(answer.headers))

        def _forward(self, step: str, body: bytes) -> httpx.Response:
            faults.seen.append(step)
            kept = {key: value for key, value in self.headers.items() if key.lower() not in ("host", "connection")}
            return httpx.request(self.command, f"{upstream}{self.path}", content=body, headers=kept, timeout=60)

        def _reply(self, status: int, content: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for key in ("content-type", "etag"):
                if key in headers:
                    self.send_header(key, headers[key])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_POST = do_DELETE = do_HEAD = handle_any

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except (OSError, ValueError):
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", faults
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
