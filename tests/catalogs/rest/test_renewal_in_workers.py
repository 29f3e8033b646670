"""Credentials that end are renewed where they are used: in the catalog's process and in Spark's workers."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from catalogs.rest.over_http import over_http
from catalogs.rest.scripted import ScriptedServer, quick_effects
from floeberg.api.catalog import Catalog
from floeberg.catalogs.rest import endpoints as e
from floeberg.catalogs.rest.catalog import open_rest_catalog
from floeberg.effects.protocols import Effects
from floeberg.errors import CatalogError
from floeberg.spark.workers import stores as in_worker
from floeberg.spark.workers.stores import WorkerStores, worker_stores
from floeberg.storage.registry import StoreRegistry
from floeberg.storage.secret import Secret

TOKEN = "catalog-5ecret-0123456789"
HOUR_MS = 3_600_000
PLACE = "s3://b/db/t/x.parquet"


@pytest.fixture
def effects(monkeypatch: pytest.MonkeyPatch) -> Effects:
    """The clock of this process and of workers."""
    made = quick_effects()
    monkeypatch.setattr(in_worker, "system_effects", lambda: made)
    in_worker._RENEWED.clear()
    return made


@pytest.fixture
def uri(server: ScriptedServer) -> Iterator[str]:
    with over_http(server) as address:
        yield address


def vend(server: ScriptedServer, key: str, *, ends_ms: int, in_config: bool = False) -> None:
    config = {
        "s3.access-key-id": key,
        "s3.secret-access-key": f"5ecret-{key}",
        "s3.session-token": f"5ecret-session-{key}",
        "s3.session-token-expires-at-ms": str(ends_ms),
    }
    server.credentials = [{"prefix": "s3://b", "config": config}]
    server.table_config = config if in_config else {}


def sent(uri: str, effects: Effects, **options: str | Secret) -> WorkerStores:
    """What travels with a task."""
    given = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    stores = StoreRegistry(effects, {})
    catalog = open_rest_catalog("lake", uri=uri, warehouse=None, options=given, effects=effects, stores=stores)
    with Catalog(catalog) as lake:
        return worker_stores(lake.load_table("db.t")._pointer.stores, location=PLACE)


def arrived(recipe: WorkerStores) -> WorkerStores:
    result = pickle.loads(pickle.dumps(recipe))
    assert isinstance(result, WorkerStores)
    return result


def key_in(worker: WorkerStores) -> str:
    """Whose credentials the worker uses for a file now."""
    worker.for_location(PLACE)
    stores: Any = worker._stores
    return str(stores.store_options.below["s3://b"]["s3.access-key-id"])


@pytest.mark.parametrize("offers_endpoint", [True, False])
def test_a_worker_asks_for_fresh_credentials_before_its_own_end(
    server: ScriptedServer, uri: str, effects: Any, offers_endpoint: bool
) -> None:
    if offers_endpoint:
        server.config["endpoints"] = [e.LOAD_TABLE, e.LOAD_CREDENTIALS]
    vend(server, "old", ends_ms=effects.clock.now_ms() + HOUR_MS)
    recipe = sent(uri, effects, token=TOKEN)
    worker, idle = arrived(recipe), arrived(recipe)
    vend(server, "new", ends_ms=effects.clock.now_ms() + 2 * HOUR_MS)
    asked = len(server.requests)
    assert key_in(worker) == "old"
    assert len(server.requests) == asked
    effects.clock.ahead_ms = HOUR_MS - 4 * 60_000
    assert key_in(worker) == key_in(worker) == "new"
    assert key_in(idle) == "new", "another task of the process need not ask again"
    assert len(server.requests) == asked + 1
    request = server.requests[-1]
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["x-iceberg-access-delegation"] == "vended-credentials"
    assert request.url.path.endswith("/tables/t/credentials" if offers_endpoint else "/tables/t")
    assert "5ecret" not in repr(recipe) + repr(worker) + repr(worker._source) + repr(worker._stores)


def test_a_catalogs_credential_travels_by_its_name_where_it_has_one(
    server: ScriptedServer, uri: str, effects: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE_TOKEN", TOKEN)
    vend(server, "old", ends_ms=effects.clock.now_ms() + HOUR_MS)
    recipe = sent(uri, effects, token=Secret.from_env("LAKE_TOKEN"))
    assert TOKEN.encode() not in pickle.dumps(recipe)
    worker, late = arrived(recipe), arrived(recipe)
    vend(server, "new", ends_ms=effects.clock.now_ms() + 2 * HOUR_MS)
    effects.clock.ahead_ms = HOUR_MS
    assert key_in(worker) == "new"
    assert server.requests[-1].headers["authorization"] == f"Bearer {TOKEN}"
    in_worker._RENEWED.clear()
    monkeypatch.delenv("LAKE_TOKEN")
    with pytest.raises(
        CatalogError, match=r"table lake.db.t: .* ended at 20\d\d-.*LAKE_TOKEN.* is not set in this process"
    ):
        key_in(late)


def test_a_worker_gets_a_token_of_its_own_for_client_credentials(
    server: ScriptedServer, uri: str, effects: Any
) -> None:
    tokens = [httpx.Response(200, json={"access_token": f"5ecret-{n}", "expires_in": 3600}) for n in range(2)]
    server.script["POST /v1/oauth/tokens"] = [lambda _, one=one: one for one in tokens]
    vend(server, "old", ends_ms=effects.clock.now_ms() + HOUR_MS)
    worker = arrived(sent(uri, effects, credential=f"id:{TOKEN}"))
    vend(server, "new", ends_ms=effects.clock.now_ms() + 2 * HOUR_MS)
    effects.clock.ahead_ms = HOUR_MS
    assert key_in(worker) == "new"
    assert server.requests[-1].headers["authorization"] == "Bearer 5ecret-1"


def test_a_worker_goes_on_from_the_token_that_the_catalog_holds_now(
    server: ScriptedServer, uri: str, effects: Any
) -> None:
    exchanged = httpx.Response(200, json={"access_token": "5ecret-exchanged", "expires_in": 36000})
    server.script = {"GET /v1/config": [401], "POST /v1/oauth/tokens": [lambda _: exchanged]}
    vend(server, "old", ends_ms=effects.clock.now_ms() + HOUR_MS)
    worker = arrived(sent(uri, effects, token=TOKEN, oauth2_server_uri=f"{uri}/v1/oauth/tokens"))
    vend(server, "new", ends_ms=effects.clock.now_ms() + 2 * HOUR_MS)
    effects.clock.ahead_ms = HOUR_MS
    assert key_in(worker) == "new"
    assert server.requests[-1].headers["authorization"] == "Bearer 5ecret-exchanged"


def test_nothing_of_the_catalog_travels_where_credentials_do_not_end_or_renewal_is_off(
    server: ScriptedServer, uri: str, effects: Any
) -> None:
    server.credentials = [{"prefix": "s3://b", "config": {"s3.access-key-id": "k", "s3.secret-access-key": "s"}}]
    assert TOKEN.encode() not in pickle.dumps(sent(uri, effects, token=TOKEN))
    vend(server, "old", ends_ms=effects.clock.now_ms() + HOUR_MS)
    recipe = sent(uri, effects, token=TOKEN, client__refresh_credentials_enabled="false")
    assert TOKEN.encode() not in pickle.dumps(recipe)
    effects.clock.ahead_ms = HOUR_MS
    asked = len(server.requests)
    assert key_in(arrived(recipe)) == "old"
    assert len(server.requests) == asked


def test_a_worker_goes_on_with_what_it_has_and_says_at_the_end_why_there_is_nothing_new(
    server: ScriptedServer, uri: str, effects: Any, caplog: pytest.LogCaptureFixture
) -> None:
    vend(server, "old", ends_ms=effects.clock.now_ms() + HOUR_MS)
    worker = arrived(sent(uri, effects, token=TOKEN))
    store = worker.for_location(PLACE)
    path = "GET /v1/namespaces/db/tables/t"
    elsewhere = httpx.Response(307, headers={"Location": "http://127.0.0.1:9/elsewhere"})
    server.script[path] = [403, lambda _: elsewhere]
    effects.clock.ahead_ms = HOUR_MS - 4 * 60_000
    with caplog.at_level(logging.WARNING):
        assert key_in(worker) == key_in(worker) == "old"
    assert len(caplog.records) == 1
    assert "cannot be renewed yet" in caplog.text
    effects.clock.ahead_ms = HOUR_MS
    with pytest.raises(CatalogError, match=r"ended at 20\d\d-.* cannot be renewed: .*307.*run it again") as told:
        store.size(PLACE)
    assert "5ecret" not in caplog.text + str(told.value)
    assert server.script[path] == []
    vend(server, "past", ends_ms=effects.clock.now_ms() - 1)
    with pytest.raises(CatalogError, match="the server vends credentials that have ended"):
        store.size(PLACE)


def test_credentials_that_last_a_short_time_are_not_asked_for_at_each_call(
    server: ScriptedServer, uri: str, effects: Any
) -> None:
    vend(server, "old", ends_ms=effects.clock.now_ms() + 60_000)
    recipe = sent(uri, effects)
    asked = len(server.requests)
    worker = arrived(recipe)
    for _ in range(3):
        assert key_in(worker) == "old"
    assert len(server.requests) == asked
    vend(server, "new", ends_ms=effects.clock.now_ms() + 120_000)
    effects.clock.ahead_ms = 50_000
    assert key_in(worker) == "new"


def test_a_task_that_comes_late_does_not_begin_with_credentials_that_are_about_to_end(
    server: ScriptedServer, uri: str, effects: Any
) -> None:
    vend(server, "old", ends_ms=effects.clock.now_ms() + HOUR_MS)
    recipe = sent(uri, effects)
    vend(server, "new", ends_ms=effects.clock.now_ms() + 2 * HOUR_MS)
    effects.clock.ahead_ms = HOUR_MS - 60_000
    assert key_in(arrived(recipe)) == "new"


def test_tasks_of_a_process_do_not_ask_one_by_one_where_a_server_gives_the_same_or_fails(
    server: ScriptedServer, uri: str, effects: Any
) -> None:
    vend(server, "old", ends_ms=effects.clock.now_ms() + HOUR_MS)
    recipe = sent(uri, effects)
    asked = len(server.requests)
    effects.clock.ahead_ms = HOUR_MS - 4 * 60_000
    server.script["GET /v1/namespaces/db/tables/t"] = [403]
    for _ in range(3):
        assert key_in(arrived(recipe)) == "old"
    assert len(server.requests) == asked + 1
    effects.clock.ahead_ms += 60_000
    for _ in range(3):
        assert key_in(arrived(recipe)) == "old", "the server has kept what it gave first"
    assert len(server.requests) == asked + 2
    vend(server, "new", ends_ms=effects.clock.now_ms() + HOUR_MS)
    effects.clock.ahead_ms = HOUR_MS
    for _ in range(3):
        assert key_in(arrived(recipe)) == "new"
    assert len(server.requests) == asked + 3


@pytest.mark.parametrize("offers_endpoint", [True, False])
def test_a_server_that_vends_nothing_any_more_leaves_what_there_is_until_it_ends(
    server: ScriptedServer, uri: str, effects: Any, offers_endpoint: bool
) -> None:
    if offers_endpoint:
        server.config["endpoints"] = [e.LOAD_TABLE, e.LOAD_CREDENTIALS]
    vend(server, "old", ends_ms=effects.clock.now_ms() + HOUR_MS)
    table = Catalog(server.open(effects=effects)).load_table("db.t")
    recipe = sent(uri, effects)
    server.credentials = []
    effects.clock.ahead_ms = HOUR_MS - 4 * 60_000
    assert key_in(arrived(recipe)) == "old"
    assert table._pointer.stores.store_options.below["s3://b"]["s3.access-key-id"] == "old"  # type: ignore[attr-defined]
    effects.clock.ahead_ms = HOUR_MS
    for work in (lambda: key_in(arrived(recipe)), lambda: table._pointer.store_for(PLACE).size(PLACE)):
        with pytest.raises(CatalogError, match=r"cannot be renewed: table lake.db.t: the server vends no credentials"):
            work()


def test_a_server_that_vends_ended_credentials_takes_none_that_hold_away(
    server: ScriptedServer, uri: str, effects: Any
) -> None:
    vend(server, "old", ends_ms=effects.clock.now_ms() + HOUR_MS)
    recipe = sent(uri, effects)
    vend(server, "past", ends_ms=effects.clock.now_ms() - 1)
    effects.clock.ahead_ms = HOUR_MS - 4 * 60_000
    assert key_in(arrived(recipe)) == "old"


@pytest.mark.parametrize("end", [str(2**63 - 1), str(10**400), "never", "-1", ""])
def test_an_end_that_is_no_time_is_none(server: ScriptedServer, uri: str, effects: Any, end: str) -> None:
    vend(server, "old", ends_ms=0)
    server.credentials[0]["config"]["s3.session-token-expires-at-ms"] = end
    recipe = arrived(sent(uri, effects, token=TOKEN))
    assert recipe.store_options.ends_ms is None
    assert TOKEN.encode() not in pickle.dumps(recipe)
    assert recipe.for_location(PLACE).inner._credentials_end_ms is None  # type: ignore[attr-defined]


def test_credentials_in_the_tables_configuration_are_renewed_too(
    server: ScriptedServer, uri: str, effects: Any
) -> None:
    server.config["endpoints"] = [e.LOAD_TABLE, e.LOAD_CREDENTIALS]
    vend(server, "old", ends_ms=effects.clock.now_ms() + HOUR_MS, in_config=True)
    table = Catalog(server.open(effects=effects)).load_table("db.t")
    worker = arrived(sent(uri, effects))
    vend(server, "new", ends_ms=effects.clock.now_ms() + 3 * HOUR_MS, in_config=True)
    effects.clock.ahead_ms = HOUR_MS
    assert key_in(worker) == "new"
    for options in (worker._stores.store_options, table._pointer.stores.store_options):  # type: ignore[union-attr]
        assert options.everywhere["s3.access-key-id"] == "new"
        assert options.ends_ms is not None
        assert options.ends_ms > effects.clock.now_ms()


def test_a_worker_needs_the_http_library_only_when_it_asks(server: ScriptedServer, uri: str, effects: Any) -> None:
    vend(server, "old", ends_ms=effects.clock.now_ms() + HOUR_MS)
    recipe = pickle.dumps(sent(uri, effects, token=TOKEN))
    script = f"""
import pickle, sys
for name in ("httpx", "polars", "fastavro", "sqlalchemy"):
    sys.modules[name] = None
recipe = pickle.loads({recipe!r})
print(type(recipe.for_location("file:///x")).__name__)
try:
    recipe._source.renewed(None)
except Exception as error:
    print(type(error).__name__, error)
del sys.modules["httpx"]
from floeberg.catalogs.rest.credential_requests import renewed_options
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "UnsupportedFeature table lake.db.t: asking the catalog for fresh credentials needs httpx" in said
