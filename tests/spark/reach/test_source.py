"""The Python data source, in a session that is not attached: tables by path, read and written."""

from __future__ import annotations

from typing import Any

import pytest

from floeberg.api.catalog import Catalog
from floeberg.spark.entry.source import register_source


def rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.refresh().scan().to_arrow().to_pylist())


@pytest.mark.cluster
def test_a_session_that_is_not_attached_reads_and_writes_by_path(spark: Any, lake: Catalog) -> None:
    register_source(spark)
    table = lake.create_table("db.plain", "id bigint, p string", partition_by=["p"])
    path = table.location
    frame = spark.createDataFrame([(1, "a"), (2, "b"), (3, "a")], "id BIGINT, p STRING")
    frame.write.format("floeberg").mode("append").option("snapshot-property.job", "nightly").save(path)
    assert rows(table) == [(1, "a"), (2, "b"), (3, "a")]
    assert table.current_snapshot.summary["job"] == "nightly"
    assert sorted(tuple(row) for row in spark.read.format("iceberg").load(path).collect()) == rows(table)
    frame.where("id = 3").select("P", "id").write.format("iceberg").mode("overwrite").save(path)
    assert rows(table) == [(3, "a")]
    assert [task.data_file.partition for task in table.scan().plan()] == [("a",)]
    wrong = {"cast it": frame.selectExpr("id", "1 AS p"), "unknown": frame.selectExpr("id AS x")}
    for message, other in wrong.items():
        with pytest.raises(Exception, match=message):
            other.write.format("floeberg").mode("append").save(path)
    with pytest.raises(Exception, match="attach"):
        spark.read.format("floeberg").load("lake.db.plain").collect()
    failing = frame.selectExpr("IF(id = 3, CAST(raise_error('stop') AS BIGINT), id) AS id", "p").repartition(3)
    with pytest.raises(Exception, match="stop"):
        failing.write.format("floeberg").mode("append").save(path)
    assert rows(table) == [(3, "a")]
