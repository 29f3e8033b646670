"""The pipeline over three deliveries of a shop's events: `python examples/pipeline/run.py [folder]`. Needs Java."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from shop import Shop
from steps import GOLD, create_tables, run

import floeberg as fb


def main(folder: Path) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    shop = Shop(seed=1)
    with fb.catalog("lake", warehouse=str(folder / "lake")) as lake:
        fb.attach(spark, lake)
        create_tables(lake)
        for _ in range(3):
            for _ in range(20):
                shop.change()
            shop.deliver(folder / "incoming")
            run(spark, lake, folder)
            spark.table(GOLD).orderBy("customer").show()
        found = {row.customer: (row.orders, row.cents) for row in spark.table(GOLD).collect()}
        print("equal to the source" if found == shop.totals() else f"NOT equal to the source: {shop.totals()}")
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]).absolute())
    else:
        with tempfile.TemporaryDirectory(prefix="floeberg-pipeline-") as temporary:
            main(Path(temporary))
