"""Columns that a new table is partitioned by are found as Spark finds names: without regard to case, unless the session says."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from floeberg import errors


def _partition_names(session: Any, table: str) -> list[str]:
    return [field.name for field in session.lake.load_table(table).spec.fields]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("CREATE TABLE {t} (Id BIGINT, Ts TIMESTAMP) PARTITIONED BY (ID, Days(TS))", ["Id", "Ts_day"]),
        ("CREATE TABLE {t} (Id BIGINT, St STRUCT<A: INT>) PARTITIONED BY (bucket(4, st.a))", ["St.A_bucket"]),
        ("CREATE OR REPLACE TABLE {t} PARTITIONED BY (id) AS SELECT 1L AS Id", ["Id"]),
        ("CREATE TABLE {t} (Id BIGINT) CLUSTERED BY (ID) INTO 4 BUCKETS", ["Id_bucket"]),
    ],
)
def test_a_statement_finds_the_columns_of_its_partitioning_in_any_case(
    session: Any, statement: str, expected: list[str]
) -> None:
    session.sql("DROP TABLE IF EXISTS lake.db.cased")
    session.sql(statement.format(t="lake.db.cased"))
    assert _partition_names(session, "db.cased") == expected
    session.sql(
        statement.replace("CREATE OR REPLACE", "REPLACE")
        .replace("CREATE TABLE", "REPLACE TABLE")
        .format(t="lake.db.cased")
    )
    assert _partition_names(session, "db.cased") == expected


def test_a_writer_finds_the_columns_of_its_partitioning_in_any_case(session: Any) -> None:
    rows = session.sql("SELECT 1L AS Id, 'a' AS Name")
    for name in ("written", "saved"):
        session.sql(f"DROP TABLE IF EXISTS lake.db.{name}")
    rows.writeTo("lake.db.written").partitionedBy(F.col("NAME"), F.partitioning.bucket(4, "id")).create()
    rows.write.partitionBy("NAME").saveAsTable("lake.db.saved")
    assert _partition_names(session, "db.written") == ["Name", "Id_bucket"]
    assert _partition_names(session, "db.saved") == ["Name"]
    assert session.table("lake.db.written").collect() == session.table("lake.db.saved").collect() == rows.collect()


def test_a_session_that_heeds_case_does_not_find_a_column_in_another(session: Any) -> None:
    session.sql("DROP TABLE IF EXISTS lake.db.exact")
    session.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(errors.ColumnNotFound):
            session.sql("CREATE TABLE lake.db.exact (Id BIGINT) PARTITIONED BY (ID)")
    finally:
        session.conf.unset("spark.sql.caseSensitive")
    assert not session.lake.table_exists("db.exact")


def test_the_setting_for_timestamps_reaches_those_inside_other_types(session: Any) -> None:
    session.sql("DROP TABLE IF EXISTS lake.db.times")
    session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        session.sql(
            "CREATE TABLE lake.db.times (a ARRAY<TIMESTAMP>, b STRUCT<timestamp: TIMESTAMP NOT NULL, timestamp_ltz: TIMESTAMP_LTZ>, "
            "c MAP<STRING, TIMESTAMP>, d STRUCT<timestamp TIMESTAMP COMMENT 'timestamp'>, timestamp TIMESTAMP NOT NULL)"
        )
        session.sql("ALTER TABLE lake.db.times ADD COLUMN e ARRAY<STRUCT<t: TIMESTAMP>>")
        shown = {row.col_name: row.data_type for row in session.sql("DESCRIBE lake.db.times").collect()}
    finally:
        session.conf.unset("spark.sql.timestampType")
    assert shown == {
        "a": "array<timestamp_ntz>",
        "b": "struct<timestamp:timestamp_ntz,timestamp_ltz:timestamp>",
        "c": "map<string,timestamp_ntz>",
        "d": "struct<timestamp:timestamp_ntz>",
        "timestamp": "timestamp_ntz",
        "e": "array<struct<t:timestamp_ntz>>",
    }


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE lake.db.twice (a INT, s STRUCT<b: INT, B: INT>)",
        "CREATE TABLE lake.db.twice AS SELECT struct(1 AS a, 2 AS A) AS s",
        "CREATE TABLE lake.db.twice AS SELECT 1 AS a, 2 AS A",
        "CREATE VIEW books.db.twice AS SELECT 1 AS a, 2 AS A",
        "CREATE VIEW books.db.twice (a, A) AS SELECT 1, 2",
        "CREATE VIEW books.db.twice AS SELECT 1 AS a, 2 AS a",
    ],
)
def test_two_names_that_differ_in_case_alone_are_refused(session: Any, statement: str) -> None:
    with pytest.raises(Exception, match="COLUMN_ALREADY_EXISTS"):
        session.sql(statement)
    assert not session.lake.table_exists("db.twice")
    assert not session.books.view_exists("db.twice")


def test_names_that_differ_in_case_are_kept_apart_where_case_counts(session: Any) -> None:
    session.conf.set("spark.sql.caseSensitive", "true")
    try:
        session.sql("CREATE TABLE lake.db.apart AS SELECT struct(1 AS a, 2 AS A) AS s, 3 AS S")
        assert [tuple(row) for row in session.sql("SELECT s.a, s.A, S FROM lake.db.apart").collect()] == [(1, 2, 3)]
    finally:
        session.conf.unset("spark.sql.caseSensitive")
