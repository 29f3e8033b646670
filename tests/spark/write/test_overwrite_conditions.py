"""`writeTo(…).overwrite(condition)`: conditions of every kind select the same rows as Spark's own WHERE."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from floeberg.errors import InvalidInput

ROWS = (
    "VALUES (1, DATE '2024-01-01', TIMESTAMP '2024-01-01 10:00:00', 'a', 1.5D), "
    "(2, DATE '2024-01-02', TIMESTAMP '2024-01-02 10:00:00', 'it''s', 2.5D), "
    "(3, DATE '2024-01-03', TIMESTAMP '2024-01-03 10:00:00', 'c\\\\d', double('NaN')), (4, NULL, NULL, NULL, NULL)"
)


@pytest.fixture(scope="module")
def table(session: Any) -> str:
    """A file for each row, because each is a partition."""
    session.sql(
        "CREATE TABLE lake.db.replaced (id INT, d DATE, ts TIMESTAMP, s STRING, x DOUBLE) PARTITIONED BY (id) "
        "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')"
    )
    session.sql(f"INSERT INTO lake.db.replaced {ROWS}")
    return "lake.db.replaced"


def conditions() -> list[tuple[str, Any]]:
    from pyspark.sql import functions as F

    return [
        ("a number", F.col("id") == 2),
        ("a text with a quote", F.col("s") == "it's"),
        ("a text with a backslash", F.col("s") == "c\\d"),
        ("texts", F.col("s").isin("a", "it's")),
        ("a date", F.col("d") == dt.date(2024, 1, 2)),
        ("a moment", F.col("ts") >= dt.datetime(2024, 1, 2, 10)),
        ("a cast text", F.col("d") == F.lit("2024-01-03").cast("date")),
        ("a cast column", F.col("id").cast("string") == "3"),
        ("a function", F.year("d") == 2024),
        ("text of SQL", F.expr("d < DATE '2024-01-03' AND s IS NOT NULL")),
        ("SQL that metadata cannot answer", F.expr("length(s) = 4")),
        ("nulls", F.col("d").isNull()),
        ("a comparison that takes nulls", F.col("s").eqNullSafe(F.lit(None))),
        ("not", ~(F.col("id") == 1)),
        ("or", (F.col("id") == 1) | (F.col("s") == "c\\d")),
        ("a range", F.col("x").between(1.0, 2.0)),
        ("not a number", F.col("x") > 2.0),
        ("all", F.lit(True)),
        ("nothing", F.col("id") == 77),
    ]


@pytest.mark.connect
def test_every_condition_replaces_the_rows_for_which_spark_finds_it_true(session: Any, table: str, few: bool) -> None:
    from pyspark.sql import functions as F

    loaded = session.lake.load_table("db.replaced")
    start = loaded.current_snapshot.snapshot_id
    before = session.table(table)
    chosen = ("a text with a quote", "a moment", "text of SQL")
    for name, condition in conditions():
        if few and name not in chosen:
            continue
        stay = before.where(~F.coalesce(condition, F.lit(False))).select("id").collect()
        # The new row is one that the condition is true for, where there is one: a readable condition wants that.
        new = before.where(condition).orderBy("id").limit(1)
        expected = sorted([*(row.id for row in stay), *(row.id for row in new.collect())])
        new.writeTo(table).overwrite(condition)
        assert sorted(row.id for row in session.sql(f"SELECT id FROM {table}").collect()) == expected, name
        session.sql(f"CALL lake.system.set_current_snapshot('db.replaced', {start})")


def test_a_condition_that_matches_a_part_of_a_file_changes_nothing(session: Any) -> None:
    from pyspark.sql import functions as F

    session.sql("CREATE TABLE lake.db.whole (id INT, s STRING)")
    session.sql("INSERT INTO lake.db.whole SELECT /*+ COALESCE(1) */ CAST(id AS INT), 'x' FROM range(4)")
    before = session.lake.load_table("db.whole").current_snapshot.snapshot_id
    for condition in (F.col("id") == 2, F.col("id") % 2 == 0):
        with pytest.raises((InvalidInput, Exception), match="match"):
            session.sql("SELECT 9 AS id, 'y' AS s").writeTo("lake.db.whole").overwrite(condition)
    assert session.lake.load_table("db.whole").current_snapshot.snapshot_id == before
