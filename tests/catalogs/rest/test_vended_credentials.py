"""Credentials that a server vends: by prefix, renewed before they end, and never the user's for the server's endpoint."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

import floeberg as fb
from catalogs.rest.scripted import ScriptedServer, quick_effects
from floeberg.api.catalog import Catalog
from floeberg.catalogs.rest import endpoints as e
from floeberg.errors import StorageError, UnsupportedFeature
from floeberg.spark.workers.stores import worker_stores
from floeberg.storage.prefixed import StoreOptions, combined
from floeberg.storage.secret import Secret
from servers.ending_s3 import ending_s3
from servers.s3_server import running_s3_server


def credential(prefix: str, key: str, *, ends_ms: int | None = None) -> dict:
    config = {"s3.access-key-id": key, "s3.secret-access-key": f"secret-{key}", "s3.session-token": f"session-{key}"}
    if ends_ms is not None:
        config["s3.session-token-expires-at-ms"] = str(ends_ms)
    return {"prefix": prefix, "config": config}


def key_for(table, location: str) -> object:
    options = table._pointer.stores.store_options
    prefix = options.prefix_of(location)
    return (options.everywhere if prefix is None else options.below[prefix]).get("s3.access-key-id")


def test_the_longest_prefix_decides(server: ScriptedServer) -> None:
    server.credentials = [credential("s3://b", "wide"), credential("s3://b/db/t", "narrow")]
    table = Catalog(server.open(s3__access_key_id="own", s3__secret_access_key="x")).load_table("db.t")
    assert key_for(table, "s3://b/db/t/data/x.parquet") == "narrow"
    assert key_for(table, "s3a://b/db/t/data/x.parquet") == "narrow"
    assert key_for(table, "s3://b/db/t2/data/x.parquet") == "wide"
    assert key_for(table, "s3://bb/x") == "own"
    assert StoreOptions({}, {"s3": {}}).prefix_of("s3a://any/thing") == "s3"


def test_credentials_are_renewed_before_they_end(server: ScriptedServer) -> None:
    effects = quick_effects()
    server.credentials = [credential("s3://b", "old", ends_ms=effects.clock.now_ms() + 3_600_000)]
    table = Catalog(server.open(effects=effects)).load_table("db.t")
    store = table._pointer.stores.for_location("s3://b/x")
    server.credentials = [credential("s3://b", "new", ends_ms=effects.clock.now_ms() + 7_200_000)]
    assert key_for(table, "s3://b/x") == "old"
    effects.clock.ahead_ms = 3_400_000  # type: ignore[attr-defined]
    assert key_for(table, "s3://b/x") == "new"
    assert server.requests[-1].url.params["snapshots"] == "refs"
    assert "ObjectStore" in repr(store._now("s3://b/x").inner)  # type: ignore[attr-defined]


def test_credentials_come_from_their_endpoint_where_there_is_one(server: ScriptedServer) -> None:
    effects = quick_effects()
    server.config["endpoints"] = [e.LOAD_TABLE, e.LOAD_CREDENTIALS]
    server.credentials = [credential("s3://b", "old", ends_ms=effects.clock.now_ms() + 60_000)]
    table = Catalog(server.open(effects=effects)).load_table("db.t")
    server.credentials = [credential("s3://b", "new")]
    effects.clock.ahead_ms = 50_000  # type: ignore[attr-defined]
    assert key_for(table, "s3://b/x") == "new"
    assert server.requests[-1].url.path.endswith("/tables/t/credentials")


def test_workers_get_them_and_texts_do_not(server: ScriptedServer) -> None:
    server.credentials = [credential("s3://b/db/t", "vended")]
    table = Catalog(server.open()).load_table("db.t")
    recipe = worker_stores(table._pointer.stores, location="s3://b/db/t")
    assert "vended" not in repr(recipe) + repr(table._pointer.stores)
    travelled = pickle.loads(pickle.dumps(recipe))
    options = travelled.store_options
    assert options.below["s3://b/db/t"]["s3.session-token"] == "session-vended"
    assert travelled.for_location("s3://b/db/t/x") is not travelled.for_location("file:///x")


def test_credentials_come_whole_from_one_side() -> None:
    own = {
        "s3.endpoint": "http://mine",
        "s3.access-key-id": "own",
        "s3.secret-access-key": Secret("x"),
        "s3.region": "r",
    }
    vended = {
        "s3.endpoint": "http://theirs",
        "s3.access-key-id": "v",
        "s3.session-token": Secret("t"),
        "unknown.x": "1",
    }
    assert combined(own, vended) == {
        "s3.endpoint": "http://theirs", "s3.access-key-id": "v", "s3.session-token": Secret("t"), "s3.region": "r",
    }  # fmt: skip
    assert combined(own, {"s3.endpoint": "http://theirs", "s3.region": "q"}) == {**own, "s3.region": "q"}
    assert combined({}, {"s3.endpoint": "http://theirs"}) == {"s3.endpoint": "http://theirs"}


def test_signing_by_the_server_is_a_clear_error(server: ScriptedServer) -> None:
    server.table_config = {"s3.remote-signing-enabled": "true"}
    with pytest.raises(UnsupportedFeature, match="remote signing"):
        Catalog(server.open()).load_table("db.t")
    own = Catalog(server.open(s3__access_key_id="a", s3__secret_access_key="b"))
    assert own.load_table("db.t").name == "lake.db.t"


@pytest.mark.s3
def test_a_worker_whose_credentials_have_ended_says_so_and_the_catalogs_stores_go_on(server: ScriptedServer) -> None:
    effects = quick_effects()
    with running_s3_server() as s3, ending_s3(s3.endpoint) as (endpoint, ended):
        bucket = s3.new_bucket()
        made = fb.catalog("made", warehouse=f"s3://{bucket}/wh", properties=s3.options())
        made.create_namespace("db")
        table = made.create_table("db.t", "id bigint")
        table.append(pa.table({"id": [1]}))
        file = next(iter(table.scan().plan())).data_file.file_path
        server.put(("db", "t"), table.metadata)

        def vend(key: str, ends_ms: int) -> None:
            one = credential(f"s3://{bucket}/wh/", key, ends_ms=ends_ms)
            server.credentials = [{**one, "config": {**s3.options(endpoint), **one["config"]}}]

        vend("old", effects.clock.now_ms() + 3_600_000)
        loaded = Catalog(server.open(effects=effects)).load_table("db.t")
        worker = pickle.loads(pickle.dumps(worker_stores(loaded._pointer.stores, location=file))).for_location(file)
        assert worker.size(file) == loaded._pointer.store_for(file).size(file)
        ended.add("session-old")
        vend("new", effects.clock.now_ms() + 7_200_000)
        effects.clock.ahead_ms = 3_400_000  # type: ignore[attr-defined]
        for call in (worker.size, worker.read):
            with pytest.raises(StorageError, match=r"vended for it end at 20\d\d-.*run it again") as refused:
                call(file)
            assert "secret-old" not in str(refused.value)
            assert not refused.value.retryable
        assert loaded._pointer.store_for(file).size(file) > 0
