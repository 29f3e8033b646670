"""Under `spark.sql.legacy.typeCoercion.datetimeToString.enabled` Spark compares dates and timestamps with strings as strings, outside of
ANSI mode: no row is left out, or deleted, by what the string would be as a moment."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pytest

ROWS: Final = [(k, dt.date(2020, 1, 1 + k), dt.datetime(2020, 1, 1, k)) for k in range(5)]
SETTINGS: Final = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "true",
}
CONDITIONS: Final = [
    "t < '2020-01-01 03:00:00Z'",
    "t BETWEEN '2020-01-01 01:00:00' AND '2020-01-01 03:00:00+00:00'",
    "t = '2020-01-01'",
    "NOT t >= '2020-01-01T02:00:00'",
    "d <= '2020-01-03'",
    "d IN ('2020-01-03')",
]


@pytest.fixture
def moments(session: Any) -> Iterator[Any]:
    """`lake.db.moments` with a file for each row, and a view `moments` of the same rows."""
    schema = pa.schema([("k", pa.int32()), ("d", pa.date32()), ("t", pa.timestamp("us", "UTC"))])
    table = session.lake.create_table("db.moments", schema, partition_by=["t"])
    for k, d, t in ROWS:
        table.append(pa.table({"k": [k], "d": [d], "t": [t.replace(tzinfo=dt.UTC)]}, schema=schema))
    session.createDataFrame(
        [(k, d, t.replace(tzinfo=dt.UTC)) for k, d, t in ROWS], "k INT, d DATE, t TIMESTAMP"
    ).createOrReplaceTempView("moments")
    before = {name: session.conf.get(name) for name in SETTINGS}
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    yield session
    for name, text in before.items():
        session.conf.set(name, text)
    session.catalog.dropTempView("moments")
    session.lake.drop_table("db.moments", purge=True)


def keys(frame: Any) -> list[int]:
    return sorted(row.k for row in frame.collect())


@pytest.mark.parametrize("condition", CONDITIONS)
def test_queries_and_filters_have_the_rows_of_plain_spark(moments: Any, condition: str) -> None:
    expected = keys(moments.sql(f"SELECT k FROM moments WHERE {condition}"))
    assert keys(moments.sql(f"SELECT k FROM lake.db.moments WHERE {condition}")) == expected
    assert keys(moments.table("lake.db.moments").where(condition)) == expected


def test_the_same_rows_are_deleted(moments: Any) -> None:
    condition = CONDITIONS[0]
    expected = keys(moments.sql(f"SELECT k FROM moments WHERE NOT ({condition})"))
    moments.sql(f"DELETE FROM lake.db.moments WHERE {condition}")
    assert keys(moments.table("lake.db.moments")) == expected
