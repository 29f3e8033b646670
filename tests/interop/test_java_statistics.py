"""The Java runtime reads our statistics: the numbers of distinct values, and partition statistics that it goes on from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import floeberg as fb
from floeberg.testing.table_builder import TableBuilder
from peers.java_peer import JavaRuntime, lake_of_both

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def lake(spark: Any, runtime: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fb.Catalog]:
    with lake_of_both(spark, runtime, tmp_path_factory.mktemp("statistics"), "stats", "db") as made:
        yield made


def changed(lake: fb.Catalog, name: str, version: int) -> TableBuilder:
    builder = TableBuilder(
        partition_by=["p"],
        format_version=version,
        properties={"write.delete.mode": "merge-on-read"},
        in_catalog=lake,
        name=f"db.{name}",
    )
    for part in range(3):
        builder.append(*[(number, number % 2, f"v{number % 5}") for number in range(part * 10, part * 10 + 10)])
    return builder.delete("id = 7")


def partition_rows(table: fb.Table) -> list[dict[str, Any]]:
    current = table.metadata.current_snapshot_id
    (found,) = [one for one in table.metadata.partition_statistics if one.snapshot_id == current]
    return pq.read_table(Path(found.statistics_path.removeprefix("file:"))).to_pylist()


@pytest.mark.parametrize("version", [2, 3])
def test_java_counts_the_same_distinct_values(runtime: JavaRuntime, lake: fb.Catalog, version: int) -> None:
    builder = changed(lake, f"distinct_{version}", version)
    ours = builder.table.maintenance.compute_table_stats().distinct_values
    assert ours == {1: 29, 2: 2, 3: 5}
    runtime.run(f"CALL stats.system.compute_table_stats('db.distinct_{version}')")
    (by_java,) = builder.table.refresh().metadata.statistics
    blobs = by_java.blob_metadata
    assert {blob.fields[0]: int(blob.properties["ndv"]) for blob in blobs} == ours


@pytest.mark.parametrize("version", [2, 3])
def test_java_goes_on_from_our_partition_statistics(runtime: JavaRuntime, lake: fb.Catalog, version: int) -> None:
    """After an append Java computes only the change, and adds it to what our file says."""
    builder = changed(lake, f"parts_{version}", version)
    builder.table.maintenance.compute_partition_stats()
    builder.append((50, 1, "x"), (51, None, "y"))
    runtime.run(f"CALL stats.system.compute_partition_stats('db.parts_{version}')")
    table = builder.table.refresh()
    by_java = partition_rows(table)
    table.maintenance.compute_partition_stats()
    ours = partition_rows(table)
    assert len(ours) == 3

    def shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: value or 0 for name, value in row.items() if name != "total_record_count"} for row in rows]

    assert shown(by_java) == shown(ours)


def test_java_plans_with_our_distinct_values(runtime: JavaRuntime, lake: fb.Catalog) -> None:
    builder = TableBuilder(in_catalog=lake, name="db.planned")
    builder.append(*[(number, number % 2, f"v{number % 5}") for number in range(100)])
    builder.table.maintenance.compute_table_stats()
    settings = {"spark.sql.cbo.enabled": "true", "spark.sql.cbo.planStats.enabled": "true"}
    (answer,) = runtime.ask(["EXPLAIN COST SELECT v, count(*) FROM stats.db.planned GROUP BY v"], settings)
    assert "rowCount=5" in answer.rows[0]["plan"].partition("Relation")[0], answer
