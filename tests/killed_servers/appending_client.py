"""A client process that appends through a server that is killed now and then, and says what it was told.

python appending_client.py URL WORKER COMMITS     # prints a line a commit: the row it added
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from typing import Any

import httpx

from floeberg.commit.append import Append
from floeberg.commit.commit import _replay
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.pointer import TableState
from floeberg.commit.workspace import Workspace
from floeberg.effects.system import system_effects
from floeberg.spec.changes.requirements import requirements_for
from floeberg.spec.changes.updates import AddSnapshot, SetSnapshotRef
from floeberg.spec.changes.updates_json import updates_to_json
from floeberg.spec.metadata.table_metadata_json import table_metadata_from_json
from floeberg.storage.registry import StoreRegistry

TABLES = ("a", "b")
TAG = "row"
PAUSE_S = 0.02


class FilesOnly:
    """What a plan needs of a table whose commits go through HTTP."""

    def __init__(self, identifier: str) -> None:
        self.identifier = identifier
        self.effects = system_effects()
        self.stores = StoreRegistry(self.effects, {})

    def store_for(self, location: str) -> Any:
        return self.stores.for_location(location)


class Client:
    """Sends commits until it knows what became of them. Nothing is looked up beside the server."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=10)
        self.lost = 0

    def ask(self, method: str, path: str, body: object = None) -> httpx.Response:
        """An answer that is not a lost connection; the same request is sent as often as it takes."""
        while True:
            try:
                return self._http.request(method, path, json=body) if body else self._http.request(method, path)
            except httpx.TransportError:
                self.lost += 1
                time.sleep(PAUSE_S)

    def state(self, table: str) -> TableState:
        found = self.ask("GET", f"/v1/lake/namespaces/db/tables/{table}").json()
        return TableState(f"lake.db.{table}", table_metadata_from_json(found["metadata"]), found["metadata-location"])

    def change(self, table: str, tag: str) -> dict[str, Any]:
        """An append that carries a tag, planned on the table as it is."""
        state = self.state(table)
        operation = Append(files=[], target=SnapshotTarget(summary={TAG: tag}))
        metadata, _ = _replay(state, [operation], Workspace(FilesOnly(state.identifier)))  # type: ignore[arg-type]
        snapshot = metadata.current_snapshot
        assert snapshot is not None
        updates = [AddSnapshot(snapshot), SetSnapshotRef("main", metadata.ref("main"))]
        return {
            "identifier": {"namespace": ["db"], "name": table},
            "requirements": [one.to_json() for one in requirements_for(state.metadata, updates)],
            "updates": updates_to_json(updates),
        }

    def commit(self, tag: str, *, both: bool) -> str:
        """Commits until the server says that it took effect; 409 means that nothing did, so it is planned anew."""
        while True:
            if both:
                body: dict[str, Any] = {"table-changes": [self.change(table, tag) for table in TABLES]}
                answer = self.ask("POST", "/v1/lake/transactions/commit", body)
            else:
                body = self.change(TABLES[0], tag)
                answer = self.ask("POST", "/v1/lake/namespaces/db/tables/a", body)
            if answer.status_code in (200, 204):
                return tag
            if answer.status_code not in (409, 500, 503):
                raise AssertionError(answer.text)
            if answer.status_code != 409:
                raise AssertionError(f"unknown, and the server was not killed: {answer.text}")
            time.sleep(PAUSE_S)


def main() -> None:
    url, worker, commits = sys.argv[1], sys.argv[2], int(sys.argv[3])
    client = Client(url)
    for number in range(commits):
        tag = client.commit(f"{worker}.{number}.{uuid.uuid4()}", both=number % 3 == 0)
        sys.stdout.write(json.dumps({"tag": tag, "lost": client.lost}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
