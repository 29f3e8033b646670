"""Run by the `java` peer: runs SQL statements in Spark with the Java Iceberg runtime, prints each one's rows as a JSON line.

Catalog `h` is a HadoopCatalog, `j` a JdbcCatalog on SQLite. Arguments: runtime jar, SQLite driver jar, warehouse of h, database
and warehouse of j; statements come as a JSON list on stdin.
"""

import json
import os
import sys

from pyspark.sql import SparkSession


def session(runtime: str, driver: str, warehouse: str, database: str, jdbc_warehouse: str) -> SparkSession:
    settings = {
        "spark.jars": f"{runtime},{driver}",
        "spark.driver.extraClassPath": driver,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.h": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.h.type": "hadoop",
        "spark.sql.catalog.h.warehouse": warehouse,
        "spark.sql.catalog.h.cache-enabled": "false",
        "spark.sql.catalog.j": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.j.type": "jdbc",
        "spark.sql.catalog.j.uri": f"jdbc:sqlite:{database}",
        "spark.sql.catalog.j.warehouse": jdbc_warehouse,
        "spark.sql.catalog.j.jdbc.schema-version": "V1",
        "spark.sql.catalog.j.cache-enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def main() -> None:
    spark = session(*sys.argv[1:])
    for statement in json.load(sys.stdin):
        rows = [row.asDict(recursive=True) for row in spark.sql(statement).collect()]
        print("ROWS " + json.dumps({"statement": statement, "rows": rows}, default=str))
    sys.stdout.flush()
    os._exit(0)


main()
