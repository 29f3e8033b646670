"""Every outcome of a commit to a server: committed, refused, in conflict, unknown; and no file of a commit that may be there
is ever removed (hazards 1, 2, 3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from catalogs.rest.conftest import rows
from catalogs.rest.scripted import ScriptedServer, error
from floeberg.api.catalog import Catalog
from floeberg.api.table import Table
from floeberg.errors import CommitConflict, CommitUnknown, FloebergError, TableAlreadyExists, WriteRefused

COMMIT = "POST /v1/namespaces/db/tables/t"
LOAD = "GET /v1/namespaces/db/tables/t"
Open = Callable[..., Table]


def ids(table: Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def append(table: Table) -> None:
    table.append(rows(3))


def set_property(table: Table) -> None:
    with table.update_properties() as update:
        update.set({"a": "b"})


def add_column(table: Table) -> None:
    with table.update_schema() as update:
        update.add_column("x", "int")


def is_done(server: ScriptedServer, change: Callable[[Table], None]) -> bool:
    now = server.tables["db", "t"]
    if change is append:
        return len(now.snapshots) == 3
    return "a" in now.properties if change is set_property else len(now.current_schema.fields) == 3


CHANGES = [append, set_property, add_column]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "answer", ["lost after", "500 after", "502 after", "503 after", "504 after", "302 after", "408 after"]
)
def test_a_commit_whose_answer_is_lost_is_found_in_the_table(
    server: ScriptedServer, open_table: Open, change: Callable[[Table], None], answer: str
) -> None:
    table = open_table()
    server.script[COMMIT] = [answer]
    change(table)
    assert is_done(server, change)
    assert len(server.commits()) == 1
    assert 1 in ids(table)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("answer", ["lost", "500", "502", "503", "504", "301"])
def test_a_commit_that_nobody_knows_of_is_unknown_and_nothing_is_removed(
    server: ScriptedServer, open_table: Open, change: Callable[[Table], None], answer: str, tmp_path: Path
) -> None:
    table = open_table()
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    server.script[COMMIT] = [answer]
    with pytest.raises(CommitUnknown, match=r"lake\.db\.t.*Nothing was cleaned up"):
        change(table)
    assert len(server.commits()) == 1, "a commit is never sent again by itself"
    after = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert before <= after
    assert change is not append or {path.suffix for path in after - before} == {".parquet", ".avro"}


def test_a_commit_that_cannot_be_loaded_afterwards_is_unknown(server: ScriptedServer, open_table: Open) -> None:
    table = open_table()
    server.script[COMMIT] = ["lost after"]
    loads = iter(range(100))
    server.script[LOAD] = [lambda request: server.answer(request) if next(loads) < 1 else error(403)] * 10
    with pytest.raises(CommitUnknown):
        append(table)
    server.script.clear()
    assert ids(table) == [1, 2, 3]


@pytest.mark.parametrize("answer", ["400", "403", "401", "406", "422", "refused"])
def test_a_refused_commit_leaves_nothing(server: ScriptedServer, open_table: Open, answer: str, tmp_path: Path) -> None:
    table = open_table()
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    server.script[COMMIT] = [answer]
    with pytest.raises(WriteRefused, match=r"lake\.db\.t"):
        append(table)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before
    assert ids(table) == [1, 2]


@pytest.mark.parametrize("answer", ["409 after", "400 after", "404 after", "412 after"])
def test_a_conflict_with_ourselves_is_a_success(server: ScriptedServer, open_table: Open, answer: str) -> None:
    """A proxy that sends a commit again reports the conflict of the second with the first."""
    table = open_table()
    server.script[COMMIT] = [answer]
    append(table)
    assert ids(table) == [1, 2, 3]
    assert len(server.commits()) == 1


@pytest.mark.parametrize("answer", ["409", "429"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_conflict_is_replayed_on_what_came_first(
    server: ScriptedServer, open_table: Open, change: Callable[[Table], None], answer: str
) -> None:
    table, theirs = open_table(), open_table()

    def comes_first(request):
        server.script.clear()
        theirs.append(rows(9))
        return error(int(answer))

    server.script[COMMIT] = [comes_first]
    change(table)
    assert ids(table) == [1, 2, 3, 9] if change is append else [1, 2, 9]


def test_a_real_conflict_is_found_by_the_requirements(server: ScriptedServer, open_table: Open) -> None:
    mine, theirs = open_table(), open_table()
    with mine.transaction() as tx:
        tx.append(rows(3))
        theirs.append(rows(9))
    assert ids(mine) == [1, 2, 3, 9]
    assert len(server.commits()) == 3, "the server refused the first"


def test_a_stale_snapshot_that_a_server_refuses_by_400_is_a_conflict(server: ScriptedServer, open_table: Open) -> None:
    table = open_table()
    stale = "Cannot add snapshot with sequence number 3 older than last sequence number 3"
    server.script[COMMIT] = [lambda request: error(400, stale, "ValidationException")]
    append(table)
    assert ids(table) == [1, 2, 3]
    assert len(server.commits()) == 2


def test_a_conflict_that_cannot_be_looked_into_is_unknown(
    server: ScriptedServer, open_table: Open, tmp_path: Path
) -> None:
    table = open_table()

    def conflicts(request):
        server.answer(request)
        server.script[LOAD] = ["403"]
        return error(409)

    server.script[COMMIT] = [conflicts]
    append(table)  # the first look failed, the status check succeeded
    assert ids(table) == [1, 2, 3]


def test_a_table_that_is_gone_says_so(server: ScriptedServer, open_table: Open) -> None:
    table = open_table()

    def gone(request):
        del server.tables["db", "t"]
        return error(404, "no table", "NoSuchTableException")

    server.script[COMMIT] = [gone]
    with pytest.raises(FloebergError, match=r"lake\.db\.t") as caught:
        append(table)
    assert type(caught.value).__name__ == "TableNotFound"


def test_what_a_commit_requires(server: ScriptedServer, open_table: Open) -> None:
    table = open_table()
    head = table.current_snapshot.snapshot_id  # type: ignore[union-attr]
    with table.manage_refs() as refs:
        refs.create_tag("q")
        refs.create_branch("b")
    append(table)
    uuid = {"type": "assert-table-uuid", "uuid": table.metadata.table_uuid}

    def sent(number: int) -> dict:
        return json.loads(server.commits()[number].content)

    assert sent(0)["requirements"] == [
        uuid,
        {"type": "assert-ref-snapshot-id", "ref": "q", "snapshot-id": None},
        {"type": "assert-ref-snapshot-id", "ref": "b", "snapshot-id": None},
    ]
    assert sent(1)["requirements"] == [uuid, {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": head}]
    assert [one["action"] for one in sent(1)["updates"]] == ["add-snapshot", "set-snapshot-ref"]
    table.maintenance.expire_snapshots(older_than=table.current_snapshot.timestamp_ms + 1)  # type: ignore[union-attr]
    asserted = {one.get("ref") for one in sent(2)["requirements"]}
    assert asserted == {None, "main", "b", "q"}, "removals of snapshots assert every ref"
    assert [one["action"] for one in sent(2)["updates"]] == ["remove-snapshots"]


def test_a_key_is_sent_where_the_server_announces_it(server: ScriptedServer, open_table: Open) -> None:
    append(open_table())
    assert "Idempotency-Key" not in server.commits()[0].headers
    server.config["idempotency-key-lifetime"] = "PT30M"
    append(table := open_table())
    append(table)
    keys = [one.headers["Idempotency-Key"] for one in server.commits()[1:]]
    assert len(set(keys)) == 2
    assert all(key[14] == "7" and len(key) == 36 for key in keys)


@pytest.mark.parametrize("status", ["401", "419"])
def test_a_new_token_sends_the_commit_again_with_the_same_key(server: ScriptedServer, status: str) -> None:
    server.config["idempotency-key-lifetime"] = "PT30M"
    tokens = iter(range(10))
    server.script["POST /v1/oauth/tokens"] = [_token(tokens)] * 10
    table = Catalog(server.open(credential="me:secret")).load_table("db.t")
    server.script[COMMIT] = [status]
    append(table)
    first, second = server.commits()
    assert first.headers["Authorization"] != second.headers["Authorization"]
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert first.content == second.content


def _token(numbers):
    import httpx

    return lambda request: httpx.Response(200, json={"access_token": f"t{next(numbers)}", "expires_in": 3600})


def test_a_staged_table_is_created_by_its_commit_or_not_at_all(server: ScriptedServer, tmp_path: Path) -> None:
    cat = Catalog(server.open())
    wanted = cat.load_table("db.t").metadata
    pointer = cat._backend._tables.pointer(cat.identifier("db.new"))
    from dataclasses import replace

    from floeberg.commit.pointer import TableState
    from floeberg.errors import ValidationConflict
    from floeberg.spec.snapshots.snapshot_list import SnapshotList

    new = replace(wanted, table_uuid="11111111-2222-3333-4444-555555555555", snapshots=SnapshotList(), refs={},
                  current_snapshot_id=None, last_sequence_number=0)  # fmt: skip
    base = TableState("lake.db.new", new, None)
    server.script["POST /v1/namespaces/db/tables/new"] = ["lost after", "409"]
    assert pointer.swap(base, new).metadata.table_uuid == new.table_uuid
    assert json.loads(server.commits()[0].content)["requirements"] == [{"type": "assert-create"}]
    other = replace(new, table_uuid="99999999-2222-3333-4444-555555555555")
    with pytest.raises(ValidationConflict) as caught:
        cat._backend._tables.pointer(cat.identifier("db.new")).swap(TableState("lake.db.new", other, None), other)
    assert isinstance(caught.value.__cause__, TableAlreadyExists)


def test_a_staged_table_is_found_by_its_snapshots_whatever_uuid_the_server_gives_it(
    server: ScriptedServer, open_table: Open
) -> None:
    """Its data files are deleted when it was not created: that must be certain."""
    from dataclasses import replace

    from floeberg.commit.pointer import TableState

    new = open_table().metadata
    cat = Catalog(server.open())

    def created_twice(request):
        server.put(("db", "new"), replace(new, table_uuid="00000000-1111-2222-3333-444444444444"))
        return error(409, "Table already exists", "AlreadyExistsException")

    server.script["POST /v1/namespaces/db/tables/new"] = [created_twice]
    state = cat._backend._tables.pointer(cat.identifier("db.new")).swap(TableState("lake.db.new", new, None), new)
    assert state.metadata.snapshots == new.snapshots


def test_commits_that_never_win_give_up(server: ScriptedServer, open_table: Open) -> None:
    table = open_table()
    server.script[COMMIT] = ["409"] * 20
    with pytest.raises(CommitConflict, match="gave up after 5 attempts"):
        append(table)
    assert ids(table) == [1, 2]
