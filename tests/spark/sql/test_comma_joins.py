"""What stands before a comma of a FROM clause belongs to the joins and pivots after it, as Spark reads it: random queries give the
rows of plain Spark over the same rows."""

from __future__ import annotations

import random
from typing import Any, Final

import pyarrow as pa
import pytest

SEED: Final = 13
QUERIES: Final = 40
ROWS: Final = {
    "a": [(1, None), (2, 1), (3, 2), (None, 3), (4, None), (5, 1)],
    "b": [(1, 1), (2, 2), (None, 4), (7, None)],
    "c": [(1, None), (2, 2), (5, 3), (8, None)],
}
CONDITIONS: Final = (
    "{}.x IS NULL",
    "{}.x <=> 1",
    "{}.k IS NULL",
    "{}.x > 1",
    "{}.k = 2",
    "NOT {}.x <=> 2",
    "{}.k IN (1, 5)",
)
OTHER_ROWS: Final = (
    "SELECT * FROM {0}a a, (SELECT k AS j FROM {0}b) b PIVOT (count(x) FOR j IN (1 AS x, 2 AS y)) WHERE x = 1",
    "SELECT c.k, p.x FROM {0}c c JOIN (SELECT * FROM {0}a a, (SELECT k AS j FROM {0}b) b PIVOT (count(x) + 2 FOR j IN (1 AS x))) "
    "p ON c.x = p.x",
    "WITH q AS (SELECT * FROM {0}a), r AS (WITH q AS (SELECT * FROM {0}a WHERE k = 2) SELECT * FROM q) "
    "SELECT * FROM q WHERE k = 1 UNION ALL SELECT * FROM r",
)


@pytest.fixture(scope="module")
def tables(session: Any) -> Any:
    """`lake.db.a`, `b` and `c`, a file for each row, and views of the same rows in Spark."""
    schema = pa.schema([("k", pa.int32()), ("x", pa.int32())])
    for name, rows in ROWS.items():
        table = session.lake.create_table(f"db.{name}", schema)
        for k, x in rows:
            table.append(pa.table({"k": [k], "x": [x]}, schema=schema))
        session.createDataFrame(rows, "k INT, x INT").createOrReplaceTempView(f"plain_{name}")
    yield session
    for name in ROWS:
        session.catalog.dropTempView(f"plain_{name}")


def _query(chance: random.Random) -> str:
    kinds = [chance.choice(["RIGHT", "FULL", "RIGHT", "LEFT", "INNER"]) for _ in range(2)]
    on = [f"{chance.choice('ab')}.k = c.{chance.choice('kx')}", "d.k = b.k"]
    for number, side in enumerate(("a", "b")):
        if chance.random() < 0.4:
            on[number] += f" AND {chance.choice(CONDITIONS).format(side)}"
    where = [chance.choice(CONDITIONS).format(chance.choice("aabc")) for _ in range(chance.choice((1, 2)))]
    second = f"{kinds[1]} JOIN {{0}}c d ON {on[1]}" if chance.random() < 0.4 else ""
    return (
        f"SELECT a.k, a.x, b.k, c.k FROM {{0}}a a, {{0}}b b {kinds[0]} JOIN {{0}}c c ON {on[0]} {second} "
        f"WHERE {' AND '.join(where)}"
    )


def _rows(session: Any, sql: str, prefix: str) -> list[str]:
    return sorted(str(tuple(row)) for row in session.sql(sql.format(prefix)).collect())


def test_joins_after_a_comma_give_the_rows_of_plain_spark(tables: Any, few: bool) -> None:
    chance = random.Random(SEED)
    for _ in range(5 if few else QUERIES):
        sql = _query(chance)
        assert _rows(tables, sql, "lake.db.") == _rows(tables, sql, "plain_"), sql


@pytest.mark.parametrize("policy", ["CORRECTED", "LEGACY"])
def test_names_that_stand_for_other_rows_are_not_pruned(tables: Any, policy: str) -> None:
    tables.conf.set("spark.sql.legacy.ctePrecedencePolicy", policy)
    try:
        for sql in OTHER_ROWS:
            assert _rows(tables, sql, "lake.db.") == _rows(tables, sql, "plain_"), sql
    finally:
        tables.conf.unset("spark.sql.legacy.ctePrecedencePolicy")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.k, b.k, c.z FROM {0}a a, (SELECT k, x AS y FROM {0}b) b RIGHT JOIN (SELECT k AS z FROM {0}c) c ON k = z AND k = 2",
        "SELECT a.k, b.k, c.z FROM {0}a a, {0}b b FULL JOIN (SELECT k AS z FROM {0}c) c ON k = z AND x = 2",
        "SELECT a.k, b.k, c.x FROM {0}a a, {0}b b RIGHT JOIN {0}c c ON b.k = c.k WHERE a.x = 1",
    ],
)
def test_joins_that_come_before_commas_keep_the_rows_before_the_comma(tables: Any, query: str) -> None:
    tables.conf.set("spark.sql.ansi.relationPrecedence", "true")
    try:
        found, expected = (
            sorted(map(str, tables.sql(query.format(place)).collect())) for place in ("lake.db.", "plain_")
        )
    finally:
        tables.conf.unset("spark.sql.ansi.relationPrecedence")
    assert found == expected
