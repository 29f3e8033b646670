"""Commits over several tables on real servers, through a proxy that loses their answers."""

from __future__ import annotations

from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.errors import CommitUnknown
from servers.dropping_proxy import dropping_proxy
from servers.rest_servers import RestServer

COMMIT = "POST */transactions/commit"
QUICK = {"commit.status-check.num-retries": "1", "commit.retry.min-wait-ms": "1"}


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32())})


def counts(cat: fb.Catalog) -> list[int]:
    return [cat.load_table(f"db.{name}").scan().count() for name in ("a", "b")]


@pytest.mark.parametrize("fault", [None, "drop after", "503 after", "409 after", "drop before"])
def test_two_tables_change_together_or_not_at_all(server: RestServer, fault: str | None) -> None:
    parts = urlsplit(server.uri)
    with (
        dropping_proxy(f"{parts.scheme}://{parts.netloc}") as (uri, faults),
        fb.catalog("lake", type="rest", uri=f"{uri}{parts.path}", properties=server.options) as cat,
    ):
        cat.create_namespace("db")
        for name in ("a", "b"):
            cat.create_table(f"db.{name}", "id int", properties=QUICK).append(rows(1, 2))
        faults.planned[COMMIT] = [] if fault is None else [fault]
        if fault == "drop before":
            with pytest.raises(CommitUnknown, match=r"lake\.db\.a, lake\.db\.b"):
                _change(cat)
            assert counts(cat) == [2, 2]
        _change(cat)
        assert counts(cat) == [3, 1]


def test_another_commit_that_came_first_is_built_upon(server: RestServer) -> None:
    with fb.catalog("lake", type="rest", uri=server.uri, properties=server.options) as cat:
        cat.create_namespace("db")
        for name in ("a", "b"):
            cat.create_table(f"db.{name}", "id int", properties=QUICK).append(rows(1, 2))
        with cat.transaction() as tx:
            tx.table("db.a").append(rows(3))
            tx.table("db.b").append(rows(3))
            cat.load_table("db.b").append(rows(4))
        assert counts(cat) == [3, 4]


def _change(cat: fb.Catalog) -> None:
    with cat.transaction() as tx:
        tx.table("db.a").append(rows(3))
        tx.table("db.b").delete("id = 1")
