"""Spark over a REST catalog of the Java reference server, by the Java runtime's settings."""

from __future__ import annotations

import pytest

import floeberg as fb
from servers.rest_servers import RestServer


def test_a_script_for_the_java_runtime_runs(java_server: RestServer) -> None:
    pyspark = pytest.importorskip("pyspark.sql")
    java_server.forget()
    spark = (
        pyspark.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.catalog.rest", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.rest.type", "rest")
        .config("spark.sql.catalog.rest.uri", java_server.uri)
        .config("spark.sql.catalog.rest.header.X-Test", "yes")
        .getOrCreate()
    )
    try:
        fb.attach(spark)
        spark.sql("CREATE NAMESPACE rest.db")
        spark.sql("CREATE TABLE rest.db.t USING iceberg AS SELECT id, id % 2 AS p FROM range(10)")
        spark.sql("INSERT INTO rest.db.t VALUES (10, 0)")
        spark.sql(
            "MERGE INTO rest.db.t t USING (SELECT 1 AS id, 9 AS p UNION ALL SELECT 11, 9) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET p = s.p WHEN NOT MATCHED THEN INSERT *"
        )
        spark.sql("DELETE FROM rest.db.t WHERE id = 0")
        assert spark.sql("SELECT count(*), sum(p) FROM rest.db.t").collect() == [(11, 22)]
        spark.sql(
            "CREATE OR REPLACE TABLE rest.db.u USING iceberg PARTITIONED BY (p) AS SELECT * FROM rest.db.t WHERE id > 5"
        )
        spark.sql("CREATE VIEW rest.db.v AS SELECT p FROM rest.db.u WHERE p = 9")
        assert spark.table("rest.db.v").collect() == [(9,)]
        assert {row.tableName for row in spark.sql("SHOW TABLES IN rest.db").collect()} >= {"t", "u"}
        spark.sql("ALTER TABLE rest.db.t RENAME TO rest.db.w")
        spark.sql("DROP TABLE rest.db.w PURGE")
        assert not spark.catalog.tableExists("rest.db.w")
    finally:
        fb.detach(spark)
        spark.stop()
