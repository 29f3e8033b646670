"""INSERT into a view of a table's DataFrame is refused: Spark would write where the table's data files are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from spark_runs.spark_session import CONNECT

pytestmark = pytest.mark.skipif(CONNECT, reason="Spark Connect has no views of relations")
FRAMES: dict[str, Callable[[Any, Any], Any]] = {
    "spark.table": lambda spark, table: spark.table("lake.db.target"),
    "to_spark": lambda spark, table: table.to_spark(spark),
    "load": lambda spark, table: spark.read.format("iceberg").load(table.location),
    "alias": lambda spark, table: table.to_spark(spark).alias("x"),
    "to_spark, not attached": lambda spark, table: table.to_spark(spark.newSession()),
}


@pytest.fixture(scope="module")
def target(session: Any) -> Iterator[Any]:
    """A table of one data file."""
    session.sql("CREATE TABLE lake.db.target (id INT, s STRING)")
    session.sql("INSERT INTO lake.db.target VALUES (1, 'a')")
    yield session.lake.load_table("db.target")
    session.sql("DROP TABLE lake.db.target PURGE")


@pytest.mark.parametrize("insert", ["INTO", "OVERWRITE"])
@pytest.mark.parametrize("made", FRAMES)
def test_a_view_of_a_tables_frame_takes_no_rows(session: Any, target: Any, made: str, insert: str) -> None:
    frame = FRAMES[made](session, target)
    spark = frame.sparkSession
    frame.createOrReplaceTempView("shown")
    frame.createOrReplaceGlobalTempView("shown_to_all")
    for view in ("shown", "global_temp.shown_to_all"):
        with pytest.raises(AnalysisException):
            spark.sql(f"INSERT {insert} {view} VALUES (2, 'b')")
    with pytest.raises(AnalysisException):
        spark.sql(f"INSERT {insert} {{x}} VALUES (2, 'b')", x=frame)
    with pytest.raises(AnalysisException):
        # createDataFrame would leave this session the active one.
        spark.sql("SELECT 2 AS id, 'b' AS s").write.insertInto("shown", overwrite=insert == "OVERWRITE")
    assert [tuple(row) for row in frame.collect()] == [(1, "a")]
    assert [tuple(row) for row in session.sql("SELECT * FROM lake.db.target").collect()] == [(1, "a")]
    spark.catalog.dropTempView("shown")
    spark.catalog.dropGlobalTempView("shown_to_all")
