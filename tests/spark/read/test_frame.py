"""A table's DataFrame has the rows that the Arrow engine reads, whichever way its files are read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog
from floeberg.spark.read.frame import table_frame
from spark_runs.spark_rows import arrow_rows, loaded, spark_rows

DDL = "id bigint, name string, price double, day date, at timestamp, local timestamp_ntz, s struct<a: int, b: string>, l array<int>, m map<string, int>, d decimal(10,2)"


def some_rows(first: int, count: int) -> list[dict[str, Any]]:
    import datetime as dt
    from decimal import Decimal

    return [
        {
            "id": i,
            "name": None if i % 5 == 0 else f"n{i}",
            "price": float("nan") if i % 7 == 0 else i / 3,
            "day": dt.date(2024, 1, 1) + dt.timedelta(days=i),
            "at": dt.datetime(2024, 1, 1, 0, 0, i % 60, i, tzinfo=dt.UTC),
            "local": dt.datetime(1969, 12, 31, 23, 59, 59, 999000 + i % 1000),
            "s": None if i % 4 == 0 else {"a": i, "b": None},
            "l": None if i % 6 == 0 else [i, None],
            "m": {"k": i},
            "d": Decimal(i) / 4,
        }
        for i in range(first, first + count)
    ]


def append(table: Any, rows: list[dict[str, Any]]) -> None:
    from floeberg.arrow.columns.types import arrow_schema

    table.append(pa.Table.from_pylist(rows, schema=arrow_schema(table.schema)))


@pytest.mark.connect
@pytest.mark.parametrize("engine", ["native", "arrow"])
def test_a_plain_table_reads_the_same_on_both_engines(spark: Any, lake: Catalog, engine: str) -> None:
    table = lake.create_table("db.t", DDL)
    append(table, some_rows(0, 30))
    append(table, some_rows(30, 20))
    frame = table_frame(spark, loaded(table), options={"scan-engine": engine})
    assert spark_rows(frame) == arrow_rows(table)
    assert frame.where("id > 40 and name is not null").count() == sum(1 for i in range(41, 50) if i % 5)
