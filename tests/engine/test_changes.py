"""Append scans and changelogs against a plain model: what was there before plus the changes is what is there after."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog
from floeberg.api.table import Table
from floeberg.arrow.columns.types import arrow_schema
from floeberg.errors import InvalidInput
from models.engine_model import Model

MODES = ("copy-on-write", "merge-on-read")
Rows = Counter[tuple[Any, ...]]


def new_table(version: int, mode: str, **options: Any) -> Table:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    properties = {f"write.{kind}.mode": mode for kind in ("delete", "update", "merge")}
    return lake.create_table(
        "db.t", "k bigint, v string, x double", format_version=version, properties=properties, **options
    )


def some_rows(*keys: int) -> pa.Table:
    return pa.table({"k": list(keys), "v": [f"v{key}" for key in keys], "x": [float(key) for key in keys]})


def at(table: Table, snapshot_id: int) -> Rows:
    return Counter(tuple(row.values()) for row in table.scan(snapshot_id=snapshot_id).to_arrow().to_pylist())


def applied(before: Rows, changes: list[dict[str, Any]]) -> Rows:
    after = Counter(before)
    for row in changes:
        key = tuple(row[name] for name in ("k", "v", "x"))
        if row["_change_type"] == "DELETE":
            assert after[key] > 0, f"a row is deleted that is not there: {row}"
            after[key] -= 1
        else:
            after[key] += 1
    return +after


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_changes_lead_from_each_snapshot_to_the_next(version: int, mode: str) -> None:
    rng = random.Random(f"{version}{mode}")
    table = new_table(version, mode, partition_by=["bucket(2, k)"])
    table.append(some_rows(*range(12)))
    for number in range(6):
        kind = rng.choice(["append", "delete", "update", "upsert"])
        if kind == "append":
            table.append(some_rows(*range(100 * number, 100 * number + 3)))
        elif kind == "delete":
            table.delete(f"k = {rng.randrange(12)}")
        elif kind == "update":
            table.update({"v": f"u{number}"}, where=f"k < {rng.randrange(12)}")
        else:
            table.upsert(pa.table({"k": [rng.randrange(12), 900 + number], "v": ["up", "up"]}), on=["k"])
    snapshots = list(table.snapshots)
    for before, after in itertools.pairwise(snapshots):
        changes = table.scan_changes(before.snapshot_id, after.snapshot_id).to_arrow().to_pylist()
        assert {row["_commit_snapshot_id"] for row in changes} <= {after.snapshot_id}
        assert applied(at(table, before.snapshot_id), changes) == at(table, after.snapshot_id)
    everything = table.scan_changes().to_arrow().to_pylist()
    assert applied(Counter(), everything) == at(table, snapshots[-1].snapshot_id)
    assert [row["_change_ordinal"] for row in everything] == sorted(row["_change_ordinal"] for row in everything)


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_a_rewrite_only_carries_over_are_left_out(mode: str) -> None:
    table = new_table(2, mode)
    table.append(some_rows(*range(10)))
    first = table.current_snapshot
    assert first is not None
    table.update({"v": "new"}, where="k = 4")
    changes = table.scan_changes(first.snapshot_id).to_arrow().to_pylist()
    assert [(row["_change_type"], row["k"], row["v"]) for row in changes] == [("DELETE", 4, "v4"), ("INSERT", 4, "new")]
    kept = table.scan_changes(first.snapshot_id, keep_carried_over=True).to_arrow().num_rows
    assert kept == (20 if mode == "copy-on-write" else 2)
    narrow = table.scan_changes(first.snapshot_id, select=["k"]).to_arrow().to_pylist()
    assert [(row["_change_type"], row["k"]) for row in narrow] == [("DELETE", 4), ("INSERT", 4)]


def test_as_many_equal_rows_are_carried_over_as_there_were() -> None:
    table = new_table(2, "copy-on-write")
    table.append(pa.table({"k": [1, 1, 2], "v": ["a", "b", "c"], "x": [0.5, 0.5, None]}))
    first = table.current_snapshot
    assert first is not None
    table.update({"v": "a"}, where="v = 'b'")
    changes = table.scan_changes(first.snapshot_id).to_arrow().to_pylist()
    assert [(row["_change_type"], row["k"], row["v"]) for row in changes] == [("DELETE", 1, "b"), ("INSERT", 1, "a")]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_rows_with_null_structs_that_have_required_members_are_compared(file_format: str) -> None:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    table = lake.create_table(
        "db.t",
        "k bigint, s struct<inner: struct<a: int not null>>, l array<struct<a: int not null>>",
        properties={"write.format.default": file_format},
    )
    rows = [(1, None, [None]), (2, {"inner": None}, None), (3, {"inner": {"a": 3}}, [{"a": 3}, None])]
    columns = zip(("k", "s", "l"), zip(*rows, strict=True), strict=True)
    table.append(pa.table({name: list(values) for name, values in columns}, schema=arrow_schema(table.schema)))
    table.delete("k = 3")
    found = table.scan_changes().to_arrow().to_pylist()
    assert [(row["k"], row["s"], row["l"]) for row in found] == [*rows, rows[2]]


def test_equality_deletes_are_changes() -> None:
    table = new_table(2, "merge-on-read")
    table.append(some_rows(1, 2, 3))
    first = table.current_snapshot
    Model(table, random.Random(1)).commit_equality_deletes([{1: 2, 2: None, 3: None}], (1,))
    assert first is not None
    changes = table.scan_changes(first.snapshot_id).to_arrow().to_pylist()
    assert [(row["_change_type"], row["k"], row["v"]) for row in changes] == [("DELETE", 2, "v2")]


def test_changes_are_filtered_and_projected() -> None:
    table = new_table(2, "copy-on-write")
    table.append(some_rows(*range(10)))
    table.delete("k IN (2, 7)")
    found = table.scan_changes(where="k > 5", select=["v"]).to_arrow().to_pylist()
    assert Counter((row["_change_type"], row["v"]) for row in found) == Counter(
        [("INSERT", "v6"), ("INSERT", "v7"), ("INSERT", "v8"), ("INSERT", "v9"), ("DELETE", "v7")]
    )
    with pytest.raises(InvalidInput, match="no metadata column"):
        table.scan_changes(select=["k", "_file"])


def test_append_scans_give_what_appends_added_between_two_snapshots() -> None:
    table = new_table(2, "copy-on-write")
    table.append(some_rows(1))
    first = table.current_snapshot
    table.append(some_rows(2))
    table.delete("k = 1")
    table.append(some_rows(3))
    last = table.current_snapshot
    assert first is not None
    assert last is not None

    def keys(scan: Any) -> list[int]:
        return sorted(scan.to_arrow().column("k").to_pylist())

    assert keys(table.scan_appends()) == [1, 2, 3]
    assert keys(table.scan_appends(first.snapshot_id)) == [2, 3]
    assert keys(table.scan_appends(first.snapshot_id, last.snapshot_id, where="k < 3")) == [2]
    assert table.scan_appends(last.snapshot_id).count() == 0
    assert len(table.scan_appends(first.snapshot_id).plan()) == 2
    with pytest.raises(InvalidInput, match="no ancestor"):
        table.scan_appends(last.snapshot_id, first.snapshot_id).plan()
