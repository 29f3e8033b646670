from __future__ import annotations

import http.server
import pickle
import threading
from collections.abc import Iterator

import pytest

from floeberg.effects.system import system_effects
from floeberg.errors import (
    FileNotFound,
    InvalidInput,
    SecurityError,
    StorageError,
    Throttled,
    Unavailable,
    UnsupportedFeature,
    WriteRefused,
)
from floeberg.storage.location import parse
from floeberg.storage.object_store import open_object_store
from floeberg.storage.secret import seal_options

pytestmark = pytest.mark.s3


def open_bucket(bucket: str, options: dict[str, str]):
    return open_object_store(parse(f"s3://{bucket}/"), seal_options(options), system_effects().ids)


@pytest.fixture
def answering() -> Iterator[tuple[dict, dict]]:
    """Options for a server that answers every request with the status in the first dict."""
    state = {"status": 500, "requests": 0}

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            state["requests"] += 1
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b"<Error><Code>Scripted</Code></Error>"
            self.send_response(state["status"])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = answer

        def log_message(self, *args) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    options = {
        "s3.endpoint": f"http://127.0.0.1:{server.server_port}",
        "s3.access-key-id": "a",
        "s3.secret-access-key": "b",
    }
    yield state, options
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, Throttled),
        (503, Throttled),
        (500, Unavailable),
        (502, Unavailable),
        (504, Unavailable),
        (400, StorageError),
        (403, StorageError),
        (401, StorageError),
    ],
)
def test_a_status_becomes_the_error_that_says_what_to_do_and_is_not_retried(answering, status, kind):
    state, options = answering
    state["status"] = status
    store = open_bucket("bucket-x", options)
    for call in (
        lambda: store.read("s3://bucket-x/k"),
        lambda: store.write("s3://bucket-x/k", b"x"),
        lambda: list(store.list("s3://bucket-x/k")),
    ):
        state["requests"] = 0
        with pytest.raises(StorageError) as caught:
            call()
        assert type(caught.value) in (kind, WriteRefused if kind is StorageError else kind)
        assert state["requests"] == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 507])
def test_a_write_that_the_store_refuses_is_known_to_have_done_nothing(answering, status):
    state, options = answering
    state["status"] = status
    store = open_bucket("bucket-x", options)
    for call in (store.write, store.create, store.replace):
        state["requests"] = 0
        with pytest.raises(WriteRefused):
            call("s3://bucket-x/k", b"x")
        assert state["requests"] == 1


def test_no_server_at_all_is_unavailable():
    store = open_bucket(
        "bucket-x", {"s3.endpoint": "http://127.0.0.1:1", "s3.access-key-id": "a", "s3.secret-access-key": "b"}
    )
    with pytest.raises(Unavailable):
        store.read("s3://bucket-x/k")
    with pytest.raises(Unavailable):
        store.create("s3://bucket-x/k", b"x")


def test_keys_with_empty_segments_are_read_and_refused_for_all_else(s3_server):
    bucket = s3_server.new_bucket()
    keys = ["wh//db/t/f%20 g", "/lead", "a//b//c"]
    for key in keys:
        s3_server.client().put_object(Bucket=bucket, Key=key, Body=key.encode())
    store = open_bucket(bucket, s3_server.options())
    for key in keys:
        location = f"s3://{bucket}/{key}"
        assert store.read(location) == key.encode()
        assert store.read(location, offset=1, length=2) == key.encode()[1:3]
        assert store.size(location) == len(key.encode())
        assert store.exists(location)
        for call in (store.write, store.create, store.replace):
            with pytest.raises(UnsupportedFeature, match="empty segment"):
                call(location, b"x")
        with pytest.raises(UnsupportedFeature, match="empty segment"):
            store.delete(location)
    with pytest.raises(FileNotFound):
        store.read(f"s3://{bucket}/wh//nope")
    with pytest.raises(UnsupportedFeature, match="empty path segment"):
        list(store.list(f"s3://{bucket}/wh"))


def test_a_key_that_the_client_refuses_is_invalid_input(s3_server):
    bucket = s3_server.new_bucket()
    with pytest.raises(InvalidInput):
        open_bucket(bucket, s3_server.options()).write(f"s3://{bucket}/a\nb", b"x")


def test_another_bucket_is_refused(s3_server):
    bucket = s3_server.new_bucket()
    with pytest.raises(InvalidInput, match="is not in"):
        open_bucket(bucket, s3_server.options()).read("s3://other/k")


def test_many_objects_are_listed_over_several_pages(s3_server, monkeypatch):
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "10")
    bucket = s3_server.new_bucket()
    client = s3_server.client()
    for number in range(35):
        client.put_object(Bucket=bucket, Key=f"t/{number:05d}", Body=b"")
    assert client.list_objects_v2(Bucket=bucket)["IsTruncated"]
    listed = [info.location for info in open_bucket(bucket, s3_server.options()).list(f"s3://{bucket}/t")]
    assert listed == [f"s3://{bucket}/t/{number:05d}" for number in range(35)]


def test_a_store_is_not_serialised(s3_server):
    with pytest.raises(SecurityError):
        pickle.dumps(open_bucket("bucket-x", s3_server.options()))


@pytest.mark.parametrize("key", ["s3.region", "client.region"])
@pytest.mark.parametrize("region", ["x.example.org/", "us-east-1#", "a b", "eu.west"])
def test_a_region_cannot_lead_to_another_host(key, region):
    with pytest.raises(InvalidInput, match=key):
        open_bucket("lake", {key: region, "s3.access-key-id": "AKIA", "s3.secret-access-key": "sentinel"})


def test_an_account_cannot_lead_to_another_host():
    options = seal_options({"adls.account-name": "a.example.org/", "adls.account-key": "a2V5"})
    with pytest.raises(InvalidInput, match=r"adls\.account-name"):
        open_object_store(parse("abfss://c@a/"), options, system_effects().ids)
