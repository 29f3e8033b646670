"""What scripts say after USE, and in methods that take text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StructType


@pytest.fixture
def in_lake(session: Any) -> Any:
    session.sql("CREATE OR REPLACE TABLE lake.db.t (id INT, p STRING) USING iceberg PARTITIONED BY (p)")
    session.sql("INSERT INTO lake.db.t VALUES (1, 'a'), (2, 'b'), (3, 'b')")
    session.sql("USE lake.db")
    yield session
    session.sql("USE spark_catalog.default")


@pytest.mark.connect
def test_the_current_place_is_ours_after_use(in_lake: Any) -> None:
    frame = in_lake.sql(
        "SELECT current_catalog(), current_database(), concat(current_schema(), '!') AS x FROM t LIMIT 1"
    )
    assert frame.columns == ["current_catalog()", "current_database()", "x"]
    assert [tuple(row) for row in frame.collect()] == [("lake", "db", "db!")]
    assert in_lake.sql("SELECT 'current_database()', id FROM t WHERE current_database() = 'db'").count() == 3
    in_lake.sql("USE spark_catalog.default")
    assert in_lake.sql("SELECT current_catalog()").collect()[0][0] == "spark_catalog"


def test_files_are_read_by_their_path_after_use(in_lake: Any, tmp_path: Path) -> None:
    in_lake.range(4).write.parquet(str(tmp_path / "files"))
    joined = in_lake.sql(f"SELECT count(*) FROM parquet.`{tmp_path}/files` f JOIN t ON f.id = t.id")
    assert joined.collect()[0][0] == 3
    assert in_lake.table(f"parquet.`{tmp_path}/files`").count() == 4


@pytest.mark.connect
def test_a_condition_as_text_may_read_tables(in_lake: Any) -> None:
    numbers = in_lake.range(5)
    found = numbers.where("id IN (SELECT id FROM lake.db.t WHERE p <> '{x}')").select(numbers.id)
    assert sorted(row.id for row in found.collect()) == [1, 2, 3]
    assert in_lake.table("lake.db.t").where("id = (SELECT max(id) FROM t)").collect()[0].id == 3


@pytest.mark.connect
def test_the_catalog_creates_tables(in_lake: Any) -> None:
    schema = StructType.fromDDL("a INT, b STRING")
    frame = in_lake.catalog.createTable("lake.db.made", source="iceberg", schema=schema, description="hi", foo="bar")
    assert frame.columns == ["a", "b"]
    assert in_lake.sql("SHOW TBLPROPERTIES made ('foo')").collect()[0].value == "bar"
    assert in_lake.catalog.getTable("made").description == "hi"
    in_lake.sql("DROP TABLE made")


def test_samples_and_nearest_joins_read_our_tables(in_lake: Any) -> None:
    if in_lake.version.startswith("4.1"):
        pytest.skip("Spark 4.1 has neither")
    assert in_lake.sql("SELECT id FROM t TABLESAMPLE BERNOULLI (100 PERCENT) x WHERE x.id > 1").count() == 2
    # Were the condition on b used to skip files of b, other rows would be the nearest.
    nearest = "SELECT a.id, b.id FROM t a JOIN lake.db.t b EXACT NEAREST 1 BY DISTANCE abs(a.id - b.id) WHERE b.p = 'b'"
    assert sorted(map(tuple, in_lake.sql(nearest).collect())) == [(2, 2), (3, 3)]


def test_an_overwrite_takes_rows_outside_its_condition(in_lake: Any) -> None:
    in_lake.createDataFrame([(50, "z")], "id INT, p STRING").writeTo("lake.db.t").overwrite(F.col("p") == "b")
    in_lake.sql("INSERT INTO t REPLACE WHERE p = 'a' SELECT 60, 'y'")
    assert sorted(map(tuple, in_lake.table("t").collect())) == [(50, "z"), (60, "y")]


def test_the_plan_of_a_change_names_the_command_and_its_rows(in_lake: Any) -> None:
    def plan(statement: str) -> str:
        return str(in_lake.sql(f"EXPLAIN {statement}").collect()[0][0])

    assert plan("DELETE FROM t WHERE p = 'b'").startswith(
        "== Physical Plan ==\nDeleteFromTable lake.db.t, [p = 'b']\n+- "
    )
    assert "ReplaceData IcebergWrite(table=lake.db.t, format=PARQUET)\n+- " in plan("UPDATE t SET id = 1 WHERE id = 2")
    assert "AppendData IcebergWrite(table=lake.db.t" in plan("INSERT INTO t SELECT * FROM t")
    merge = plan("MERGE INTO t USING lake.db.t s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert "ReplaceData" in merge
    assert "Join" in merge
    assert in_lake.table("t").count() == 3


def test_strings_that_are_no_utf8_are_stored_as_spark_stores_them(in_lake: Any) -> None:
    in_lake.sql("CREATE OR REPLACE TABLE bytes (id INT, s STRING) USING iceberg")
    in_lake.sql("INSERT INTO bytes VALUES (1, CAST(X'61FF62' AS STRING)), (2, 'ok'), (3, CAST(X'FF' AS STRING))")
    in_lake.sql("UPDATE bytes SET id = 20 WHERE id = 2")
    found = sorted(map(tuple, in_lake.sql("SELECT id, hex(s) FROM bytes").collect()))
    assert found == [(1, "61FF62"), (3, "FF"), (20, "6F6B")]
    assert in_lake.sql("SELECT id FROM bytes WHERE s > 'zzz'").collect()[0].id == 3
