"""Nanoseconds that Spark has cut are never stored as microseconds unasked, whatever a statement does with them on the way."""

from __future__ import annotations

from typing import Any, Final

import pytest
from pyspark.sql import functions as F

from floeberg.errors import InvalidInput

pytestmark = pytest.mark.connect

REFUSED: Final = (
    "SELECT id, us FROM lake.db.ns UNION ALL SELECT id, ts FROM lake.db.ns",
    "SELECT id, us FROM lake.db.ns EXCEPT SELECT id, ts FROM lake.db.ns",
    "SELECT id, s.a FROM lake.db.ns",
    "SELECT id, l[0] FROM lake.db.ns",
    "SELECT id, m['a'] FROM lake.db.ns",
    "SELECT id, coalesce(ts, us) FROM lake.db.ns",
    "SELECT id, CASE WHEN id = 1 THEN ts ELSE us END FROM lake.db.ns",
    "SELECT id, max(ts) FROM lake.db.ns GROUP BY id",
    "SELECT id, lag(ts) OVER (ORDER BY id) FROM lake.db.ns",
    "SELECT 1, (SELECT max(ts) FROM lake.db.ns)",
    "SELECT id, x FROM lake.db.ns LATERAL VIEW explode(l) AS x",
    "SELECT a.id, if(a.id = 1, b.ts, a.us) FROM lake.db.ns a JOIN lake.db.ns b ON a.id = b.id",
    "WITH c AS (SELECT id, nvl(ts, us) AS x FROM lake.db.ns) SELECT p.id, q.x FROM c p JOIN c q ON p.id = q.id",
    "SELECT * FROM ns_view",
    "SELECT id, (SELECT any_value(b.us) FROM lake.db.ns b WHERE b.us = coalesce(a.ts, b.us)) + INTERVAL 1 DAY "
    "FROM (SELECT id, ts FROM lake.db.ns UNION SELECT id, ts FROM lake.db.ns) a WHERE ts IS NOT NULL",
    "SELECT id, nvl(ts, TIMESTAMP_NTZ '2020-01-01') FROM lake.db.ns ORDER BY id LIMIT 1",
    "SELECT id, date_trunc('HOUR', ts) FROM lake.db.ns",
    "SELECT DISTINCT id, transform(array(ts), x -> x)[0] FROM lake.db.ns",
    "SELECT id, ifnull(ts, to_timestamp_ntz('(')) FROM lake.db.ns",
    "SELECT id, (ts + INTERVAL 1 DAY) FROM lake.db.ns",
    "SELECT id, nvl(ts, us) - INTERVAL 1 DAY FROM lake.db.ns",
    "FROM lake.db.ns |> EXTEND nvl(ts, us) AS x |> SELECT id, x",
)
STORED: Final = (
    "SELECT id, CAST(ts AS TIMESTAMP_NTZ) FROM lake.db.ns",
    "SELECT id, ts::TIMESTAMP_NTZ FROM lake.db.ns UNION ALL SELECT id, us FROM lake.db.ns",
    "SELECT id, CAST(s.a AS TIMESTAMP_NTZ) FROM lake.db.ns",
    "SELECT id, us FROM lake.db.ns WHERE ts IS NOT NULL",
    "SELECT id, x FROM (SELECT id, CAST(coalesce(ts, us) AS TIMESTAMP_NTZ) AS x FROM lake.db.ns)",
    "SELECT id, TIMESTAMP_NTZ '2020-01-01 00:00:00' FROM lake.db.ns",
    "SELECT id, CAST(ts + INTERVAL 1 DAY AS TIMESTAMP_NTZ) FROM lake.db.ns",
    "SELECT id, CAST(nvl(ts, us) - INTERVAL 1 DAY AS TIMESTAMP_NTZ) FROM lake.db.ns",
    "SELECT a.id, b.us FROM lake.db.ns a JOIN lake.db.ns b ON a.ts = b.ts",
    "SELECT id, (SELECT max(us) FROM lake.db.ns) FROM lake.db.ns",
)


