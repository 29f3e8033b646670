"""Run by the `java` peer: Spark with the Java Iceberg runtime, which answers requests until its input ends.

A request is a line of JSON: settings to make first (catalogs are made so), and statements. Each statement is answered by a
line `ANSWER {…}` with its rows, as objects and as the text of SQL scripts, or its error. Arguments: the runtime's jar and the
SQLite driver's.
"""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[2]))
from spark_runs.corpus_scripts import shown_row


def session(runtime: str, driver: str) -> SparkSession:
    settings = {
        "spark.jars": f"{runtime},{driver}",
        "spark.driver.extraClassPath": driver,
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def answer(spark: SparkSession, statement: str) -> dict[str, object]:
    try:
        rows = spark.sql(statement).collect()
    except Exception as error:  # whatever fails is the answer
        return {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:600]}"}
    return {"rows": [row.asDict(recursive=True) for row in rows], "shown": [shown_row(row) for row in rows]}


def main() -> None:
    spark = session(*sys.argv[1:])
    for line in sys.stdin:
        request = json.loads(line)
        for key, value in request["settings"].items():
            spark.conf.set(key, value)
        for statement in request["statements"]:
            print("ANSWER " + json.dumps(answer(spark, statement), default=str), flush=True)
    os._exit(0)


main()
