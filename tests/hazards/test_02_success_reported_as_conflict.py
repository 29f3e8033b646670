"""Hazard 2: a retry or a proxy turns a success into 409 or 503. A local HTTP catalog answers as scripted; the client's
pointer treats every 5xx as unknown and looks for its own snapshot before it believes a conflict."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from floeberg.commit import retry
from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.pointer import TableState
from floeberg.errors import CommitConflict, CommitUnknown
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder
from lakes.stub_pointer import StubPointer


class HttpPointer(StubPointer):
    """Asks a server whether a change may go through, as a REST client does."""

    def __init__(self, pointer, url: str) -> None:
        super().__init__(pointer, "ok")
        self.url = url

    def swap(self, base: TableState, new: TableMetadata) -> TableState:
        self.swaps += 1
        self.server_swap(base, new)
        try:
            with urlopen(Request(f"{self.url}/commit", method="POST", data=b"")):
                return self.pointer.refresh()
        except HTTPError as error:
            error.close()
            if error.code == 409:
                raise CommitConflict("409") from error
            raise CommitUnknown(f"{error.code}") from error

    def server_swap(self, base: TableState, new: TableMetadata) -> None:
        if self.applies.pop(0):
            self.pointer.swap(base, new)

    applies: list[bool]


@pytest.fixture
def server() -> Iterator[tuple[str, list[int]]]:
    answers: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(answers.pop(0))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    http = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}", answers
    http.shutdown()
    thread.join()
    http.server_close()


def commit(server: tuple[str, list[int]], answers: list[tuple[bool, int]], *, retries: int = 4):
    """Commits one row under scripted answers: (whether the server applied it, what it said)."""
    url, codes = server
    codes[:] = [code for _, code in answers]
    properties = {"commit.retry.num-retries": str(retries), "commit.status-check.num-retries": "2"}
    builder = TableBuilder(effects=SimWorld(1).process("w").effects, properties=properties).append((1,))
    pointer = HttpPointer(builder.table._pointer, url)
    pointer.applies = [applied for applied, _ in answers]
    committed = commit_operations(pointer, builder.table._state, [Append(files=[builder.data_file((2,))])])
    builder.table.refresh()
    return builder, pointer, committed


@pytest.mark.parametrize("code", [409, 500, 502, 503, 504])
@pytest.mark.parametrize("retries", [0, 4])
def test_an_applied_commit_is_a_success_whatever_the_answer(server, code, retries):
    builder, pointer, committed = commit(server, [(True, code)], retries=retries)
    assert pointer.swaps == 1
    assert [row[0] for row in builder.rows()] == [1, 2]
    assert builder.table.current_snapshot.snapshot_id == committed.snapshots[0].snapshot_id


def test_a_real_conflict_is_tried_again_under_the_same_snapshot_id(server):
    builder, pointer, _ = commit(server, [(False, 409), (False, 409), (True, 409)])
    assert pointer.swaps == 3
    assert [row[0] for row in builder.rows()] == [1, 2]
    assert len(builder.table.snapshots) == 2


@pytest.mark.parametrize("code", [500, 503])
def test_an_answer_of_5xx_is_never_taken_for_a_rejection(server, code):
    with pytest.raises(CommitUnknown):
        commit(server, [(False, code)])


def test_believing_the_conflict_would_commit_twice_or_lose_the_files(server, monkeypatch):
    monkeypatch.setattr(retry, "Attempt", lambda metadata, ids, landed_in: _Blind(metadata, ids))
    monkeypatch.setattr("floeberg.commit.commit.Attempt", lambda metadata, ids, landed_in: _Blind(metadata, ids))
    with pytest.raises(CommitConflict):
        commit(server, [(True, 409)], retries=0)
    builder, _, _ = commit(server, [(True, 409), (True, 200)])
    assert [row[0] for row in builder.rows()] == [1, 2, 2]


class _Blind:
    """An attempt that never recognises itself."""

    def __init__(self, metadata: TableMetadata, snapshot_ids: tuple[int, ...]) -> None:
        self.metadata = metadata
        self.snapshot_ids = snapshot_ids

    def landed_in(self, state: TableState) -> bool:
        return False
