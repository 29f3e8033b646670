"""The Java runtime reads our statistics: the numbers of distinct values, and partition statistics that it goes on from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import floeberg as fb
from floeberg.files.puffin import read_blob, read_footer
from floeberg.files.theta_sketch import read_sketch
from floeberg.spec.snapshots.statistics import StatisticsFile
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


def sketches(file: StatisticsFile) -> dict[int, bytes]:
    data = Path(file.statistics_path.removeprefix("file:")).read_bytes()
    return {blob.fields[0]: read_blob(data, blob) for blob in read_footer(data).blobs}


def test_java_counts_the_same_distinct_values_with_the_same_hashes_and_reads_ours(
    runtime: JavaRuntime, lake: fb.Catalog
) -> None:
    kinds = (
        "id bigint, i int, s string, d date, t timestamp, x double, f float, b boolean, dec decimal(20,3), bin binary"
    )
    runtime.run(
        f"CREATE TABLE stats.db.kinds ({kinds}) USING iceberg",
        "INSERT INTO stats.db.kinds SELECT id, CAST(id % 90 AS INT), concat('text ', id % 700), date_add(DATE '2020-01-01', "
        "CAST(id % 400 AS INT)), timestamp_micros(id * 1000003), id / 7.0, CAST(id % 33 AS FLOAT), id % 2 = 0, "
        "CAST(id * 1.5 - 100 AS DECIMAL(20,3)), CAST(concat('b', id % 50) AS BINARY) FROM range(3000)",
        "CALL stats.system.compute_table_stats('db.kinds')",
    )
    table = lake.load_table("db.kinds")
    (by_java,) = table.metadata.statistics
    done = table.maintenance.compute_table_stats()
    assert done.file is not None
    assert done.distinct_values == {blob.fields[0]: int(blob.properties["ndv"]) for blob in by_java.blob_metadata}
    theirs, ours = sketches(by_java), sketches(done.file)
    for column, data in theirs.items():
        assert read_sketch(data).hashes.tolist() == read_sketch(ours[column]).hashes.tolist(), column
    asked = ", ".join(f"theta_sketch_estimate(X'{data.hex()}') AS c{column}" for column, data in ours.items())
    ((estimates,),) = runtime.run(f"SELECT {asked}")
    assert estimates == {f"c{column}": number for column, number in done.distinct_values.items()}


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


def test_java_s_planner_estimates_rows_by_our_numbers_of_distinct_values(
    runtime: JavaRuntime, lake: fb.Catalog
) -> None:
    table = lake.create_table("db.planned", "id bigint, s string")
    table.append(pa.table({"id": range(3000), "s": [f"text {number % 700}" for number in range(3000)]}))

    def estimated() -> int | None:
        """The rows that Spark expects of a condition, where it can tell."""
        ask = ["EXPLAIN COST SELECT * FROM stats.db.planned WHERE s = 'text 5'"]
        (answer,) = runtime.ask(ask, {"spark.sql.cbo.enabled": "true"})
        found = re.search(r"Filter .*Statistics\(sizeInBytes=[^,)]*, rowCount=([\d.E+]+)\)", answer.rows[0]["plan"])
        return None if found is None else round(float(found[1]))

    try:
        assert estimated() in (None, 3000)
        done = table.maintenance.compute_table_stats()
        assert set(done.distinct_values.values()) == {3000, 700}
        assert estimated() == 5  # 3000 / 700, rounded up
    finally:
        runtime.ask([], {"spark.sql.cbo.enabled": "false"})
