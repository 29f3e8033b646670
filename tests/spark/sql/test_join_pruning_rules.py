"""What a small table's keys are read from, and where they leave out files of a large one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from floeberg.api.attach import explain
from floeberg.errors import InvalidInput
from floeberg.spark.read.joined_frames import PRUNED_SIDES

PRUNED = re.compile(r"^(\w+: \d+ of \d+ files, by .*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def star(session: Any) -> Iterator[Any]:
    """`f` has keys 0 to 99, ten in each of ten files; `d` has every fifth of them, and a day of the week in `x`."""
    lake = session.lake
    keys = list(range(100))
    rows = {"k": pa.array(keys, pa.int64()), "t": [f"{key:02d}" for key in keys], "v": [key % 3 for key in keys]}
    fact = lake.create_table("db.f", pa.table(rows).schema, partition_by=["truncate(10, k)"])
    fact.append(pa.table(rows))
    rows = {
        "dk": pa.array(keys[::5], pa.int64()),
        "x": pa.array([key // 5 % 7 for key in keys[::5]], pa.int32()),
        "s": [f"{key}" for key in keys[::5]],
    }
    dim = lake.create_table(
        "db.d", pa.table(rows).schema, format_version=3, properties={"write.delete.mode": "merge-on-read"}
    )
    dim.append(pa.table(rows))
    with dim.manage_refs() as refs:
        refs.create_tag("before")
    dim.delete(where="dk IN (5, 40)")
    yield session
    for name in ("f", "d"):
        lake.drop_table(f"db.{name}")


def pruned(session: Any, sql: str) -> list[str]:
    return PRUNED.findall(explain(session.sql(sql)))


JOIN = "SELECT k FROM lake.db.f JOIN lake.db.d{} ON k = dk WHERE x = 1"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (JOIN.format(""), ["f: 1 of 10 files, by d (x = 1)"]),
        (JOIN.format("") + " AND s > '5'", ["f: 1 of 10 files, by d (x = 1, s > '5')"]),
        (JOIN.format(" VERSION AS OF 'before'"), ["f: 3 of 10 files, by d (x = 1)"]),
        (JOIN.format("") + " AND (s < '2' OR length(s) = 2)", ["f: 1 of 10 files, by d (x = 1)"]),
        (JOIN.format("") + " AND rand() < 2", ["f: 1 of 10 files, by d (x = 1)"]),
        (JOIN.format("") + " AND current_date() > DATE '2000-01-01'", ["f: 1 of 10 files, by d (x = 1)"]),
        ("SELECT k FROM lake.db.f, lake.db.d WHERE k = dk AND x IN (SELECT 1)", []),
        ("SELECT k FROM lake.db.f JOIN lake.db.d ON k = dk", []),
        ("SELECT k FROM lake.db.f JOIN lake.db.d ON t = s WHERE x = 1", ["f: 1 of 10 files, by d (x = 1)"]),
        ("SELECT k FROM lake.db.f JOIN lake.db.d ON k = s WHERE x = 1", []),
        ("SELECT k FROM lake.db.f JOIN lake.db.d ON k = dk WHERE x = 1 AND d._deleted", []),
        ("SELECT k FROM lake.db.f JOIN lake.db.d.files ON k = record_count WHERE record_count = 20", []),
        (
            "SELECT f.k FROM lake.db.f JOIN lake.db.f g ON f.k = g.k JOIN lake.db.d ON g.k = dk WHERE x = 1",
            ["f: 1 of 10 files, by f (by d (x = 1))", "f: 1 of 10 files, by d (x = 1)"],
        ),
    ],
)  # fmt: skip
def test_files_are_left_out_by_the_keys_of_a_small_filtered_table(star: Any, sql: str, expected: list[str]) -> None:
    assert pruned(star, sql) == expected
    unpruned = sql.replace("lake.db.f ", "(SELECT k + 0 AS k, concat(t) AS t, v FROM lake.db.f) AS f ", 1)
    assert star.sql(sql).count() == star.sql(unpruned).count()


def test_a_setting_turns_it_off(star: Any) -> None:
    star.conf.set("spark.floeberg.join-pruning", "false")
    try:
        assert pruned(star, JOIN.format("")) == []
    finally:
        star.conf.unset("spark.floeberg.join-pruning")


def test_names_that_differ_by_case_are_not_taken_for_one(star: Any) -> None:
    star.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert pruned(star, JOIN.format("")) == []
    finally:
        star.conf.unset("spark.sql.caseSensitive")


def test_a_view_is_pruned_and_prunes(star: Any) -> None:
    star.sql("CREATE OR REPLACE TEMPORARY VIEW small AS SELECT dk AS z, x AS y FROM lake.db.d WHERE x < 3")
    star.sql("CREATE OR REPLACE TEMPORARY VIEW large AS SELECT k AS w, v FROM lake.db.f WHERE v < 9")
    try:
        assert pruned(star, "SELECT w FROM large JOIN small ON w = z WHERE y = 1") == [
            "f: 1 of 10 files, by d (x = 1, x < 3)"
        ]
        assert pruned(star, "SELECT l.w FROM large l JOIN large m ON l.w = m.w") == []
    finally:
        star.sql("DROP VIEW small")
        star.sql("DROP VIEW large")


def test_a_table_in_sparks_cache_is_read_from_there(star: Any) -> None:
    star.sql("CACHE TABLE lake.db.f")
    try:
        frame = star.sql(JOIN.format(""))
        assert pruned(star, JOIN.format("")) == []
        assert frame.count() == 1
    finally:
        star.sql("UNCACHE TABLE lake.db.f")


BY_D = ["f: 1 of 10 files, by d (x = 1)"]


def account(frame: Any) -> list[str]:
    try:
        return PRUNED.findall(explain(frame))
    except InvalidInput:
        return []


def joined(star: Any, on: Callable[[Any, Any], Any], how: str) -> tuple[list[str], bool]:
    """What a join of two tables' DataFrames leaves out, and whether its rows are those of a join that leaves out nothing."""
    fact, small = star.table("lake.db.f"), star.table("lake.db.d").where("x = 1")
    found = fact.join(small, on(fact, small), how)
    wide, narrow = fact.select("*"), small.select("*")
    read = wide.join(narrow, on(wide, narrow), how)
    assert account(read) == []
    return account(found), sorted(map(str, found.collect())) == sorted(map(str, read.collect()))


