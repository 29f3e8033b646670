"""Commits over several tables through the protocol."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from floeberg.catalogs.sql import SqlRows
from floeberg.errors import Unavailable
from server.test_rest_commits import append_request
from servers.rest_lake import RestLake

AT = "/v1/lake/transactions/commit"


def change(lake: RestLake, name: str) -> dict[str, Any]:
    return {"identifier": {"namespace": ["db"], "name": name}, **append_request(lake, f"db.{name}")}


def counts(lake: RestLake) -> list[int]:
    return [len(lake.catalog.load_table(f"db.{name}").snapshots) for name in ("a", "b")]


@pytest.fixture
def tables(sql_lake: RestLake) -> RestLake:
    sql_lake.create("a")
    sql_lake.create("b")
    return sql_lake


def test_a_transaction_changes_every_table_once_however_often_it_is_sent(tables: RestLake) -> None:
    body = {"table-changes": [change(tables, "a"), change(tables, "b")]}
    for _ in range(2):
        answer = tables.client.post(AT, json=body)
        assert answer.status_code == 204, answer.text
        assert counts(tables) == [1, 1]


def test_a_conflict_in_one_table_changes_none(tables: RestLake) -> None:
    body = {"table-changes": [change(tables, "a"), change(tables, "b")]}
    tables.catalog.load_table("db.b").append(pa.table({"id": [1], "s": ["x"]}))
    answer = tables.client.post(AT, json=body)
    assert (answer.status_code, answer.json()["error"]["type"]) == (409, "CommitFailedException")
    assert counts(tables) == [0, 1]


@pytest.mark.parametrize("moves", [False, True])
def test_a_table_that_is_only_required_to_stay_takes_part_in_the_swap(
    tables: RestLake, monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    real, moved = SqlRows.swap_all, []

    def late(self: SqlRows, swaps: object) -> bool:
        if moves and not moved:
            moved.append(tables.catalog.load_table("db.b").append(pa.table({"id": [1], "s": ["x"]})))
        return real(self, swaps)  # type: ignore[arg-type]

    monkeypatch.setattr(SqlRows, "swap_all", late)
    held = {
        "identifier": {"namespace": ["db"], "name": "b"},
        "requirements": [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None}],
        "updates": [],
    }
    answer = tables.client.post(AT, json={"table-changes": [change(tables, "a"), held]})
    assert answer.status_code == (409 if moves else 204), answer.text
    assert counts(tables) == ([0, 1] if moves else [1, 0])


def test_a_transaction_creates_a_table_beside_changing_another(tables: RestLake) -> None:
    staged = tables.create("c", **{"stage-create": True})["metadata"]
    updates = [
        {"action": "assign-uuid", "uuid": staged["table-uuid"]},
        {"action": "add-schema", "schema": staged["schemas"][0]},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"fields": []}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
    ]
    new = {
        "identifier": {"namespace": ["db"], "name": "c"},
        "requirements": [{"type": "assert-create"}],
        "updates": updates,
    }
    answer = tables.client.post(AT, json={"table-changes": [change(tables, "a"), new]})
    assert answer.status_code == 204, answer.text
    assert tables.catalog.table_exists("db.c")
    again = tables.client.post(AT, json={"table-changes": [change(tables, "b"), new]})
    assert again.status_code == 409
    assert counts(tables) == [1, 0]


def test_a_lost_answer_of_the_database_is_no_conflict(tables: RestLake, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"table-changes": [change(tables, "a"), change(tables, "b")]}

    def lost(self: SqlRows, swaps: object) -> bool:
        raise Unavailable("the answer to COMMIT was lost")

    monkeypatch.setattr(SqlRows, "swap_all", lost)
    answer = tables.client.post(AT, json=body)
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "CommitStateUnknownException")


def test_a_transaction_without_tables_or_with_one_twice_is_refused(tables: RestLake) -> None:
    for changes in ([], [change(tables, "a"), change(tables, "a")], [{"requirements": [], "updates": []}]):
        assert tables.client.post(AT, json={"table-changes": changes}).status_code == 400
    missing = {"identifier": {"namespace": ["db"], "name": "none"}, "requirements": [], "updates": []}
    answer = tables.client.post(AT, json={"table-changes": [missing, change(tables, "a")]})
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NoSuchTableException")
    assert counts(tables) == [0, 0]


def test_a_catalog_that_cannot_says_so_and_does_not_offer_it(lake: RestLake) -> None:
    lake.create("a")
    lake.create("b")
    offered = lake.client.get("/v1/config").json()["endpoints"]
    can = lake.catalog._backend.capabilities.several_tables
    assert ("POST /v1/{prefix}/transactions/commit" in offered) == can
    answer = lake.client.post(AT, json={"table-changes": [change(lake, "a"), change(lake, "b")]})
    assert answer.status_code == (204 if can else 406), answer.text
    assert counts(lake) == ([1, 1] if can else [0, 0])
