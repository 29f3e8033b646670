"""Loading: configuration, listings in pages, tags, retries, partial metadata, and what a server does not offer."""

from __future__ import annotations

import httpx
import pytest

from catalogs.rest.conftest import rows
from catalogs.rest.scripted import ScriptedServer, error, quick_effects
from floeberg.api.catalog import Catalog
from floeberg.catalogs.rest import endpoints as e
from floeberg.errors import (
    BadRequest,
    Forbidden,
    NamespaceNotFound,
    TableNotFound,
    Unauthorized,
    Unavailable,
    UnsupportedFeature,
)

TABLE = "/v1/namespaces/db/tables/t"


def test_reads_are_tried_again_as_the_server_asks(server: ScriptedServer) -> None:
    effects = quick_effects()
    cat = Catalog(server.open(effects=effects))
    server.script[f"GET {TABLE}"] = [
        lambda request: error(503, **{"retry-after": "7"}), "lost", "refused", "500",
    ]  # fmt: skip
    assert cat.load_table("db.t").name == "lake.db.t"
    assert effects.sleeper.slept_ms[0] == 7000  # type: ignore[attr-defined]
    assert len(effects.sleeper.slept_ms) == 4  # type: ignore[attr-defined]


def test_reads_end_with_the_servers_reason(server: ScriptedServer) -> None:
    cat = Catalog(server.open())
    for status, kind in (
        (503, Unavailable),
        (400, BadRequest),
        (403, Forbidden),
        (401, Unauthorized),
        (404, TableNotFound),
    ):
        server.script[f"GET {TABLE}"] = [str(status)] * 5
        with pytest.raises(kind, match=rf"table lake\.db\.t: .*scripted \(status {status}"):
            cat.load_table("db.t")
        server.script.clear()


def test_a_page_of_a_proxy_is_told_by_its_status(server: ScriptedServer) -> None:
    server.script[f"GET {TABLE}"] = [lambda request: httpx.Response(502, text="<html>bad gateway</html>")] * 5
    with pytest.raises(Unavailable, match="status 502"):
        Catalog(server.open()).load_table("db.t")
    server.script = {"GET /v1/config": [lambda request: httpx.Response(200, text="<html>login</html>")]}
    with pytest.raises(Exception, match="no JSON object"):
        server.open()


def test_what_did_not_change_is_not_sent_again(server: ScriptedServer) -> None:
    server.use_tags = True
    table = Catalog(server.open()).load_table("db.t")
    first = table.metadata
    assert table.refresh().metadata is first
    assert server.requests[-1].headers["if-none-match"] == '"0"'
    table.append(rows(3))
    assert len(table.refresh().snapshots) == 3


def test_listings_come_in_pages(server: ScriptedServer) -> None:
    names = [["a"], ["b", "c"], ["b", "d"], ["e"]]

    def page(request: httpx.Request) -> httpx.Response:
        token = request.url.params.get("pageToken")
        at = int(token or 0)
        assert request.url.params["pageSize"] == "2"
        following = str(at + 2) if at + 2 < len(names) else None
        return httpx.Response(200, json={"namespaces": names[at : at + 2], "next-page-token": following})

    server.script["GET /v1/namespaces"] = [page] * 2
    assert server.open(rest_page_size="2").list_namespaces() == [("a",), ("b",), ("e",)]


def test_partial_metadata_are_completed_when_all_snapshots_matter(server: ScriptedServer) -> None:
    options = {"snapshot_loading_mode": "refs", "rest_metrics_reporting_enabled": "false"}
    table = Catalog(server.open(**options)).load_table("db.t")
    assert server.requests[-1].url.params["snapshots"] == "refs"
    sent = len(server.requests)
    head = table.current_snapshot
    assert head is not None
    assert table.scan().to_arrow().num_rows == 2
    assert len(server.requests) == sent, "reading the current snapshot asks for no history"
    assert len(table.snapshots) == 2
    assert server.requests[-1].url.params["snapshots"] == "all"
    assert head.parent_snapshot_id is not None
    assert table.scan(snapshot_id=head.parent_snapshot_id).to_arrow().num_rows == 1
    assert len(server.requests) == sent + 1


def test_partial_metadata_do_not_take_up_what_came_later(server: ScriptedServer) -> None:
    table = Catalog(server.open(snapshot_loading_mode="refs")).load_table("db.t")
    Catalog(server.open()).load_table("db.t").append(rows(3))
    assert len(table.snapshots) == 2
    assert len(table.refresh().snapshots) == 3


def test_partial_metadata_lose_nothing_in_a_commit_or_an_expiry(server: ScriptedServer) -> None:
    table = Catalog(server.open(snapshot_loading_mode="refs")).load_table("db.t")
    table.append(rows(3))
    assert len(server.tables["db", "t"].snapshots) == 3
    again = Catalog(server.open(snapshot_loading_mode="refs")).load_table("db.t")
    again.maintenance.expire_snapshots(older_than=10**15, retain_last=2)
    assert len(server.tables["db", "t"].snapshots) == 2
    assert sorted(again.refresh().scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]


def test_what_a_server_does_not_offer_is_said_by_its_endpoint(server: ScriptedServer) -> None:
    server.config["endpoints"] = [e.LOAD_TABLE, e.LOAD_NAMESPACE]
    cat = Catalog(server.open())
    assert not cat._backend.capabilities.views
    for call in (
        lambda: cat.rename_table("db.t", "db.v"),
        lambda: cat.register_table("db.v", "/x/metadata.json"),
        lambda: cat.drop_table("db.t"),
        lambda: cat.create_namespace("n"),
        lambda: cat.update_namespace_properties("db", set={"a": "b"}),
    ):
        with pytest.raises(UnsupportedFeature, match=r"does not list (POST|DELETE) /v1/"):
            call()
    with pytest.raises(UnsupportedFeature, match="keep views"):
        cat.create_view("db.v", "SELECT 1", "a int")
    assert not cat.view_exists("db.v")
    with pytest.raises(NamespaceNotFound):
        cat.list_views("nope")


def test_names_become_paths_that_mean_nothing_else() -> None:
    from floeberg.catalogs.identifiers import Identifier
    from floeberg.errors import InvalidInput

    paths = e.Paths(prefix="ws/x")
    assert paths.table(Identifier(("a", "b"), "t")) == "v1/ws/x/namespaces/a%1Fb/tables/t"
    assert paths.table(Identifier(("..",), "..")) == "v1/ws/x/namespaces/%2E%2E/tables/%2E%2E"
    assert paths.table(Identifier(("a/b",), "x?y#z%")) == "v1/ws/x/namespaces/a%2Fb/tables/x%3Fy%23z%25"
    dotted = e.Paths(separator="%2E")
    assert dotted.namespace(("a", "b")) == "v1/namespaces/a.b"
    assert dotted.namespace(("a.x", "b")) == "v1/namespaces/a.x%1Fb"
    with pytest.raises(InvalidInput, match="separator"):
        dotted.namespace(("a.x",))