@pytest.mark.parametrize(
    ("on", "how", "expected"),
    [
        (lambda f, d: f.k == d.dk, "inner", BY_D),
        (lambda f, d: F.col("dk") == F.col("k"), "left_semi", BY_D),
        (lambda f, d: (f.k == d.dk) & (f.v >= d.x), "right_outer", BY_D),
        (lambda f, d: [f.k == d.dk, f.v >= d.x], "inner", BY_D),
        (lambda f, d: f.k == d.dk, "left", []),
        (lambda f, d: f.k == d.dk, "left_anti", []),
        (lambda f, d: f.k == d.dk, "full", []),
        (lambda f, d: (f.k == d.dk) | (f.v == d.x), "inner", []),
        (lambda f, d: f.k.eqNullSafe(d.dk), "inner", []),
        (lambda f, d: f.k == d.dk + 1, "inner", []),
        (lambda f, d: f.k == d.s, "inner", []),
        (lambda f, d: f.t == d.s, "inner", BY_D),
    ],
)
def test_joined_dataframes_leave_out_files(star: Any, on: Any, how: str, expected: list[str]) -> None:
    assert joined(star, on, how) == (expected, True)


@pytest.mark.parametrize("how", ["left", "leftanti", "full"])
def test_a_side_that_is_kept_whole_must_not_be_pruned(star: Any, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setitem(PRUNED_SIDES, how, (True, True))
    assert joined(star, lambda f, d: f.k == d.dk, how) == (BY_D, False)


def test_dataframes_joined_by_a_name_leave_out_files_for_that_join_alone(star: Any) -> None:
    fact, few = star.table("lake.db.f"), star.table("lake.db.f").where("k IN (3, 55)")
    found = fact.join(few, "k")
    assert account(found) == ["f: 2 of 10 files, by f (k IN (3, 55))"]
    assert (found.count(), fact.count(), fact.join(fact, "k").count()) == (2, 100, 100)


def test_keys_are_those_of_the_state_that_is_read(star: Any) -> None:
    sql = "SELECT k FROM lake.db.f JOIN lake.db.d ON k = dk WHERE x = 60"
    assert pruned(star, sql) == ["f: 0 of 10 files, by d (x = 60)"]
    star.sql("INSERT INTO lake.db.d VALUES (77, 60, 'new')")
    assert pruned(star, sql) == ["f: 1 of 10 files, by d (x = 60)"]
    assert [row.k for row in star.sql(sql).collect()] == [77]
