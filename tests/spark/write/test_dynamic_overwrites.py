"""What an overwrite replaces where the session overwrites dynamically and the rows tell no partitions: as in Spark's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

TABLE = "lake.db.emptied"
Rows = list[tuple[Any, ...]]
ROWS: Rows = [(1, 1, 1), (2, 1, 2), (3, 2, 1)]


@pytest.fixture(autouse=True)
def dynamic(session: Any) -> Iterator[None]:
    session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    yield
    session.conf.unset("spark.sql.sources.partitionOverwriteMode")


def make(session: Any, name: str, partitioning: str) -> None:
    session.sql(f"DROP TABLE IF EXISTS {name}")
    session.sql(f"CREATE TABLE {name} (a INT, p INT, q INT) {partitioning}")
    session.sql(f"INSERT INTO {name} VALUES {', '.join(map(str, ROWS))}")


def rows(session: Any, name: str) -> Rows:
    return sorted(tuple(row) for row in session.table(name).collect())


@pytest.mark.parametrize(
    ("partition", "left"),
    [
        ("PARTITION (p = 1, q = 1) SELECT 9 WHERE false", ROWS[1:]),
        ("PARTITION (p = 1, q) SELECT 9, 9 WHERE false", ROWS),
        ("PARTITION (p = 1, q) SELECT 9, 2", [ROWS[0], ROWS[2], (9, 1, 2)]),
        ("SELECT 9, 9, 9 WHERE false", ROWS),
    ],
)
def test_a_partition_whose_values_are_all_given_is_replaced_also_by_no_rows(
    session: Any, partition: str, left: Rows
) -> None:
    make(session, TABLE, "USING iceberg PARTITIONED BY (p, q)")
    session.sql(f"INSERT OVERWRITE {TABLE} {partition}")
    assert rows(session, TABLE) == sorted(left)
    make(session, "plain_emptied", "USING parquet PARTITIONED BY (p, q)")
    try:
        session.sql(f"INSERT OVERWRITE plain_emptied {partition}")
        assert rows(session, "plain_emptied") == sorted(left), "Spark's own table"
    finally:
        session.sql("DROP TABLE plain_emptied")


def test_hidden_partitions_beside_given_ones_are_replaced_with_them(session: Any) -> None:
    make(session, TABLE, "USING iceberg PARTITIONED BY (p, truncate(1, q))")
    session.sql(f"INSERT OVERWRITE {TABLE} PARTITION (p = 1) SELECT 9, 2")
    assert rows(session, TABLE) == [(3, 2, 1), (9, 1, 2)]


@pytest.mark.parametrize(
    "empty",
    [
        lambda session: session.sql(f"INSERT OVERWRITE {TABLE} SELECT 9, 9, 9 WHERE false"),
        lambda session: session.sql("SELECT 9, 9, 9 WHERE false").write.mode("overwrite").insertInto(TABLE),
    ],
)
def test_a_table_without_partitions_is_emptied_by_no_rows(session: Any, empty: Callable[[Any], object]) -> None:
    make(session, TABLE, "USING iceberg")
    empty(session)
    assert rows(session, TABLE) == []
