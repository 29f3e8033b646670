"""Which rows of a large table are left out by the keys of a join, and how they are told from the others."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.attach import explain
from floeberg.spark.read.joins import row_filter, small_table
from star_joins.eager_keys import use_every_key

BY = re.compile(r"^\w+: rows by .*$", re.MULTILINE)
INT_ENDS = [-(2**31), -(2**31) + 1, -65, -64, -1, 0, 1, 63, 64, 65, 2**31 - 1]
LONG_ENDS = [-(2**63), -(2**31) - 1, *INT_ENDS, 2**31, 2**63 - 1]
JOIN = "SELECT k FROM lake.db.rf JOIN lake.db.rd ON k = dk WHERE x = 1"


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of every table leave out rows, by an array of bits."""
    use_every_key(monkeypatch, random.Random(0))
    monkeypatch.setattr(row_filter, "_WRITTEN_OUT", 0)


@pytest.fixture
def star(session: Any) -> Iterator[Any]:
    """`rf` has the keys 0 to 99 and a null in one file, `rd` every fifth of them, with the numbers 0 to 3 in `x`."""
    lake, keys = session.lake, list(range(100))
    fact = lake.create_table("db.rf", "k BIGINT, g INT, t STRING")
    fact.append(
        pa.table({"k": [*keys, None], "g": pa.array([*keys, None], pa.int32()), "t": [str(k) for k in [*keys, ""]]})
    )
    rows = {
        "dk": keys[::5],
        "x": pa.array([key % 4 for key in keys[::5]], pa.int32()),
        "s": [str(k) for k in keys[::5]],
    }
    dim = lake.create_table(
        "db.rd", pa.table(rows).schema, format_version=3, properties={"write.delete.mode": "merge-on-read"}
    )
    dim.append(pa.table(rows))
    yield session
    for name in ("rf", "rd"):
        lake.drop_table(f"db.{name}", purge=True)


def rows_by(session: Any, sql: str) -> list[str]:
    return BY.findall(explain(session.sql(sql)))


def scanned(session: Any, sql: str) -> int:
    """The rows that pass the conditions on the large table, by Spark's own count."""
    frame = session.sql(sql)
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()
    found: list[int] = []

    def walk(node: Any) -> None:
        name = node.nodeName()
        if name == "AdaptiveSparkPlan":
            return walk(node.executedPlan())
        if name.endswith("QueryStage"):
            return walk(node.plan())
        if name == "Filter" and "k#" in node.toString() and "bit_get" in node.toString():
            found.append(node.metrics().apply("numOutputRows").value())
        for number in range(node.children().size()):
            walk(node.children().apply(number))
        return None

    walk(plan)
    return found[0]


