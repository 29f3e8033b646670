"""Commits through the protocol: what holds, what conflicts, and what nobody knows."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa
import pytest

from floeberg.commit.append import Append
from floeberg.commit.commit import _replay
from floeberg.commit.workspace import Workspace
from floeberg.errors import CommitConflict, CommitUnknown, Unavailable
from floeberg.spec.changes.requirements import requirements_for
from floeberg.spec.changes.updates import AddSnapshot, SetSnapshotRef
from floeberg.spec.changes.updates_json import updates_to_json
from floeberg.spec.snapshots.refs import SnapshotRef
from servers.rest_lake import TABLES, RestLake

T = f"{TABLES}/t"
ROWS = pa.table({"id": [1], "s": ["a"]})


def error_of(answer) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["type"]


def append_request(lake: RestLake, name: str = "db.t") -> dict[str, Any]:
    """A commit that appends a snapshot without files, planned on the table as it is."""
    table = lake.catalog.load_table(name)
    workspace = Workspace(table._pointer)
    planned, _ = _replay(table._state, [Append(files=[])], workspace)
    snapshot = planned.current_snapshot
    updates = [AddSnapshot(snapshot), SetSnapshotRef("main", SnapshotRef(snapshot_id=snapshot.snapshot_id))]
    requirements = requirements_for(table.metadata, updates)
    return {"requirements": [one.to_json() for one in requirements], "updates": updates_to_json(updates)}


def test_a_commit_that_holds_takes_effect_once_however_often_it_is_sent(lake: RestLake) -> None:
    lake.create()
    request = append_request(lake)
    first = lake.client.post(T, json=request)
    assert first.status_code == 200, first.text
    again = lake.client.post(T, json=request)
    assert again.status_code == 200
    assert again.json()["metadata-location"] == first.json()["metadata-location"]
    lake.catalog.load_table("db.t").append(ROWS)
    assert lake.client.post(T, json=request).status_code == 200
    assert len(lake.catalog.load_table("db.t").snapshots) == 2


def test_what_was_planned_on_an_older_state_conflicts_and_changes_nothing(lake: RestLake) -> None:
    lake.create()
    request = append_request(lake)
    lake.catalog.load_table("db.t").append(ROWS)
    before = lake.catalog.load_table("db.t").metadata_location
    assert error_of(lake.client.post(T, json=request)) == (409, "CommitFailedException")
    assert lake.catalog.load_table("db.t").metadata_location == before


@pytest.mark.parametrize(("version", "field"), [("2", "sequence-number"), ("3", "first-row-id")])
def test_stale_numbers_conflict_even_if_every_requirement_holds(lake: RestLake, version: str, field: str) -> None:
    lake.create(properties={"format-version": version})
    lake.catalog.load_table("db.t").append(ROWS)
    request = append_request(lake)
    snapshot = request["updates"][0]["snapshot"]
    snapshot[field] = 0
    answer = lake.client.post(T, json=request)
    assert error_of(answer) == (409, "CommitFailedException")
    assert len(lake.catalog.load_table("db.t").snapshots) == 1


@pytest.mark.parametrize("field", ["sequence-number", "first-row-id", "added-rows"])
def test_a_commit_cannot_use_up_the_numbers_of_all_later_ones(lake: RestLake, field: str) -> None:
    lake.create(properties={"format-version": "3"})
    request = append_request(lake)
    for number in (2**63 - 1, 2**62):
        request["updates"][0]["snapshot"][field] = number
        answer = lake.client.post(T, json=request)
        assert error_of(answer) == (400, "BadRequestException")
        assert "far ahead" in answer.json()["error"]["message"]
    lake.catalog.load_table("db.t").append(ROWS)
    assert lake.catalog.load_table("db.t").scan().count() == 1


def test_commits_to_other_branches_do_not_conflict(lake: RestLake) -> None:
    lake.create()
    table = lake.catalog.load_table("db.t")
    table.append(ROWS)
    uuid = {"type": "assert-table-uuid", "uuid": table.metadata.table_uuid}
    update = {"action": "set-properties", "updates": {"a": "1"}}
    table.append(ROWS)
    assert lake.client.post(T, json={"requirements": [uuid], "updates": [update]}).status_code == 200
    assert lake.catalog.load_table("db.t").properties["a"] == "1"


@pytest.mark.parametrize(
    "body",
    [
        {"requirements": [{"type": "assert-moon-phase"}], "updates": []},
        {"requirements": [], "updates": [{"action": "burn"}]},
        {
            "requirements": [],
            "updates": [{"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 5}],
        },
        {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": 3}}]},
        {"requirements": 3, "updates": []},
        {"requirements": [{"type": "assert-create"}, {"type": "assert-table-uuid", "uuid": "x"}], "updates": []},
    ],
)
def test_an_unknown_or_wrong_change_is_refused_whole(lake: RestLake, body: dict[str, object]) -> None:
    before = lake.create()["metadata-location"]
    answer = lake.client.post(T, json=body)
    assert answer.status_code == 400, answer.text
    assert lake.catalog.load_table("db.t").metadata_location == before


def test_an_unknown_table_cannot_be_committed_to(lake: RestLake) -> None:
    assert error_of(lake.client.post(T, json={"requirements": [], "updates": []})) == (404, "NoSuchTableException")


def test_an_unknown_outcome_is_no_conflict(lake: RestLake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create()
    request = append_request(lake)
    pointer = type(lake.catalog.load_table("db.t")._pointer)

    def lost(self, base, new):
        raise CommitUnknown("the database did not say")

    monkeypatch.setattr(pointer, "swap", lost)
    assert error_of(lake.client.post(T, json=request)) == (500, "CommitStateUnknownException")

    def broken(self, base, new):
        raise RuntimeError("a fault with password=sentinel")

    monkeypatch.setattr(pointer, "swap", broken)
    answer = lake.client.post(T, json=request)
    assert error_of(answer) == (500, "CommitStateUnknownException")
    assert "sentinel" not in answer.text

    def away(self):
        raise Unavailable("the store is away")

    monkeypatch.setattr(pointer, "refresh", away)
    answer = lake.client.post(T, json=request)
    assert error_of(answer) == (503, "ServiceUnavailableException")
    assert answer.headers["retry-after"]


def test_a_swap_that_lost_to_another_is_tried_again_while_the_requirements_hold(
    lake: RestLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.create()
    pointer = type(lake.catalog.load_table("db.t")._pointer)
    real, lost = pointer.swap, []

    def swap(self, base, new):
        if len(lost) < 2:
            lost.append(1)
            raise CommitConflict("another was quicker")
        return real(self, base, new)

    monkeypatch.setattr(pointer, "swap", swap)
    assert lake.client.post(T, json=append_request(lake)).status_code == 200
    assert len(lost) == 2


def test_commits_of_many_clients_at_once_are_all_there(sql_lake: RestLake) -> None:
    sql_lake.create()
    failures: list[str] = []

    def work(number: int) -> None:
        update = {"action": "set-properties", "updates": {f"p{number}": "1"}}
        answer = sql_lake.client.post(T, json={"requirements": [], "updates": [update]})
        if answer.status_code != 200:
            failures.append(answer.text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(sql_lake.catalog.load_table("db.t").properties) == 6
