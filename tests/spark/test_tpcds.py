"""The 99 queries of TPC-DS over tables with deletion vectors, position deletes and equality deletes give the rows of plain Spark
over Parquet without the deleted rows. Those of the usual scale are kept; at another scale plain Spark runs here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from floeberg.api.attach import attach, detach
from tpcds.lake import TpcDs
from tpcds.results import KEPT_SCALE, Result, kept_results, plain_results, result_of

SCALE: Final = float(os.environ.get("FLOEBERG_TPCDS_SCALE", KEPT_SCALE))
HALVES: Final = 2
NON_EMPTY: Final = 80


@pytest.fixture(scope="module")
def tpcds(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TpcDs]:
    data = TpcDs(Path(tmp_path_factory.mktemp("tpcds")), scale=SCALE)
    data.build_tables()
    yield data
    data.lake.close()


@pytest.fixture(scope="module")
def expected(spark: Any, tpcds: TpcDs) -> dict[int, Result]:
    return kept_results() if SCALE == KEPT_SCALE else plain_results(spark, tpcds)


@pytest.mark.parametrize("half", range(HALVES))
def test_queries_give_the_rows_of_plain_spark(spark: Any, tpcds: TpcDs, expected: dict[int, Result], half: int) -> None:
    queries = {number: text for number, text in tpcds.queries() if number % HALVES == half}
    attach(spark, tpcds.lake)
    spark.sql("USE tpcds.ds")
    found = {number: result_of(spark.sql(text)) for number, text in queries.items()}
    spark.sql("USE spark_catalog.default")
    detach(spark)
    assert found == {number: expected[number] for number in queries}
    assert sum(bool(result.rows) for result in found.values()) >= NON_EMPTY // HALVES, (
        "enough queries have rows to compare"
    )
