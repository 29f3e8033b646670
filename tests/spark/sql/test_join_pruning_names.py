"""Whose column a name is: random subqueries whose relations take their names from one small pool, against plain Spark.

A name that is taken for the outer table's column where it is the subquery's, or the other way round, leaves out rows: each row of
the tables has a file of its own.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

from floeberg.api.attach import explain
from spark_runs.spark_rows import spark_rows

SEEDS: Final = int(os.environ.get("FLOEBERG_JOIN_WORLDS", "1"))
QUERIES: Final = 24
NAMES: Final = ("k", "v", "id", "end", "x", "y")
ROWS: Final = {
    "f": {"k": [0, 1, 2, 3, 4, None], "v": [5, 4, 3, 2, 1, 0], "id": [0, 1, 2, 3, 4, 5], "end": [0, 1, 0, 1, 0, 1]},
    "d": {"k": [1, 2, 9], "x": [1, 1, 2], "end": [1, 2, 3]},
    "e": {"y": [1, 2, 3], "k": [1, 2, None], "st": [{"v": 1, "id": 2}, {"v": 2, "id": 0}, None]},
}


@pytest.fixture(scope="module")
def tables(session: Any) -> Iterator[Any]:
    for name, columns in ROWS.items():
        rows = pa.table(columns)
        session.lake.create_table(f"db.{name}", rows.schema, partition_by=[next(iter(columns))]).append(rows)
        session.createDataFrame(rows).createOrReplaceTempView(name)
    yield session
    for name in ROWS:
        session.catalog.dropTempView(name)
        session.lake.drop_table(f"db.{name}")


def relation(chance: random.Random) -> str:
    """A relation that stands beside others in a FROM; its alias is q, a table's own name, or none."""
    one, other = chance.sample(NAMES, 2)
    return chance.choice(
        [
            "lake.db.e",
            "lake.db.e f",
            "lake.db.d q",
            f"(SELECT y * 2 AS {one} FROM lake.db.e) q",
            f"(SELECT y {one}, k + 1 {other} FROM lake.db.e)",
            f"(SELECT CAST({one} AS BIGINT) FROM (SELECT y AS {one} FROM lake.db.e)) q",
            "(SELECT st.* FROM lake.db.e) q",
            "(SELECT st.*, y AS k FROM lake.db.e)",
            f"(SELECT explode(array(y, 4)) AS ({one}) FROM lake.db.e) q",
            f"(SELECT * FROM (SELECT y, k FROM lake.db.e) PIVOT (max(y) FOR k IN (1 AS {one}, 2 AS {other}))) q",
            f"(VALUES (1, 2), (3, 0)) AS q({one}, {other})",
            f"(SELECT sum(y) AS {one} FROM lake.db.e GROUP BY k)",
            f"(SELECT y AS {one} FROM lake.db.e UNION ALL SELECT k FROM lake.db.d) q",
            "range(3)",
            f"lake.db.d q LATERAL VIEW explode(array(1, 3)) g AS {one}",
            "(lake.db.e JOIN lake.db.d USING (k))",
        ]
    )


def column(chance: random.Random) -> str:
    owner = chance.choice(["", "", "", "", "q.", "f.", "d.", "e."])
    return owner + chance.choice(NAMES)


def condition(chance: random.Random) -> str:
    one = f"{column(chance)} = {column(chance)}"
    shape = chance.randrange(6)
    if shape == 0:
        return f"CASE WHEN {column(chance)} = 1 THEN {one} ELSE {column(chance)} = 2 END"
    if shape == 1:
        return f"{one} AND {column(chance)} IN (1, 2)"
    return one


def query(chance: random.Random) -> str:
    outer = chance.choice(["lake.db.f", "lake.db.f", "lake.db.f AS q", "lake.db.f JOIN lake.db.e ON f.id = e.y"])
    read = f"lake.db.d{chance.choice([', ', ' CROSS JOIN ', ' LEFT JOIN '])}{relation(chance)}"
    if " LEFT JOIN " in read and "LATERAL" not in read:
        read += f" ON {condition(chance)}"
    rest = " AND ".join(condition(chance) for _ in range(chance.randint(1, 2)))
    asked = chance.choice(
        [
            f"EXISTS (SELECT 1 FROM {read} WHERE {rest} AND x = 1)",
            f"EXISTS (SELECT 1 FROM {read} WHERE {rest} AND x = 1)",
            f"{column(chance)} IN (SELECT {column(chance)} FROM {read} WHERE {rest})",
            f"NOT EXISTS (SELECT 1 FROM {read} WHERE {rest})",
            f"{column(chance)} >= (SELECT max({column(chance)}) FROM {read} WHERE {rest})",
        ]
    )
    return f"SELECT * FROM {outer} WHERE {asked}"


def outcome(spark: Any, sql: str) -> tuple[list[str] | str, str]:
    """The rows and the account of the plan, or which error Spark raises."""
    try:
        frame = spark.sql(sql)
        return spark_rows(frame), explain(frame) if "lake.db." in sql else ""
    except AnalysisException as error:
        return f"error {error.getCondition()}", ""


def test_random_names_in_subqueries_are_those_of_plain_spark(tables: Any) -> None:
    seen = Counter[str]()
    for seed in range(SEEDS):
        chance = random.Random(seed)
        while seen["rows"] < QUERIES * (seed + 1):
            sql = query(chance)
            expected, _ = outcome(tables, sql.replace("lake.db.", ""))
            if isinstance(expected, str) and chance.random() < 0.9:  # few errors are enough
                continue
            found, account = outcome(tables, sql)
            assert found == expected, (seed, sql)
            seen["error" if isinstance(found, str) else "rows"] += 1
            seen["pruned"] += " files, by " in account
    print(dict(seen))
    assert seen["pruned"]
