"""A table that follows PostgreSQL: `make demo-cdc`. PostgreSQL → Debezium → Kafka → Spark → an Iceberg table, real servers all.

Rows are inserted, updated and deleted, a key moves and a column is added while the stream runs; at the end the table holds what
PostgreSQL holds. Needs Java, Maven and a PostgreSQL server; the rest is fetched.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import floeberg as fb
from servers import class_path, debezium, kafka, postgres, wait_until

TABLE = "lake.shop.orders"
SPARK_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
CHANGES = (
    ("two more orders", "INSERT INTO orders VALUES (4, 'Barbara', 8.00, now()), (5, 'Ada', 16.25, now())"),
    ("a price changes", "UPDATE orders SET price = price + 0.50 WHERE id = 1"),
    ("an order is deleted", "DELETE FROM orders WHERE id = 3"),
    ("a key moves", "UPDATE orders SET id = 102 WHERE id = 2"),
    ("inserted, changed and deleted in one transaction",
     "BEGIN; INSERT INTO orders VALUES (9, 'x', 1, now()); UPDATE orders SET price = 2 WHERE id = 9; "
     "DELETE FROM orders WHERE id = 9; COMMIT"),
    ("many at once",
     "INSERT INTO orders SELECT n, 'customer ' || n % 7, n / 100.0, now() FROM generate_series(1000, 1499) n"),
    ("a third of them goes", "DELETE FROM orders WHERE id >= 1000 AND id % 3 = 0"),
)  # fmt: skip
AFTER_THE_NEW_COLUMN = (
    ("the new column has values", "UPDATE orders SET note = 'gift' WHERE id IN (1, 4, 102)"),
    ("a row with it", "INSERT INTO orders VALUES (6, 'Grace', 3.75, now(), 'fragile')"),
)


def main(folder: Path) -> None:
    say("starting PostgreSQL, Kafka and Debezium")
    jars = class_path("spark_kafka.xml")
    with postgres(folder) as database, kafka(folder) as brokers:
        database.sql(
            "CREATE TABLE orders (id BIGINT PRIMARY KEY, customer TEXT, price NUMERIC(10, 2), ordered TIMESTAMPTZ);"
            "INSERT INTO orders VALUES (1, 'Ada', 2.00, now()), (2, 'Grace', 4.50, now()), (3, 'Edsger', 1.99, now())"
        )
        with debezium(folder, brokers, database, "public.orders"):
            say("starting Spark and the stream")
            spark = start_spark(folder, jars)
            lake = fb.catalog("lake", warehouse=str(folder / "lake"))
            lake.create_namespace("shop")
            fb.attach(spark, lake)
            spark.sql(
                f"CREATE TABLE {TABLE} (id BIGINT, customer STRING, price DECIMAL(10, 2), ordered TIMESTAMP) "
                "TBLPROPERTIES ('format-version' = '3')"
            )
            query = start_stream(spark, brokers, folder)
            change(database)
            compare(spark, lake, database, query)
            say("a column is added: to the table first, then to the source")
            spark.sql(f"ALTER TABLE {TABLE} ADD COLUMN note STRING")
            database.sql("ALTER TABLE orders ADD COLUMN note TEXT")
            for what, statement in AFTER_THE_NEW_COLUMN:
                say(what)
                database.sql(statement)
            compare(spark, lake, database, query)
            query.stop()
            spark.stop()


def say(what: str) -> None:
    print(f"· {what}", flush=True)


def start_spark(folder: Path, jars: str) -> Any:
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder = SparkSession.builder.master("local[2]").config("spark.jars", jars.replace(os.pathsep, ","))
    for name, value in SPARK_SETTINGS.items():
        builder = builder.config(name, value)
    return builder.config("spark.sql.warehouse.dir", str(folder / "spark-warehouse")).getOrCreate()


def start_stream(spark: Any, brokers: str, folder: Path) -> Any:
    """All that a user writes: the topic, and `fb.cdc`."""
    events = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("subscribe", "shop.public.orders")
        .option("startingOffsets", "earliest")
        .load()
    )
    writer = fb.cdc(events, TABLE, keys="id", format="debezium", checkpoint=str(folder / "checkpoint"))
    return writer.trigger(processingTime="1 second").start()


def change(database: Any) -> None:
    for what, statement in CHANGES:
        say(what)
        database.sql(statement)
        time.sleep(2)  # so that several micro-batches see them


def compare(spark: Any, lake: fb.Catalog, database: Any, query: Any) -> None:
    """Waits until the table holds what PostgreSQL holds, and says what it took."""
    columns = ", ".join(spark.table(TABLE).drop("ordered").columns)
    there = f"SELECT {columns}, to_char(ordered AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') FROM orders"
    here = f"SELECT {columns}, date_format(ordered, 'yyyy-MM-dd HH:mm:ss.SSSSSS') FROM {TABLE}"
    expected = sorted(database.sql(there))

    def found() -> list[tuple[str, ...]]:
        return sorted(
            tuple("NULL" if value is None else str(value) for value in row) for row in spark.sql(here).collect()
        )

    def is_equal() -> bool:
        if not query.isActive:
            sys.exit(f"the stream ended: {query.exception()}")
        return found() == expected

    wait_until("the rows of PostgreSQL in the table", is_equal)
    commits = len(lake.load_table("shop.orders").snapshots)
    print(f"The table is equal to PostgreSQL's: {len(expected)} rows, in {commits} commits.", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="floeberg-cdc-", ignore_cleanup_errors=True) as temporary:
        os.chmod(temporary, 0o755)  # PostgreSQL's own user finds its folder in it
        main(Path(temporary))
