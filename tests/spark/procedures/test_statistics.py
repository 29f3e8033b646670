"""CALL compute_table_stats and compute_partition_stats, and ANALYZE TABLE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions

from floeberg.errors import InvalidInput
from floeberg.files.puffin import read_blob, read_footer


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


@pytest.fixture(scope="module")
def table(session: Any) -> Any:
    session.sql("CREATE TABLE lake.db.counted (id BIGINT, p INT, name STRING) USING iceberg PARTITIONED BY (p)")
    session.range(6000).selectExpr("id", "CAST(id % 3 AS INT) p", "concat('n', id % 500) name").writeTo(
        "lake.db.counted"
    ).append()
    session.sql("DELETE FROM lake.db.counted WHERE id >= 5000")
    return session.lake.load_table("db.counted")


def sketches(path: str) -> list[bytes]:
    data = Path(path).read_bytes()
    return [read_blob(data, blob) for blob in read_footer(data).blobs]


def test_workers_make_the_sketches_that_one_process_makes(session: Any, table: Any) -> None:
    answer = session.sql(
        "CALL lake.system.compute_table_stats(table => 'db.counted', columns => array('ID', 'name', 'p'))"
    )
    assert answer.columns == ["statistics_file"]
    ((path,),) = rows(answer)
    by_spark = table.refresh().metadata.statistics[-1]
    assert by_spark.statistics_path == path
    in_process = table.maintenance.compute_table_stats(columns=["id", "name", "p"])
    found = {blob.fields[0]: int(blob.properties["ndv"]) for blob in by_spark.blob_metadata}
    assert found == in_process.distinct_values
    assert (found[2], found[3]) == (3, 500)
    assert abs(found[1] / 5000 - 1) < 0.05
    assert sketches(path) == sketches(in_process.file.statistics_path)


@pytest.mark.skipif(not hasattr(functions, "theta_sketch_estimate"), reason="this Spark has no theta sketches")
def test_sparks_own_library_reads_the_sketches(session: Any, table: Any) -> None:
    """Spark has the Java library; of texts it hashes the same bytes."""
    done = table.maintenance.compute_table_stats(columns=["id", "name"])
    ids, names = (f"X'{data.hex()}'" for data in sketches(done.file.statistics_path))
    own = "(SELECT theta_sketch_agg(name) FROM lake.db.counted)"
    ((of_ids, of_names, of_both),) = rows(
        session.sql(
            f"SELECT theta_sketch_estimate({ids}), theta_sketch_estimate({names}), "
            f"theta_sketch_estimate(theta_union({names}, {own}))"
        )
    )
    assert (of_ids, of_names, of_both) == (done.distinct_values[1], 500, 500)


def test_partitions_are_computed_and_analyze_computes_either(session: Any, table: Any) -> None:
    ((path,),) = rows(session.sql("CALL lake.system.compute_partition_stats('db.counted')"))
    assert table.refresh().metadata.partition_statistics[-1].statistics_path == path
    found = session.read.parquet(path).selectExpr("partition.p", "data_record_count", "data_file_count")
    assert rows(found) == rows(
        session.sql("SELECT partition.p, record_count, file_count FROM lake.db.counted.partitions ORDER BY 1")
    )
    assert rows(session.sql("ANALYZE TABLE lake.db.counted COMPUTE STATISTICS FOR COLUMNS name")) == []
    assert [blob.fields for blob in table.refresh().metadata.statistics[-1].blob_metadata] == [(3,)]
    session.sql("ANALYZE TABLE lake.db.counted COMPUTE STATISTICS FOR ALL COLUMNS")
    assert [blob.fields for blob in table.refresh().metadata.statistics[-1].blob_metadata] == [(1,), (2,), (3,)]
    session.sql("ANALYZE TABLE lake.db.counted COMPUTE STATISTICS NOSCAN")
    assert table.refresh().metadata.partition_statistics[-1].statistics_path != path
    for wrong, said in (
        ("CALL lake.system.compute_table_stats('db.counted', 17)", "17"),
        ("CALL lake.system.compute_table_stats(table => 'db.counted', columns => array('nope'))", "no column 'nope'"),
        ("ANALYZE TABLE lake.db.counted COMPUTE STATISTICS FOR COLUMNS nope", "no column 'nope'"),
    ):
        with pytest.raises(Exception, match=said) as raised:
            session.sql(wrong)
        assert isinstance(raised.value, InvalidInput) or "17" in said
