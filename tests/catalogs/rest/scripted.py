"""A REST catalog in this process, behind httpx's transport: it does what the protocol says, and answers as a script says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import httpx

from floeberg.catalogs.rest.catalog import RestCatalog, open_rest_catalog
from floeberg.effects.protocols import Effects
from floeberg.effects.system import SystemClock, SystemIds, SystemRng
from floeberg.errors import CommitConflict, FloebergError
from floeberg.spec.changes.requirements import check_requirements, requirement_from_json
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates_json import update_from_json
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_metadata_json import table_metadata_to_json
from floeberg.storage.registry import StoreRegistry

URI = "http://catalog.test/api"
Handler = Callable[[httpx.Request], httpx.Response]


class NoSleep:
    """Waits for nothing, and remembers for how long it was asked to."""

    def __init__(self) -> None:
        self.slept_ms: list[float] = []

    def sleep_ms(self, duration_ms: float) -> None:
        self.slept_ms.append(duration_ms)


class MovingClock(SystemClock):
    """The machine's clock, moved forward by tests."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.ahead_ms


def quick_effects() -> Effects:
    return Effects(clock=MovingClock(), ids=SystemIds(), rng=SystemRng(), sleeper=NoSleep())


def error(status: int, message: str = "scripted", type: str = "Scripted", **headers: str) -> httpx.Response:
    body = {"error": {"message": message, "type": type, "code": status}}
    return httpx.Response(status, json=body, headers=headers)


@dataclass
class ScriptedServer:
    """Tables by name. `script` maps `METHOD path` (a regular expression) to answers that come first, one a request: a status
    of an error, `lost` and `lost after` (no answer, before or after the server acted), `refused` (no connection),
    `<status> after` (it acts and answers so), or a handler. What no script covers is answered as the protocol says."""

    tables: dict[tuple[str, ...], TableMetadata] = field(default_factory=dict)
    versions: dict[tuple[str, ...], int] = field(default_factory=dict)
    namespaces: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=lambda: {"defaults": {}, "overrides": {}})
    table_config: dict[str, str] = field(default_factory=dict)
    credentials: list[dict[str, Any]] = field(default_factory=list)
    script: dict[str, list[Any]] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)
    use_tags: bool = False

    def open(self, *, effects: Effects | None = None, **options: str) -> RestCatalog:
        """A client of this server; options are written with underscores for dashes."""
        used = effects or quick_effects()
        given = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
        return open_rest_catalog(
            "lake",
            uri=URI,
            warehouse=given.pop("warehouse", None),
            options=given,
            effects=used,
            stores=StoreRegistry(used, {"local.fsync": "false"}),
            transport=httpx.MockTransport(self.handle),
        )

    def commits(self) -> list[httpx.Request]:
        return [
            one for one in self.requests if one.method == "POST" and re.search(r"/tables/[^/]+$|/commit$", one.url.path)
        ]

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = f"{request.method} {request.url.path.removeprefix('/api')}"
        for pattern, answers in self.script.items():
            if re.fullmatch(pattern, step) and answers:
                return self._scripted(answers.pop(0), request)
        return self.answer(request)

    def _scripted(self, answer: Any, request: httpx.Request) -> httpx.Response:
        if callable(answer):
            return answer(request)
        text = str(answer)
        if text.endswith("after"):
            self.answer(request)
        if text.startswith("lost"):
            raise httpx.ReadError("scripted loss", request=request)
        if text == "refused":
            raise httpx.ConnectError("scripted refusal", request=request)
        return error(int(text.split()[0]))

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = [
            unquote(one) for one in request.url.raw_path.decode().partition("?")[0].removeprefix("/api/v1/").split("/")
        ]
        body = json.loads(request.content) if request.content else {}
        match (request.method, path):
            case ("GET", ["config"]):
                return httpx.Response(200, json=self.config)
            case ("POST", ["transactions", "commit"]):
                return self._commit(
                    [((*c["identifier"]["namespace"], c["identifier"]["name"]), c) for c in body["table-changes"]]
                )
            case (_, ["namespaces", namespace]):
                found = self.namespaces.get(tuple(namespace.split("\x1f")))
                return (
                    error(404, "no namespace", "NoSuchNamespaceException")
                    if found is None
                    else _ok({"properties": found})
                )
            case ("POST", ["namespaces", namespace, "tables"]):
                return self._create((*namespace.split("\x1f"), body["name"]), body)
            case ("GET" | "HEAD", ["namespaces", namespace, "tables", name]):
                return self._load((*namespace.split("\x1f"), name), request)
            case ("POST", ["namespaces", namespace, "tables", name]):
                return self._commit([((*namespace.split("\x1f"), name), body)])
            case ("GET", ["namespaces", namespace, "tables", name, "credentials"]):
                return _ok({"storage-credentials": self.credentials})
            case ("POST", ["namespaces", _, "tables", _, "metrics"]):
                return httpx.Response(204)
        return error(404, f"no such route {path}", "NoSuchRoute")

    def put(self, name: tuple[str, ...], metadata: TableMetadata) -> None:
        self.tables[name] = metadata
        self.versions[name] = self.versions.get(name, -1) + 1

    def location_of(self, name: tuple[str, ...]) -> str:
        return f"{self.tables[name].location}/metadata/{self.versions[name]:05d}.metadata.json"

    def _result(self, name: tuple[str, ...], *, only_refs: bool = False) -> dict[str, Any]:
        document = dict(table_metadata_to_json(self.tables[name]))
        if only_refs:
            kept = {ref.snapshot_id for ref in self.tables[name].refs.values()}
            document["snapshots"] = [one for one in self.tables[name].snapshots.documents if one["snapshot-id"] in kept]
        # As servers do, what they hold is written in their own way.
        document["properties"] = {**self.tables[name].properties, "server.note": "own"}
        return {
            "metadata-location": self.location_of(name),
            "metadata": document,
            "config": self.table_config,
            "storage-credentials": self.credentials,
        }

    def _load(self, name: tuple[str, ...], request: httpx.Request) -> httpx.Response:
        if name not in self.tables:
            return error(404, "no table", "NoSuchTableException")
        tag = f'"{self.versions[name]}"'
        if self.use_tags and request.headers.get("if-none-match") == tag:
            return httpx.Response(304)
        headers = {"etag": tag} if self.use_tags else {}
        only_refs = request.url.params.get("snapshots") == "refs"
        return httpx.Response(200, json=self._result(name, only_refs=only_refs), headers=headers)

    def _create(self, name: tuple[str, ...], body: dict[str, Any]) -> httpx.Response:
        if name in self.tables:
            return error(409, "Table already exists", "AlreadyExistsException")
        raise AssertionError("tests make their tables by put")

    def _commit(self, changes: list[tuple[tuple[str, ...], dict[str, Any]]]) -> httpx.Response:
        done: dict[tuple[str, ...], TableMetadata] = {}
        try:
            for name, change in changes:
                base = self.tables.get(name)
                check_requirements([requirement_from_json(one) for one in change["requirements"]], base)
                updates = [update_from_json(one) for one in change["updates"]]
                where = None if base is None else self.location_of(name)
                done[name] = apply_updates(base, updates, now_ms=SystemClock().now_ms(), base_metadata_location=where)
        except CommitConflict as conflict:
            return error(409, str(conflict), "CommitFailedException")
        except FloebergError as refused:
            return error(400, str(refused), "ValidationException")
        for name, metadata in done.items():
            self.put(name, metadata)
        return _ok(self._result(changes[0][0])) if len(changes) == 1 else httpx.Response(204)


def _ok(body: Any) -> httpx.Response:
    return httpx.Response(200, json=body)
