"""The text of a classic Column does not tell names from what they look like; no row is lost by that."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F


@pytest.mark.parametrize("name", ["x,5", "x ", "5"])
def test_a_column_whose_name_reads_as_another_column_and_a_value_loses_no_rows(session: Any, name: str) -> None:
    session.sql("DROP TABLE IF EXISTS lake.db.shown")
    session.sql(f"CREATE TABLE lake.db.shown (x INT, `{name}` INT) PARTITIONED BY (x)")
    session.sql("INSERT INTO lake.db.shown VALUES (1, 7), (5, 8), (7, 9)")
    rows = session.table("lake.db.shown").where(F.col(f"`{name}`").isin(7)).collect()
    assert [tuple(row) for row in rows] == [(1, 7)]


def test_a_column_named_true_is_not_the_condition_that_holds_for_all(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.truths (a INT, `true` BOOLEAN)")
    session.sql("INSERT INTO lake.db.truths VALUES (1, true), (2, false)")
    session.table("lake.db.truths").limit(0).writeTo("lake.db.truths").overwrite(F.col("true"))
    assert [row.a for row in session.table("lake.db.truths").collect()] == [2]
