"""A view of a DataFrame means what the DataFrame meant in its time, under its settings, as Spark's own views do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import functions as F

from floeberg.errors import UnsupportedFeature

pytestmark = pytest.mark.connect
ANSI, ZONE, CASE = "spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.sql.caseSensitive"
QUOTES, NTZ = "spark.sql.ansi.doubleQuotedIdentifiers", "spark.sql.timestampType"
Method = Callable[[Any], Any]
CASES: dict[str, tuple[str, str, str, Method]] = {
    "text of a select": (ANSI, "false", "true", lambda t: t.selectExpr("cast(s AS INT) AS n")),
    "column": (ANSI, "false", "true", lambda t: t.select(F.col("s").cast("int").alias("n"))),
    "bound column": (ANSI, "false", "true", lambda t: t.where("id > 0").select(t["s"].cast("int").alias("n"))),
    "filter": (ANSI, "false", "true", lambda t: t.where("cast(s AS INT) = 5").select("id")),
    "zone of a text": (ZONE, "UTC", "Asia/Tokyo", lambda t: t.selectExpr("date_format(at, 'yyyy-MM-dd HH') AS n")),
    "zone of a filter": (ZONE, "UTC", "Asia/Tokyo", lambda t: t.where("at = '2024-01-01 00:00:00'").select("id")),
    "case": (CASE, "false", "true", lambda t: t.select(F.col("ID"))),
    "two columns": (CASE, "true", "false", lambda t: t.select("id").withColumn("ID", F.lit(5))),
    "one column": (CASE, "false", "true", lambda t: t.select("id").withColumn("ID", F.lit(5))),
    "quotes": (QUOTES, "false", "true", lambda t: t.selectExpr('"id" AS n')),
    "kind of timestamp": (NTZ, "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", lambda t: t.selectExpr("TIMESTAMP '2024-01-01' AS n")),
}


@pytest.fixture(scope="module")
def timed(session: Any) -> Iterator[Any]:
    session.sql("CREATE TABLE lake.db.timed (id INT, s STRING, at TIMESTAMP)")
    session.sql("INSERT INTO lake.db.timed VALUES (1, 'x', TIMESTAMP '2024-01-01'), (2, '5', TIMESTAMP '2024-06-01')")
    yield session
    session.sql("DROP TABLE lake.db.timed PURGE")


@pytest.mark.parametrize("case", CASES)
def test_a_view_keeps_the_settings_of_its_frame(timed: Any, is_connect: bool, case: str) -> None:
    setting, before, after, derive = CASES[case]
    own = timed.conf.get(setting)
    try:
        timed.conf.set(setting, before)
        frame = derive(timed.table("lake.db.timed"))
        expected = sorted(map(tuple, frame.collect()), key=str)
        frame.createOrReplaceTempView("of_its_time")
        timed.conf.set(setting, after)
        for read, text in ((timed.sql, "SELECT * FROM of_its_time"), (timed.table, "of_its_time")):
            if is_connect:
                with pytest.raises(UnsupportedFeature, match=setting):
                    read(text)
            else:
                assert sorted(map(tuple, read(text).collect()), key=str) == expected
                assert timed.conf.get(setting) == after
    finally:
        timed.conf.set(setting, own)
        timed.catalog.dropTempView("of_its_time")


def test_a_frame_keeps_the_settings_of_each_of_its_methods(timed: Any, is_connect: bool) -> None:
    if is_connect:
        pytest.skip("a DataFrame over Spark Connect is resolved when it is used")
    own = timed.conf.get(ANSI)
    try:
        timed.conf.set(ANSI, "false")
        frame = timed.table("lake.db.timed").selectExpr("id", "cast(s AS INT) AS n")
        timed.conf.set(ANSI, "true")
        frame.where("n = 5 OR id = 1").createOrReplaceTempView("of_its_time")
        assert sorted(map(tuple, timed.sql("SELECT * FROM of_its_time").collect())) == [(1, None), (2, 5)]
    finally:
        timed.conf.set(ANSI, own)
        timed.catalog.dropTempView("of_its_time")


@pytest.mark.parametrize("text", ["of_user(id)", "id + chosen"])
def test_a_view_keeps_the_functions_and_variables_of_its_frame(timed: Any, is_connect: bool, text: str) -> None:
    if is_connect:
        pytest.skip("what a session's own names mean is not known over Spark Connect")
    timed.udf.register("of_user", lambda number: number + 1, "int")
    timed.sql("DECLARE OR REPLACE VARIABLE chosen INT DEFAULT 1")
    timed.table("lake.db.timed").where("id > 0").selectExpr(f"{text} AS n").createOrReplaceTempView("of_its_time")
    try:
        timed.udf.register("of_user", lambda number: number + 100, "int")
        timed.sql("SET VAR chosen = 100")
        assert sorted(map(tuple, timed.sql("SELECT * FROM of_its_time").collect())) == [(2,), (3,)]
    finally:
        timed.catalog.dropTempView("of_its_time")
        timed.sql("DROP TEMPORARY FUNCTION of_user")
        timed.sql("DROP TEMPORARY VARIABLE chosen")
