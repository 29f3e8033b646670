"""The Java runtime reads what batches of CDC events leave behind, and goes on from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import floeberg as fb
from lakes.cdc_tables import EVENTS, make_cdc_tables
from peers.java_peer import JavaRuntime, lake_of_both

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def lake(spark: Any, runtime: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fb.Catalog]:
    with lake_of_both(spark, runtime, tmp_path_factory.mktemp("cdc"), "cdcs", "db") as made:
        yield made


def test_the_java_runtime_reads_the_rows_that_the_events_leave_and_both_go_on(
    spark: Any, runtime: JavaRuntime, lake: fb.Catalog
) -> None:
    for name, rows in make_cdc_tables(spark, "cdcs").items():
        (found,) = runtime.run(f"SELECT * FROM cdcs.db.{name}")
        assert {(row["id"], row["name"]) for row in found} == rows, name
        runtime.run(f"UPDATE cdcs.db.{name} SET name = 'java' WHERE id = 3 OR id = 2")
        frame = spark.createDataFrame([("D", 9, 4, None), ("U", 9, 1, "own")], EVENTS)
        fb.cdc(frame, f"cdcs.db.{name}", keys="id", op="op", order_by="ord")
        expected = {(key, "java") for key, _ in rows if key in (2, 3)} | {(1, "own")}
        (found,) = runtime.run(f"SELECT * FROM cdcs.db.{name}")
        assert {(row["id"], row["name"]) for row in found} == expected, name
        assert {tuple(row) for row in spark.table(f"cdcs.db.{name}").collect()} == expected, name
