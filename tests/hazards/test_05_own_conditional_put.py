"""Hazard 5: a conditional put whose reply was lost finds its own object when repeated, and calls it another's.

moto stands behind a small proxy that loses replies, repeats requests, or answers with an error after the effect.
"""

from __future__ import annotations

import http.client
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from floeberg.effects.system import system_effects
from floeberg.errors import PreconditionFailed, StorageError, Unavailable
from floeberg.storage import object_store
from floeberg.storage.location import parse
from floeberg.storage.object_store import ObjectStore, open_object_store
from servers.s3_server import S3Server, running_s3_server

pytestmark = pytest.mark.s3


@dataclass
class Proxy:
    """What happens to the next put: `pass`, `lose`, `repeat`, `fail-after`, `fail-before` or `conflict`."""

    endpoint: str = ""
    mode: str = "pass"
    puts: list[str] = field(default_factory=list)

    def take_mode(self) -> str:
        mode, self.mode = self.mode, "pass"
        return mode


def forward(server: S3Server, handler: http.server.BaseHTTPRequestHandler, body: bytes) -> tuple[int, list, bytes]:
    connection = http.client.HTTPConnection(urlsplit(server.endpoint).netloc)
    try:
        connection.request(handler.command, handler.path, body, dict(handler.headers))
        reply = connection.getresponse()
        return reply.status, reply.getheaders(), reply.read()
    finally:
        connection.close()


def make_handler(server: S3Server, proxy: Proxy) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            mode = "pass"
            if self.command == "PUT":
                proxy.puts.append(self.path)
                mode = proxy.take_mode()
            if mode == "fail-before":
                return self.reply(500, [], b"")
            if mode == "conflict":
                return self.reply(409, [], b"<Error><Code>ConditionalRequestConflict</Code></Error>")
            status, headers, content = forward(server, self, body)
            if mode == "repeat":
                status, headers, content = forward(server, self, body)
            if mode == "fail-after":
                return self.reply(503, [], b"")
            if mode == "lose":
                self.close_connection = True
                return None
            return self.reply(status, headers, content)

        def reply(self, status: int, headers: list, content: bytes) -> None:
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "connection", "date", "server", "transfer-encoding"):
                    self.send_header(name, value)
            length = {name.lower(): value for name, value in headers}.get("content-length", str(len(content)))
            self.send_header("Content-Length", length if self.command == "HEAD" else str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = handle_any

        def log_message(self, *args) -> None:
            pass

    return Handler


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with running_s3_server() as running:
        yield running


@pytest.fixture
def proxy(server) -> Iterator[Proxy]:
    state = Proxy()
    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), make_handler(server, state))
    state.endpoint = f"http://127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield state
    listener.shutdown()
    listener.server_close()
    thread.join()


@pytest.fixture
def bucket(server) -> str:
    return server.new_bucket()


@pytest.fixture
def store(server, proxy, bucket) -> ObjectStore:
    return open_object_store(parse(f"s3://{bucket}/"), server.options(proxy.endpoint), system_effects().ids)


def outcome(store: ObjectStore, location: str, content: bytes) -> str:
    try:
        store.create(location, content)
    except PreconditionFailed:
        return "taken"
    except StorageError as error:
        return "unknown" if error.retryable else "failed"
    return "created"


LOSSES = ["lose", "repeat", "fail-after"]


@pytest.mark.parametrize("mode", LOSSES)
def test_one_s_own_object_is_recognised_whatever_became_of_the_reply(store, proxy, bucket, mode):
    proxy.mode = mode
    location = f"s3://{bucket}/t/metadata/v1.metadata.json"
    assert outcome(store, location, b"mine") == "created"
    assert store.read(location) == b"mine"
    assert len(proxy.puts) == 1, "the client repeats nothing by itself"


@pytest.mark.parametrize("mode", ["pass", *LOSSES])
@pytest.mark.parametrize("content", [b"mine", b"theirs"])
def test_another_s_object_is_never_taken_for_one_s_own(store, proxy, bucket, mode, content):
    """Even when both wrote the same bytes."""
    location = f"s3://{bucket}/v1"
    store.create(location, b"theirs")
    proxy.mode = mode
    assert outcome(store, location, content) in ({"taken"} if mode in ("pass", "repeat") else {"taken", "unknown"})
    assert store.read(location) == b"theirs"


@pytest.mark.parametrize("mode", ["fail-before", "conflict"])
def test_a_put_without_effect_is_not_called_a_success_nor_taken(store, proxy, bucket, mode):
    proxy.mode = mode
    location = f"s3://{bucket}/v1"
    assert outcome(store, location, b"mine") == "unknown"
    assert not store.exists(location)
    assert outcome(store, location, b"mine") == "created"


def test_an_object_without_a_token_is_compared_by_content(store, server, proxy, bucket):
    """Another library's object, or a store that drops the metadata of objects."""
    server.client().put_object(Bucket=bucket, Key="v1", Body=b"theirs")
    assert outcome(store, f"s3://{bucket}/v1", b"mine") == "taken"
    assert outcome(store, f"s3://{bucket}/v1", b"theirs") == "created"


@pytest.mark.parametrize("mode", LOSSES)
def test_without_reading_back_the_check_sees_the_hazard(store, proxy, bucket, mode, monkeypatch):
    monkeypatch.setattr(ObjectStore, "_is_ours", lambda *args, **kwargs: False)
    proxy.mode = mode
    location = f"s3://{bucket}/v1"
    assert outcome(store, location, b"mine") != "created"
    assert store.read(location) == b"mine", "the object is ours, and we were told otherwise"


def test_with_the_client_s_own_retries_the_check_sees_repeated_puts(server, proxy, bucket, monkeypatch):
    monkeypatch.setattr(object_store, "_NEVER_RETRY", {"max_retries": 3})
    retrying = open_object_store(parse(f"s3://{bucket}/"), server.options(proxy.endpoint), system_effects().ids)
    proxy.mode = "fail-after"
    retrying.create(f"s3://{bucket}/v1", b"mine")
    assert len(proxy.puts) > 1


def test_a_reply_lost_while_the_store_is_gone_leaves_the_outcome_unknown(store, proxy, bucket, monkeypatch):
    def gone(*args, **kwargs):
        raise Unavailable("gone")

    proxy.mode = "lose"
    monkeypatch.setattr(ObjectStore, "_is_ours", gone)
    assert outcome(store, f"s3://{bucket}/v1", b"mine") == "unknown"
