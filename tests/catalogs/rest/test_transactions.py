"""Commits over several tables: all of them or none, whatever becomes of the answer."""

from __future__ import annotations

import json

import pytest

from catalogs.rest.scripted import ScriptedServer, error
from floeberg.api.catalog import Catalog
from floeberg.api.table import Table
from floeberg.catalogs.base import TableSwap
from floeberg.errors import CommitConflict, CommitUnknown, InvalidInput, UnsupportedFeature, WriteRefused
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates import SetProperties
from floeberg.spec.snapshots.snapshot import Snapshot
from strategies.metadata import set_branch_snapshot

COMMIT = "POST /v1/transactions/commit"


def swap(table: Table, *, snapshot: bool) -> TableSwap:
    """A change of a table: a snapshot without new files, or a property."""
    head = table.current_snapshot
    assert head is not None
    made = Snapshot(
        snapshot_id=table._pointer.effects.ids.snapshot_id(),
        parent_snapshot_id=head.snapshot_id,
        sequence_number=table.metadata.next_sequence_number,
        timestamp_ms=head.timestamp_ms + 1,
        manifest_list=f"{head.manifest_list}-{table._pointer.effects.ids.uuid()}",
        operation="append",
    )
    updates = set_branch_snapshot(made) if snapshot else (SetProperties({"a": "b"}),)
    new = apply_updates(table.metadata, updates, now_ms=head.timestamp_ms + 1)
    return TableSwap(table._pointer.key, table._state, new)


@pytest.fixture
def tables(server: ScriptedServer) -> tuple[Catalog, Table, Table]:
    cat = Catalog(server.open())
    return cat, cat.load_table("db.t"), cat.load_table("db.u")


def done(server: ScriptedServer) -> list[bool]:
    return [len(server.tables["db", name].snapshots) == 3 for name in ("t", "u")]


def run(cat: Catalog, swaps: list[TableSwap]) -> list:
    return cat._backend.swap_tables(swaps)  # type: ignore[attr-defined]


def test_all_tables_change_by_one_request(server: ScriptedServer, tables) -> None:
    cat, t, u = tables
    states = run(cat, [swap(t, snapshot=True), swap(u, snapshot=True)])
    assert done(server) == [True, True]
    assert [len(one.metadata.snapshots) for one in states] == [3, 3]
    body = json.loads(server.commits()[0].content)
    assert [one["identifier"]["name"] for one in body["table-changes"]] == ["t", "u"]
    assert all(one["requirements"][0]["type"] == "assert-table-uuid" for one in body["table-changes"])


@pytest.mark.parametrize("answer", ["lost after", "500 after", "503 after", "409 after"])
@pytest.mark.parametrize("with_property", [False, True])
def test_a_lost_answer_is_settled_by_all_tables(
    server: ScriptedServer, tables, answer: str, with_property: bool
) -> None:
    cat, t, u = tables
    if with_property and answer == "409 after":
        pytest.skip("a change without a snapshot proves nothing after a conflict: it is replayed")
    server.script[COMMIT] = [answer]
    states = run(cat, [swap(t, snapshot=True), swap(u, snapshot=not with_property)])
    assert len(states) == 2
    assert len(server.commits()) == 1


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("lost", CommitUnknown),
        ("502", CommitUnknown),
        ("409", CommitConflict),
        ("403", WriteRefused),
        ("refused", WriteRefused),
    ],
)
def test_what_did_not_happen_is_told_as_far_as_it_is_known(
    server: ScriptedServer, tables, answer: str, kind: type[Exception]
) -> None:
    cat, t, u = tables
    server.script[COMMIT] = [answer]
    with pytest.raises(kind, match=r"lake\.db\.t, lake\.db\.u"):
        run(cat, [swap(t, snapshot=True), swap(u, snapshot=True)])
    assert done(server) == [False, False]


def test_one_table_that_moved_on_holds_all_back(server: ScriptedServer, tables) -> None:
    cat, t, u = tables
    late = [swap(t, snapshot=True), swap(u, snapshot=True)]
    run(cat, [swap(u, snapshot=True), swap(cat.load_table("db.t"), snapshot=False)])
    with pytest.raises(CommitConflict):
        run(cat, late)
    assert done(server) == [False, True]


def test_a_table_that_stays_as_it_is_is_sent_with_what_must_not_have_moved(server: ScriptedServer, tables) -> None:
    cat, t, u = tables
    states = run(cat, [swap(t, snapshot=True), TableSwap(u._pointer.key, u._state, u.metadata)])
    assert done(server) == [True, False]
    assert [len(one.metadata.snapshots) for one in states] == [3, 2]
    held = json.loads(server.commits()[0].content)["table-changes"][1]
    assert held["updates"] == []
    head = {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": u.metadata.current_snapshot_id}
    assert head in held["requirements"]
    server.script[COMMIT] = ["lost after"]
    t.refresh()
    run(cat, [swap(t, snapshot=True), TableSwap(u._pointer.key, u._state, u.metadata)])
    t.refresh()
    run(cat, [swap(u, snapshot=True), swap(t, snapshot=True)])
    with pytest.raises(CommitConflict):
        run(cat, [swap(t.refresh(), snapshot=True), TableSwap(u._pointer.key, u._state, u.metadata)])
    assert len(server.tables["db", "t"].snapshots) == 5


def test_a_server_that_did_half_is_not_believed(server: ScriptedServer, tables) -> None:
    cat, t, u = tables
    parts = [swap(t, snapshot=True), swap(u, snapshot=True)]

    def half(request):
        server.put(("db", "t"), parts[0].new)
        return error(409)

    server.script[COMMIT] = [half]
    with pytest.raises(CommitUnknown, match="some of the tables show this commit"):
        run(cat, parts)


def test_what_cannot_be_one_commit_is_refused(server: ScriptedServer, tables) -> None:
    cat, t, _ = tables
    with pytest.raises(InvalidInput, match="names each of them once"):
        run(cat, [swap(t, snapshot=True), swap(t, snapshot=True)])
    server.config["endpoints"] = []
    with pytest.raises(UnsupportedFeature, match="several tables"):
        run(Catalog(server.open()), [])
