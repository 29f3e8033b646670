"""`${name}` in a statement is the value that Spark puts there before it parses the text, also where planning reads conditions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

ROWS: Final = [(1, "x"), (2, "y"), (3, "z")]
VALUES: Final = {"day": "y", "other": "${day}", "two": "2", "rest": "OR k = 1", "place": "db.days"}


@pytest.fixture
def days(session: Any) -> Iterator[Any]:
    """`lake.db.days` with a file for each row, and a view `days` of the same rows."""
    schema = pa.schema([("k", pa.int32()), ("s", pa.string())])
    table = session.lake.create_table("db.days", schema)
    for k, s in ROWS:
        table.append(pa.table({"k": [k], "s": [s]}, schema=schema))
    session.createDataFrame(ROWS, "k INT, s STRING").createOrReplaceTempView("days")
    for name, value in VALUES.items():
        session.conf.set(name, value)
    yield session
    for name in VALUES:
        session.conf.unset(name)
    session.catalog.dropTempView("days")
    session.lake.drop_table("db.days", purge=True)


def rows(frame: Any) -> list[tuple[int, str]]:
    return sorted(tuple(row) for row in frame.collect())


@pytest.mark.parametrize(
    "condition",
    [
        "s = '${day}'",
        "s IN ('${hiveconf:day}', 'q')",
        "s LIKE '${other}%'",
        "k = ${two}",
        "k = 2 AND s = 'y' ${rest}",
        "s = '${unknown}'",
        "s = '${other:day}'",
        "k = (SELECT max(k) FROM {days} WHERE s = '${day}')",
    ],
)
def test_queries_have_the_rows_of_plain_spark(days: Any, condition: str) -> None:
    text = "SELECT * FROM {days} WHERE " + condition
    expected = rows(days.sql(text.replace("{days}", "days")))
    assert rows(days.sql(text.replace("{days}", "lake.db.days"))) == expected
    assert rows(days.sql(text.replace("{days}", "lake.${place}"))) == expected


def test_without_substitution_the_text_stays(days: Any) -> None:
    days.conf.set("spark.sql.variable.substitute", "false")
    try:
        assert rows(days.sql("SELECT * FROM lake.db.days WHERE s <> '${day}'")) == ROWS
    finally:
        days.conf.unset("spark.sql.variable.substitute")


def test_rows_are_changed_by_the_value(days: Any) -> None:
    days.sql("UPDATE lake.db.days SET k = 5 WHERE s = '${day}'")
    days.sql(
        "MERGE INTO lake.db.days t USING (SELECT 3 AS k) u ON t.k = u.k AND t.s <> '${day}' WHEN MATCHED THEN DELETE"
    )
    assert rows(days.table("lake.db.days")) == [(1, "x"), (5, "y")]
    days.sql("DELETE FROM lake.db.days WHERE s = '${day}'")
    assert rows(days.table("lake.db.days")) == [(1, "x")]


def test_filters_and_overwrites_of_dataframes_go_by_the_value(days: Any) -> None:
    frame = days.table("lake.db.days")
    assert rows(frame.where("s = '${day}'")) == [(2, "y")]
    assert rows(frame.where(F.col("s") == F.expr("'${day}'"))) == [(2, "y")]
    days.createDataFrame([(7, "y")], "k INT, s STRING").writeTo("lake.db.days").overwrite(F.expr("s = '${day}'"))
    assert rows(days.table("lake.db.days")) == [(1, "x"), (3, "z"), (7, "y")]


def test_a_template_has_doubled_braces(days: Any) -> None:
    frame = days.sql("SELECT * FROM {t} WHERE s = '${{day}}'", t=days.table("lake.db.days"))
    assert rows(frame) == [(2, "y")]


def test_a_view_keeps_the_value_of_its_time(days: Any) -> None:
    days.sql("CREATE TEMPORARY VIEW of_the_day AS SELECT * FROM lake.db.days WHERE s = '${day}'")
    days.table("lake.db.days").where("s = '${day}'").createOrReplaceTempView("frame_of_the_day")
    days.conf.set("day", "z")
    try:
        assert rows(days.table("of_the_day")) == [(2, "y")]
        assert rows(days.sql("SELECT * FROM frame_of_the_day")) == [(2, "y")]
    finally:
        days.catalog.dropTempView("of_the_day")
        days.catalog.dropTempView("frame_of_the_day")


def test_values_that_look_like_variables_stay(days: Any) -> None:
    days.conf.set("spark.sql.variable.substitute", "false")
    try:
        days.sql(
            "CREATE TABLE lake.db.looks (k INT, s STRING DEFAULT '${day}') PARTITIONED BY (s) "
            "TBLPROPERTIES ('format-version' = '3')"
        )
    finally:
        days.conf.unset("spark.sql.variable.substitute")
    try:
        days.sql("INSERT INTO lake.db.looks (k) VALUES (1)")
        days.sql("INSERT INTO lake.db.looks PARTITION (s = :s) SELECT 2", args={"s": "${day}"})
        days.sql("CREATE TEMPORARY VIEW looking AS SELECT k FROM lake.db.looks WHERE s = :s", args={"s": "${day}"})
        assert [tuple(row) for row in days.sql("SELECT DISTINCT s FROM lake.db.looks").collect()] == [("${day}",)]
        assert sorted(row.k for row in days.table("looking").collect()) == [1, 2]
    finally:
        days.catalog.dropTempView("looking")
        days.sql("DROP TABLE lake.db.looks")
