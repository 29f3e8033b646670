"""CDC: events that several routes send to one table are all applied, and a batch that is tried again sends no dead letter twice
and loses none."""

from __future__ import annotations

from typing import Any

import pytest

import floeberg as fb
from floeberg.errors import ValidationConflict
from floeberg.spark.cdc.apply import _Batch

EVENTS = "shard string, op string, ord bigint, id bigint, name string"
OPTIONS: dict[str, Any] = {"keys": "id", "op": "op", "order_by": "ord"}


def rows(session: Any, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in session.table(table).collect())


def test_events_of_several_routes_to_one_table_are_one_batch_of_it(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.sharded (id bigint, name string)")
    frame = session.createDataFrame([("a", "I", 1, 1, "x"), ("b", "I", 1, 2, "y"), ("b", "D", 2, 1, None)], EVENTS)
    shards = {"a": "lake.db.sharded", "b": "lake.db.sharded"}
    (result,) = fb.cdc(frame, shards, route="SHARD", txn=("job", 1), **OPTIONS)
    assert (result.skipped, result.events) == (False, 3)
    assert rows(session, "lake.db.sharded") == [(2, "y")]
    (again,) = fb.cdc(frame, shards, route="shard", txn=("job", 1), **OPTIONS)
    assert again.skipped
    keys = {"keys": {"a": "id", "b": ["id", "name"]}}
    with pytest.raises(fb.errors.InvalidInput, match="sharded, with different keys"):
        fb.cdc(frame, shards, route="shard", **{**OPTIONS, **keys})


@pytest.mark.parametrize("txn", [None, ("job", 1)])
def test_a_batch_that_is_tried_again_sends_its_dead_letters_once(
    session: Any, monkeypatch: pytest.MonkeyPatch, txn: tuple[str, int] | None
) -> None:
    name = f"lettered_{txn is None}".lower()
    session.sql(f"CREATE TABLE lake.db.{name} (id bigint, name string)")
    bad = [("I", 1, None, "null key"), ("?", 1, 2, "unknown code"), ("I", 1, 3, "good")]
    frame = session.createDataFrame(bad, EVENTS.removeprefix("shard string, "))
    real, conflicts = _Batch._commit, [0, 1, 1]

    def commit(self: _Batch, table: Any, operations: Any, once: Any) -> Any:
        if table.state.identifier.endswith(f"db.{name}") and conflicts.pop():
            raise ValidationConflict("the table has another spec", retry_can_help=True)
        return real(self, table, operations, once)

    monkeypatch.setattr(_Batch, "_commit", commit)
    letters = f"lake.db.letters_of_{name}"
    result = fb.cdc(frame, f"lake.db.{name}", dead_letters=letters, txn=txn, **OPTIONS)
    assert (conflicts, result.bad) == ([], 2)
    assert session.table(letters).count() == 2
    assert rows(session, f"lake.db.{name}") == [(3, "good")]
    files = session.lake.load_table(f"db.letters_of_{name}")
    listed = list(files._pointer.store_for(files.location).list(files.location))
    assert sum(info.location.endswith(".parquet") for info in listed) == len(list(files.scan().plan()))


def test_a_batch_that_finds_more_bad_events_when_it_is_tried_again_loses_none(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.sql("CREATE TABLE lake.db.changed (id bigint, name string)")
    schema = EVENTS.removeprefix("shard string, ")
    one = session.createDataFrame([("?", 1, 2, "unknown code"), ("I", 1, 3, "good")], schema)
    two = session.createDataFrame([("?", 1, 2, "unknown code"), ("I", 1, None, "null key")], schema)
    options: dict[str, Any] = {**OPTIONS, "dead_letters": "lake.db.letters_of_changed", "txn": ("job", 1)}
    real = _Batch._commit

    def dies(self: _Batch, table: Any, operations: Any, once: Any) -> Any:
        if table.state.identifier.endswith("db.changed"):
            raise RuntimeError("killed")
        return real(self, table, operations, once)

    with monkeypatch.context() as patch:
        patch.setattr(_Batch, "_commit", dies)
        with pytest.raises(RuntimeError, match="killed"):
            fb.cdc(one, "lake.db.changed", **options)
    fb.cdc(two, "lake.db.changed", **options)
    reasons = {row.reason for row in session.table("lake.db.letters_of_changed").collect()}
    assert any("is null" in reason for reason in reasons)
    assert any("not known" in reason for reason in reasons)