def test_rows_without_a_key_are_dropped_where_they_are_read(star: Any) -> None:
    assert rows_by(star, JOIN) == ["rf: rows by rd (x = 1)"]
    assert scanned(star, JOIN) == 5
    assert sorted(row.k for row in star.sql(JOIN).collect()) == [5, 25, 45, 65, 85]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT k FROM lake.db.rf LEFT JOIN lake.db.rd ON k = dk AND x = 1", []),
        ("SELECT k FROM lake.db.rf FULL JOIN lake.db.rd ON k = dk WHERE x = 1", []),
        ("SELECT k FROM lake.db.rf ANTI JOIN (SELECT * FROM lake.db.rd WHERE x = 1) ON k = dk", []),
        ("SELECT k FROM lake.db.rf WHERE k NOT IN (SELECT dk FROM lake.db.rd WHERE x = 1)", []),
        ("SELECT k FROM lake.db.rf JOIN lake.db.rd ON k <=> dk WHERE x = 1", []),
        ("SELECT k FROM lake.db.rf JOIN lake.db.rd ON t = s WHERE x = 1", []),
        ("SELECT k FROM lake.db.rf JOIN lake.db.rd ON k = dk", []),
        ("SELECT k FROM lake.db.rf JOIN lake.db.rd ON k = dk WHERE x = 1 OR k = 3", []),
        ("SELECT k FROM lake.db.rf JOIN lake.db.rd ON k = dk AND x = 1", ["rf: rows by rd (x = 1)"]),
        ("SELECT k FROM lake.db.rf JOIN lake.db.rd ON g = dk WHERE x = 1", ["rf: rows by rd (x = 1)"]),
        ("SELECT k FROM lake.db.rf WHERE k IN (SELECT dk FROM lake.db.rd WHERE x = 1)", ["rf: rows by rd (x = 1)"]),
        ("SELECT k FROM lake.db.rf WHERE EXISTS (SELECT 1 FROM lake.db.rd WHERE dk = k AND x = 1)", ["rf: rows by rd (x = 1)"]),
        ("SELECT k FROM lake.db.rf, lake.db.rd WHERE k = dk AND x = 1 AND k = (SELECT dk FROM lake.db.rd WHERE x = 9)", []),
        (
            "SELECT k FROM lake.db.rf, lake.db.rd WHERE k = dk AND x = 1 AND k > (SELECT min(dk) FROM lake.db.rd)",
            ["rf: rows by rd (x = 1)"],
        ),
    ],
)  # fmt: skip
def test_keys_leave_out_rows_where_they_may_leave_out_files(star: Any, sql: str, expected: list[str]) -> None:
    assert rows_by(star, sql) == expected
    found = sorted(map(str, star.sql(sql).collect()))
    star.conf.set("spark.floeberg.join-pruning", "false")
    try:
        assert rows_by(star, sql) == []
        assert sorted(map(str, star.sql(sql).collect())) == found
    finally:
        star.conf.unset("spark.floeberg.join-pruning")


def test_the_next_statement_sees_what_was_committed_to_the_small_table(star: Any) -> None:
    assert star.sql(JOIN).count() == 5
    star.sql("INSERT INTO lake.db.rd VALUES (7, 1, '7')")
    assert star.sql(JOIN).count() == 6
    star.sql("DELETE FROM lake.db.rd WHERE dk = 5")
    assert sorted(row.k for row in star.sql(JOIN).collect()) == [7, 25, 45, 65, 85]
    assert star.sql(JOIN.replace("x = 1", "x = 2")).count() == 5


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_rows_of_files_with_deletes_are_left_out_too(star: Any, mode: str) -> None:
    star.sql(f"ALTER TABLE lake.db.rf SET TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = '{mode}')")
    star.sql("DELETE FROM lake.db.rf WHERE k IN (25, 26)")
    assert rows_by(star, JOIN) == ["rf: rows by rd (x = 1)"]
    assert sorted(row.k for row in star.sql(JOIN).collect()) == [5, 45, 65, 85]


def test_two_references_of_a_table_each_have_their_own_keys(star: Any) -> None:
    sql = f"SELECT * FROM ({JOIN}) a FULL JOIN ({JOIN.replace('x = 1', 'x = 2')}) b ON a.k = b.k + 5 ORDER BY 1, 2"
    assert [tuple(row) for row in star.sql(sql).collect()] == star_pairs()


def star_pairs() -> list[tuple[Any, Any]]:
    ones, twos = {5, 25, 45, 65, 85}, {10, 30, 50, 70, 90}
    pairs = [(one, one - 5 if one - 5 in twos else None) for one in ones]
    pairs += [(None, two) for two in twos if two + 5 not in ones]
    return sorted(pairs, key=lambda pair: (pair[0] is not None, pair[0] or 0, pair[1] is not None, pair[1] or 0))


