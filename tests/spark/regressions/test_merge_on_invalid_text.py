"""Strings that are not UTF-8: they reach Python and Parquet's filters as other characters, so nothing is left out by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from floeberg.spark.host.settings.held_settings import held_setting

KEY = "CAST(X'61FF' AS STRING)"
ROWS = (
    "SELECT CAST(X'61FF' AS STRING) AS k, 1 AS v, named_struct('k', CAST(X'61FF' AS STRING)) AS s "
    "UNION ALL SELECT 'b', 2, named_struct('k', 'b') UNION ALL SELECT 'a', 3, named_struct('k', 'a') "
    "UNION ALL SELECT CAST(X'61FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF' AS STRING), 4, NULL"
)
CONDITIONS = (
    f"k = {KEY}",
    f"k <=> {KEY}",
    f"k IN ({KEY}, 'zz')",
    f"k > 'a' AND k <= {KEY}",
    f"k < {KEY}",
    f"k >= {KEY}",
    f"k <> {KEY}",
    f"startswith(k, {KEY})",
    f"s.k = {KEY}",
    "k = X'61FF'",
    "k = decode(unhex('61FF'), 'ISO-8859-1') OR k = string(unhex('61FF'))",
    "k > 'a' AND k < 'b'",
    f"EXISTS (SELECT 1 FROM (SELECT {KEY} AS other) WHERE other = k)",
)


def _table(session: Any, name: str) -> None:
    session.sql(f"CREATE OR REPLACE TABLE lake.db.{name} (k STRING, v INT, s STRUCT<k: STRING>)")
    session.sql(f"INSERT INTO lake.db.{name} {ROWS}")


@pytest.fixture(scope="module")
def plain(session: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same rows in Parquet files of Spark's."""
    path = str(Path(tmp_path_factory.mktemp("plain")) / "rows")
    session.sql(ROWS).write.parquet(path)
    session.read.parquet(path).createOrReplaceTempView("plain_rows")
    _table(session, "texts")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW texts_view AS SELECT * FROM lake.db.texts")
    return session


def _values(session: Any, text: str) -> list[int]:
    return sorted(row[0] for row in session.sql(text).collect())


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_constant_that_is_not_utf8_finds_the_rows_of_plain_spark_without_pushdown(plain: Any, condition: str) -> None:
    with held_setting(plain, "spark.sql.parquet.filterPushdown", "false"):
        wanted = _values(plain, f"SELECT v FROM plain_rows WHERE {condition}")
    assert _values(plain, f"SELECT v FROM lake.db.texts WHERE {condition}") == wanted
    assert _values(plain, f"SELECT v FROM texts_view WHERE {condition}") == wanted


def test_a_parameter_of_bytes_finds_its_row(plain: Any) -> None:
    query = "SELECT v FROM lake.db.texts WHERE k = CAST(:key AS STRING)"
    assert [row.v for row in plain.sql(query, {"key": bytearray(b"a\xff")}).collect()] == [1]


def test_a_delete_and_an_update_by_such_a_constant_change_its_row(session: Any) -> None:
    _table(session, "changed_texts")
    session.sql(f"UPDATE lake.db.changed_texts SET v = 10 WHERE k = {KEY}")
    assert _values(session, "SELECT v FROM lake.db.changed_texts") == [2, 3, 4, 10]
    session.sql(f"DELETE FROM lake.db.changed_texts WHERE k = {KEY}")
    assert _values(session, "SELECT v FROM lake.db.changed_texts") == [2, 3, 4]


SOURCES = (
    f"(SELECT {KEY} AS k, 10 AS v)",
    f"(SELECT k, 10 AS v FROM lake.db.keys WHERE k = {KEY})",
    "lake.db.keys",
    "key_view",
)


@pytest.mark.parametrize(
    ("source", "on"),
    [*((source, "t.k = s.k") for source in SOURCES), (SOURCES[-1], "t.k <=> s.k"), (SOURCES[0], "t.k IN (s.k, 'zz')")],
)
def test_a_merge_matches_keys_that_are_not_utf8(session: Any, source: str, on: str) -> None:
    _merge_tables(session)
    session.sql(
        f"MERGE INTO lake.db.bytes t USING {source} s ON {on} "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    assert _merged(session) == [("61FF", 10), ("62", 2)]


def test_a_merge_of_a_dataframe_matches_keys_that_are_not_utf8(session: Any) -> None:
    constant = F.lit(bytearray(b"a\xff")).cast("string")
    for condition in (F.expr("bytes.k = s.k"), F.col("bytes.k") == constant):
        _merge_tables(session)
        source = session.range(1).select(constant.alias("k"), F.lit(10).alias("v")).alias("s")
        source.mergeInto("lake.db.bytes", condition).whenMatched().update(
            {"v": F.col("s.v")}
        ).whenNotMatched().insertAll().merge()
        assert _merged(session) == [("61FF", 10), ("62", 2)]


def _merge_tables(session: Any) -> None:
    for name in ("bytes", "keys"):
        session.sql(f"CREATE OR REPLACE TABLE lake.db.{name} (k STRING, v INT)")
    session.sql(f"INSERT INTO lake.db.bytes SELECT {KEY}, 1 UNION ALL SELECT 'b', 2")
    session.sql(f"INSERT INTO lake.db.keys SELECT {KEY}, 10")
    session.range(1).selectExpr(f"{KEY} AS k", "10 AS v").createOrReplaceTempView("key_view")


def _merged(session: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in session.sql("SELECT hex(k), v FROM lake.db.bytes").collect())
