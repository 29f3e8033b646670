"""A Spark driver in a process of its own: runs the statements that it is given on its input, one a line, until that ends.

`python spark_driver.py database warehouse`: `lake` is a JDBC catalog that other processes have too. It says `ready` when its
session is there, and after each statement `done`, or the name of what it raised.
"""

from __future__ import annotations

import os
import sys

import floeberg as fb
from floeberg.errors import FloebergError

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
    "spark.floeberg.rerun-on-conflict": "true",
}


def main(database: str, warehouse: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    fb.attach(spark, fb.catalog("lake", type="jdbc", uri=database, warehouse=warehouse))
    spark.sql("SELECT count(*) FROM lake.db.t").collect()
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            spark.sql(line)
            print("done", flush=True)
        except FloebergError as error:
            print(f"{type(error).__name__}: {error}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