@pytest.mark.parametrize("written_out", [0, 100])
@pytest.mark.parametrize(
    ("kind", "other", "ends"),
    [
        ("INT", "INT", INT_ENDS),
        ("BIGINT", "BIGINT", LONG_ENDS),
        ("INT", "BIGINT", LONG_ENDS),
        ("BIGINT", "INT", INT_ENDS),
    ],
)
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_values_at_the_ends_of_their_types(
    session: Any, monkeypatch: pytest.MonkeyPatch, kind: str, other: str, ends: list[int], ansi: str, written_out: int
) -> None:
    """The bits of numbers so far apart would take too much memory, so each pair of neighbours is tried by itself."""
    monkeypatch.setattr(row_filter, "_WRITTEN_OUT", written_out)
    arrow = {"INT": pa.int32(), "BIGINT": pa.int64()}
    own = INT_ENDS if kind == "INT" else LONG_ENDS
    fact = session.lake.create_table("db.ends_f", pa.schema([("k", arrow[kind])]))
    fact.append(pa.table({"k": pa.array([*own, None], arrow[kind])}))
    dim = session.lake.create_table("db.ends_d", pa.schema([("dk", arrow[other]), ("x", pa.int32())]))
    dim.append(pa.table({"dk": pa.array(ends, arrow[other]), "x": pa.array(range(len(ends)), pa.int32())}))
    session.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for at in range(len(ends)):
            sql = f"SELECT k FROM lake.db.ends_f JOIN lake.db.ends_d ON k = dk WHERE x IN ({at}, {at + 1})"
            expected = [value for value in ends[at : at + 2] if value in own]
            assert sorted(row.k for row in session.sql(sql).collect()) == expected, sql
    finally:
        session.conf.unset("spark.sql.ansi.enabled")
        for name in ("ends_f", "ends_d"):
            session.lake.drop_table(f"db.{name}", purge=True)


@pytest.mark.parametrize("written_out", [0, 100])
def test_days(session: Any, monkeypatch: pytest.MonkeyPatch, written_out: int) -> None:
    monkeypatch.setattr(row_filter, "_WRITTEN_OUT", written_out)
    days = "DATE '0001-01-01', DATE '1582-10-10', DATE '1969-12-31', DATE '1970-01-01', DATE '2024-02-29', DATE '9999-12-31'"
    session.sql("CREATE TABLE lake.db.days_f AS SELECT explode(array(" + days + ", NULL)) AS k")
    session.sql("CREATE TABLE lake.db.days_d AS SELECT dk, 1 AS x FROM (SELECT explode(array(" + days + ")) AS dk)")
    session.sql("INSERT INTO lake.db.days_d VALUES (DATE '2024-03-01', 1)")
    sql = "SELECT k FROM lake.db.days_f JOIN lake.db.days_d ON k = dk WHERE x = 1"
    assert rows_by(session, sql) == ["days_f: rows by days_d (x = 1)"]
    assert session.sql(sql).count() == 6
    for name in ("days_f", "days_d"):
        session.lake.drop_table(f"db.{name}", purge=True)


def test_keys_too_far_apart_for_bits_leave_rows_to_the_join(star: Any) -> None:
    star.sql(f"INSERT INTO lake.db.rd VALUES ({2**62}, 1, '')")
    assert rows_by(star, JOIN) == []
    assert star.sql(JOIN).count() == 5


def test_a_table_that_took_too_long_to_read_is_not_read_again(star: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_table, "MAX_MILLISECONDS", -1)
    assert rows_by(star, JOIN) == []
    monkeypatch.setattr(small_table, "MAX_MILLISECONDS", 10**9)
    assert rows_by(star, JOIN) == []
    star.sql("INSERT INTO lake.db.rd VALUES (7, 1, '7')")
    assert rows_by(star, JOIN) == ["rf: rows by rd (x = 1)"]
    assert star.sql(JOIN).count() == 6


def test_keys_that_leave_most_of_the_planned_rows_are_not_looked_up(star: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files were left out before: what is left of them has the keys of the days, of which the small table has many others."""
    monkeypatch.setattr(row_filter, "MOST_LEFT", 0.5)
    star.lake.create_table("db.near", "k BIGINT").append(pa.table({"k": [40, 41, 42, 43, 44, 45] * 5}))
    star.lake.create_table("db.all_days", "dk BIGINT, x INT").append(
        pa.table({"dk": list(range(400)), "x": pa.array([day // 100 for day in range(400)], pa.int32())})
    )
    whole = "SELECT k FROM lake.db.near JOIN lake.db.all_days ON k = dk WHERE x = 0"
    assert rows_by(star, whole) == []
    assert rows_by(star, f"{whole} AND dk < 43") != []
    for name in ("near", "all_days"):
        star.lake.drop_table(f"db.{name}", purge=True)