@pytest.fixture(scope="module")
def tables(session: Any) -> Any:
    session.sql(
        "CREATE TABLE lake.db.ns (id INT, ts timestamp_ns, s STRUCT<a: timestamp_ns>, l ARRAY<timestamp_ns>, "
        "m MAP<STRING, timestamp_ns>, us TIMESTAMP_NTZ) TBLPROPERTIES ('format-version' = '3')"
    )
    session.sql(
        "INSERT INTO lake.db.ns SELECT 1, at, named_struct('a', at), array(at), map('a', at), at "
        "FROM VALUES (TIMESTAMP_NTZ '2024-01-01 00:00:00.123456') AS v(at)"
    )
    session.sql("CREATE TABLE lake.db.taker (id INT, ts timestamp_ns) TBLPROPERTIES ('format-version' = '3')")
    session.sql("INSERT INTO lake.db.taker VALUES (1, TIMESTAMP_NTZ '2024-01-01 00:00:00')")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW ns_view AS SELECT id, greatest(ts, us) AS x FROM lake.db.ns")
    return session


def _snapshots(session: Any) -> int:
    return len(session.lake.load_table("db.taker").snapshots)


@pytest.mark.parametrize("query", REFUSED)
def test_values_from_columns_of_nanoseconds_are_not_inserted(tables: Any, query: str) -> None:
    before = _snapshots(tables)
    with pytest.raises(InvalidInput, match="nanoseconds"):
        tables.sql(f"INSERT INTO lake.db.taker {query}")
    assert _snapshots(tables) == before


@pytest.mark.parametrize("query", STORED)
def test_other_values_and_those_that_are_cast_to_their_own_type_are_inserted(tables: Any, query: str) -> None:
    before = _snapshots(tables)
    tables.sql(f"INSERT INTO lake.db.taker {query}")
    assert _snapshots(tables) == before + 1


def test_other_writes_refuse_them_too(tables: Any) -> None:
    before = _snapshots(tables)
    given = tables.table("lake.db.ns")
    frame = given.select("id", F.coalesce("ts", "us").alias("ts"))
    joined = tables.range(1).select(F.col("id").cast("int")).join(frame, "id")
    writes = [
        lambda: frame.writeTo("lake.db.taker").append(),
        lambda: joined.write.mode("append").saveAsTable("lake.db.taker"),
        lambda: frame.write.saveAsTable("lake.db.made"),
        lambda: given.select("id", "ts").write.saveAsTable("lake.db.made"),
        lambda: frame.withColumnRenamed("ts", "other").writeTo("lake.db.taker").option("mergeSchema", "true").append(),
        lambda: tables.sql("CREATE TABLE lake.db.made AS SELECT id, nvl(ts, us) AS x FROM lake.db.ns"),
        lambda: tables.sql("UPDATE lake.db.taker SET ts = ts + INTERVAL 1 SECOND"),
        lambda: tables.sql("UPDATE lake.db.taker SET ts = (SELECT max(ts) FROM lake.db.ns)"),
        lambda: tables.sql(
            "MERGE INTO lake.db.taker t USING (SELECT id, nvl(ts, us) AS x FROM lake.db.ns) s ON t.id = -s.id "
            "WHEN NOT MATCHED THEN INSERT (id, ts) VALUES (s.id, s.x)"
        ),
        lambda: tables.sql(
            "MERGE INTO lake.db.taker t USING (SELECT id, us FROM lake.db.ns) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET ts = greatest(t.ts, s.us)"
        ),
        lambda: (
            frame.alias("s")
            .mergeInto("lake.db.taker", F.expr("taker.id = -s.id"))
            .whenNotMatched()
            .insert({"id": F.col("s.id"), "ts": F.col("s.ts")})
            .merge()
        ),
    ]
    for write in writes:
        with pytest.raises(InvalidInput, match="nanoseconds"):
            write()
    assert _snapshots(tables) == before
    assert not tables.lake.table_exists("db.made")


def test_an_update_by_values_that_are_cast_stores_microseconds(tables: Any) -> None:
    tables.sql("CREATE TABLE lake.db.updated (id INT, ts timestamp_ns) TBLPROPERTIES ('format-version' = '3')")
    tables.sql("INSERT INTO lake.db.updated SELECT id, us FROM lake.db.ns")
    tables.sql("UPDATE lake.db.updated SET ts = CAST(ts + INTERVAL 1 SECOND AS TIMESTAMP_NTZ)")
    found = tables.sql("SELECT ts FROM lake.db.updated").collect()
    assert str(found[0][0]) == "2024-01-01 00:00:01.123456"
