"""Commits to real servers through a proxy that loses answers before and after the server acts; tokens that end meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import floeberg as fb
from floeberg.errors import CommitUnknown, WriteRefused
from lakes.table_data import append_rows
from servers.dropping_proxy import Faults, dropping_proxy
from servers.rest_servers import RestServer

COMMIT = "POST */tables/t"
QUICK = {"commit.status-check.num-retries": "1", "commit.retry.min-wait-ms": "1"}


@pytest.fixture
def proxied(server: RestServer) -> Iterator[tuple[fb.Catalog, Faults, fb.Catalog]]:
    """A catalog behind a proxy, the proxy's faults, and the same catalog without it."""
    parts = urlsplit(server.uri)
    with (
        dropping_proxy(f"{parts.scheme}://{parts.netloc}") as (uri, faults),
        fb.catalog("lake", type="rest", uri=server.uri, properties=server.options) as direct,
    ):
        direct.create_namespace("db")
        append_rows(direct.create_table("db.t", "id int", properties=QUICK), [{"id": 1}])
        with fb.catalog("lake", type="rest", uri=f"{uri}{parts.path}", properties=server.options) as cat:
            yield cat, faults, direct


def ids(table: fb.Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("fault", ["drop after", "500 after", "503 after", "409 after", "twice"])
def test_a_commit_that_arrived_is_found(proxied: tuple[fb.Catalog, Faults, fb.Catalog], fault: str) -> None:
    cat, faults, direct = proxied
    table = cat.load_table("db.t")
    faults.planned[COMMIT] = [fault]
    append_rows(table, [{"id": 2}])
    assert faults.planned[COMMIT] == []
    assert ids(direct.load_table("db.t")) == [1, 2]
    assert ids(table) == [1, 2]


@pytest.mark.parametrize("fault", ["drop before", "502"])
def test_a_commit_that_did_not_arrive_is_unknown_and_can_be_run_again(
    proxied: tuple[fb.Catalog, Faults, fb.Catalog], fault: str
) -> None:
    cat, faults, direct = proxied
    table = cat.load_table("db.t")
    faults.planned[COMMIT] = [fault]
    with pytest.raises(CommitUnknown, match=r"lake\.db\.t"):
        append_rows(table, [{"id": 2}])
    assert ids(direct.load_table("db.t")) == [1]
    append_rows(table, [{"id": 2}])
    assert ids(direct.load_table("db.t")) == [1, 2]


@pytest.mark.parametrize("fault", ["drop after", "503 after"])
def test_a_property_that_arrived_is_found(proxied: tuple[fb.Catalog, Faults, fb.Catalog], fault: str) -> None:
    cat, faults, direct = proxied
    table = cat.load_table("db.t")
    faults.planned[COMMIT] = [fault]
    with table.update_properties() as update:
        update.set({"found": "yes"})
    assert direct.load_table("db.t").properties["found"] == "yes"


def test_commits_of_two_writers_both_count(proxied: tuple[fb.Catalog, Faults, fb.Catalog]) -> None:
    cat, _, direct = proxied
    table = cat.load_table("db.t")
    with table.transaction() as tx:
        append_rows(direct.load_table("db.t"), [{"id": 2}])
        tx.append(table.scan().to_arrow())
    assert ids(table) == [1, 1, 2]


def test_a_server_that_is_gone_refuses(proxied: tuple[fb.Catalog, Faults, fb.Catalog], server: RestServer) -> None:
    cat, _, direct = proxied
    with dropping_proxy("http://127.0.0.1:1") as (uri, _):
        gone = uri
    table = cat.load_table("db.t")
    table._pointer._session.client._uri = gone  # type: ignore[attr-defined]
    with pytest.raises((WriteRefused, fb.errors.Unavailable)), table.update_properties() as update:
        update.set({"a": "b"})
    assert "a" not in direct.load_table("db.t").properties


def test_a_token_that_ends_in_the_middle_is_renewed_at_the_servers_own_endpoint(server: RestServer) -> None:
    if server.kind != "java":
        pytest.skip("only the Java reference server has a token endpoint")
    with dropping_proxy(server.uri) as (uri, faults):
        options = {**server.options, "credential": "me:secret", "oauth2-server-uri": "v1/oauth/tokens"}
        cat = fb.catalog("lake", type="rest", uri=uri, properties=options)
        cat.create_namespace("db")
        table = cat.create_table("db.t", "id int")
        before = [step for step in faults.seen if step.endswith("/tokens")]
        for status in ("401", "419"):
            faults.planned[COMMIT] = [status]
            append_rows(table, [{"id": 1}])
        assert ids(table) == [1, 1]
        assert len([step for step in faults.seen if step.endswith("/tokens")]) == len(before) + 2
        cat.close()
