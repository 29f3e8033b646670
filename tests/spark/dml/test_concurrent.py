"""Row-level statements beside one another: in threads, and one between another's reading and its commit."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.table import Table
from floeberg.errors import CommitConflict, ValidationConflict
from floeberg.spark.dml import carry_out
from floeberg.spark.dml.target import ChangedTable

MODES = ("copy-on-write", "merge-on-read")
Rows = dict[int, tuple[int, int]]
"""By id: v and p."""


def make(session: Any, name: str, *, version: int = 3, mode: str = MODES[1], isolation: str = "serializable") -> Table:
    verbs = ("delete", "update", "merge")
    properties = {f"write.{verb}.mode": mode for verb in verbs}
    properties |= {f"write.{verb}.isolation-level": isolation for verb in verbs}
    properties |= {"commit.retry.num-retries": "50", "commit.retry.min-wait-ms": "10"}
    if session.lake.table_exists(f"db.{name}"):
        session.lake.drop_table(f"db.{name}", purge=True)
    table: Table = session.lake.create_table(
        f"db.{name}", "id bigint, v bigint, p int", format_version=version, partition_by=["p"], properties=properties
    )
    table.append(
        pa.table({"id": [1, 2, 3, 4], "v": [10, 20, 30, 40], "p": pa.array([1, 1, 2, 2], pa.int32())}),
    )
    return table


def rows(session: Any, name: str) -> Rows:
    found = session.lake.load_table(f"db.{name}").scan().to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: (row["v"], row["p"]) for row in found}


def test_changes_of_different_partitions_do_not_conflict(session: Any) -> None:
    make(session, "disjoint", mode=MODES[0])

    def change(p: int) -> None:
        session.sql(f"UPDATE lake.db.disjoint SET v = v + 1 WHERE p = {p} AND v > 0")
        session.sql(
            f"MERGE INTO lake.db.disjoint t USING (SELECT {2 * p}L AS id) s ON t.id = s.id AND t.p = {p} "
            "WHEN MATCHED THEN UPDATE SET v = v * 10"
        )

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(change, (1, 2)))
    assert rows(session, "disjoint") == {1: (11, 1), 2: (210, 1), 3: (31, 2), 4: (410, 2)}


Change = tuple[str, Callable[[Rows], Rows]]
CHANGES: dict[str, Change] = {
    "add": (
        "UPDATE {t} SET v = v + 1 WHERE v < 25",
        lambda rows: {i: (v + 1 if v < 25 else v, p) for i, (v, p) in rows.items()},
    ),
    "delete": ("DELETE FROM {t} WHERE v >= 20", lambda rows: {i: (v, p) for i, (v, p) in rows.items() if v < 20}),
    "move": ("UPDATE {t} SET p = 2 WHERE p = 1", lambda rows: {i: (v, 2) for i, (v, p) in rows.items()}),
    "insert": ("INSERT INTO {t} VALUES (5, 24, 1)", lambda rows: {**rows, 5: (24, 1)}),
    "merge": (
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (2L, 24L), (6L, 5L) AS x(id, v)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, s.v, 1)",
        lambda rows: {**{i: (24 if i == 2 else v, p) for i, (v, p) in rows.items()}, **({} if 6 in rows else {6: (5, 1)}), **({} if 2 in rows else {2: (24, 1)})},
    ),
    "sum": (
        "UPDATE {t} SET v = (SELECT sum(v) FROM {t}) WHERE p = 1",
        lambda rows: {i: (sum(x[0] for x in rows.values()) if p == 1 else v, p) for i, (v, p) in rows.items()},
    ),
    "other sum": (
        "UPDATE {t} SET v = (SELECT sum(v) FROM {t}) WHERE p = 2",
        lambda rows: {i: (sum(x[0] for x in rows.values()) if p == 2 else v, p) for i, (v, p) in rows.items()},
    ),
}  # fmt: skip
PAIRS = [
    ("add", "delete"), ("delete", "add"), ("move", "sum"), ("sum", "other sum"), ("add", "insert"),
    ("merge", "add"), ("merge", "merge"), ("merge", "delete"), ("delete", "move"),
]  # fmt: skip


def meanwhile(monkeypatch: pytest.MonkeyPatch, other: Callable[[], object]) -> None:
    commit = carry_out.commit_operations

    def late(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(carry_out, "commit_operations", commit)
        other()
        return commit(*args, **kwargs)

    monkeypatch.setattr(carry_out, "commit_operations", late)


def side_by_side(
    session: Any, monkeypatch: pytest.MonkeyPatch, pair: tuple[str, str], **table: Any
) -> tuple[Rows, str]:
    """The second change commits between the first one's reading and its commit; what the first one collided with."""
    make(session, "ordered", **table)
    first, second = (CHANGES[name][0].format(t="lake.db.ordered") for name in pair)
    meanwhile(monkeypatch, lambda: session.sql(second))
    said = ""
    try:
        session.sql(first)
    except (ValidationConflict, CommitConflict) as conflict:
        said = str(conflict)
    return rows(session, "ordered"), said


def test_what_is_left_is_that_of_some_serial_order(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, pair in enumerate(PAIRS):
        mode, version = MODES[number % 2], 2 + number // 2 % 2
        found, said = side_by_side(session, monkeypatch, pair, mode=mode, version=version)
        first, second = (CHANGES[name][1] for name in pair)
        start: Rows = {1: (10, 1), 2: (20, 1), 3: (30, 2), 4: (40, 2)}
        orders = [second(start)] if said else [second(first(start)), first(second(start))]
        assert found in orders, (pair, mode, version, said)
        if said:
            assert "lake.db.ordered" in said or "db.ordered" in said
            assert "snapshot" in said


def test_a_statement_that_reads_its_table_elsewhere_too_sees_what_others_did_there(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sums up the whole table into its own half: after one another, the second sees the first one's sum."""
    pair = ("sum", "other sum")
    found, said = side_by_side(session, monkeypatch, pair)
    assert said
    assert found == {1: (10, 1), 2: (20, 1), 3: (100, 2), 4: (100, 2)}
    relaxed, said = side_by_side(session, monkeypatch, pair, isolation="snapshot")
    assert not said
    assert relaxed == {1: (100, 1), 2: (100, 1), 3: (100, 2), 4: (100, 2)}, "as documented for snapshot isolation"
    view = ChangedTable.view

    def narrow(self: ChangedTable, condition: Any) -> Any:
        self.tables_read.clear()
        return view(self, condition)

    monkeypatch.setattr(ChangedTable, "view", narrow)
    assert side_by_side(session, monkeypatch, pair) == (relaxed, ""), "without the protection"
