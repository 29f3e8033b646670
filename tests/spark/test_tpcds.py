"""The 99 queries of TPC-DS over tables with deletion vectors, position deletes and equality deletes give the rows of plain Spark
over Parquet without the deleted rows."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from floeberg.api.attach import attach, detach
from tpcds.lake import TpcDs

SCALE: Final = float(os.environ.get("FLOEBERG_TPCDS_SCALE", "0.2"))
HALVES: Final = 2
NON_EMPTY: Final = 80


@pytest.fixture(scope="module")
def tpcds(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TpcDs]:
    data = TpcDs(Path(tmp_path_factory.mktemp("tpcds")), scale=SCALE)
    attach(spark, data.lake)
    data.build(spark)
    yield data
    spark.sql("USE spark_catalog.default")
    data.drop_plain(spark)
    detach(spark)
    data.lake.close()


def rows(frame: Any) -> Counter[tuple[Any, ...]]:
    """The rows as a multiset; floating-point sums depend on the order of rows in their last digits."""
    return Counter(tuple(_rounded(value) for value in row) for row in frame.collect())


def _rounded(value: Any) -> Any:
    return (
        float(f"{value:.9g}")
        if isinstance(value, float)
        else value.normalize()
        if isinstance(value, Decimal)
        else value
    )


@pytest.mark.parametrize("half", range(HALVES))
def test_queries_give_the_rows_of_plain_spark(spark: Any, tpcds: TpcDs, half: int) -> None:
    queries = {number: text for number, text in tpcds.queries() if number % HALVES == half}
    spark.sql("USE spark_catalog.plain")
    plain = {number: rows(spark.sql(text)) for number, text in queries.items()}
    spark.sql("USE tpcds.ds")
    different = [number for number, text in queries.items() if rows(spark.sql(text)) != plain[number]]
    assert different == []
    assert sum(bool(found) for found in plain.values()) >= NON_EMPTY // HALVES, "enough queries have rows to compare"
