"""Columns whose names differ in case alone are different columns while `spark.sql.caseSensitive` is true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import functions as F

from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import INT, NestedField

TABLE = "lake.db.names_in_case"


@pytest.fixture
def sensitive(session: Any) -> Iterator[Any]:
    schema = Schema(NestedField(1, "p", INT), NestedField(2, "P", INT), NestedField(3, "k", INT))
    session.lake.create_table("db.names_in_case", schema, partition_by=["P"])
    session.conf.set("spark.sql.caseSensitive", "true")
    try:
        session.sql(f"INSERT INTO {TABLE} VALUES (1, 2, 1), (3, 4, 2)")
        yield session
    finally:
        session.conf.unset("spark.sql.caseSensitive")
        session.lake.drop_table("db.names_in_case")


def rows(session: Any) -> list[tuple[int, ...]]:
    return sorted(tuple(row) for row in session.sql(f"SELECT p, P, k FROM {TABLE}").collect())


def test_a_merge_of_all_columns_takes_each_from_its_own(sensitive: Any) -> None:
    sensitive.sql(
        f"MERGE INTO {TABLE} t USING (SELECT * FROM VALUES (5, 6, 1), (7, 8, 3) AS s(p, P, k)) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(sensitive) == [(3, 4, 2), (5, 6, 1), (7, 8, 3)]


def test_merge_into_takes_each_column_from_its_own(sensitive: Any) -> None:
    source = sensitive.sql("SELECT * FROM VALUES (5, 6, 1), (7, 8, 3) AS s(p, P, k)").alias("s")
    merge = source.mergeInto(TABLE, F.expr("s.k = names_in_case.k"))
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert rows(sensitive) == [(3, 4, 2), (5, 6, 1), (7, 8, 3)]


def test_a_column_of_another_case_is_not_taken_for_it(sensitive: Any) -> None:
    with pytest.raises(InvalidInput, match="'k'"):
        sensitive.sql(
            f"MERGE INTO {TABLE} t USING (SELECT 5 AS p, 6 AS P, 1 AS K) s ON t.k = s.K WHEN MATCHED THEN UPDATE SET *"
        )
    assert rows(sensitive) == [(1, 2, 1), (3, 4, 2)]


def test_a_static_partition_is_the_column_of_that_case(sensitive: Any) -> None:
    sensitive.sql(f"INSERT OVERWRITE {TABLE} PARTITION (P = 2) SELECT 9, 10")
    assert rows(sensitive) == [(3, 4, 2), (9, 2, 10)]
