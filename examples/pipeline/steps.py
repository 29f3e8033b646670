"""From Debezium's events to an aggregate that follows them, exactly once.

    files of Kafka messages → bronze (every message) → silver (the orders as they are) → gold (totals of each customer)

Bronze and silver are streaming queries, whose checkpoints say what was read. Gold reads what changed in silver since the
snapshot up to which it has counted, which its own last commit says. Kill it anywhere and start it again: nothing is lost,
and nothing counts twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import floeberg as fb

BRONZE, SILVER, GOLD = "lake.shop.bronze", "lake.shop.silver", "lake.shop.gold"
KAFKA = "topic STRING, partition INT, offset BIGINT, value STRING"
GOLD_APP = "silver-to-gold"


def create_tables(lake: fb.Catalog) -> None:
    lake.create_namespace("shop", if_not_exists=True)
    lake.create_table("shop.bronze", KAFKA, if_not_exists=True)
    lake.create_table("shop.silver", "id BIGINT, customer STRING, cents BIGINT", format_version=3, if_not_exists=True)
    lake.create_table("shop.gold", "customer STRING, orders BIGINT, cents BIGINT", format_version=3, if_not_exists=True)


def to_bronze(spark: Any, folder: Path) -> Any:
    """Appends every message as it came. With Kafka: `spark.readStream.format("kafka")`."""
    messages = spark.readStream.schema(KAFKA).option("maxFilesPerTrigger", 1).json(str(folder / "incoming"))
    writer = messages.writeStream.format("iceberg").option("checkpointLocation", str(folder / "checkpoints" / "bronze"))
    return writer.trigger(availableNow=True).toTable(BRONZE)


def to_silver(spark: Any, folder: Path) -> Any:
    """Applies the events to the orders: one commit for each micro-batch."""
    events = spark.readStream.table(BRONZE)
    checkpoint = str(folder / "checkpoints" / "silver")
    writer = fb.cdc(events, SILVER, keys="id", format="debezium", checkpoint=checkpoint)
    return writer.trigger(availableNow=True).start()


def to_gold(spark: Any, lake: fb.Catalog) -> None:
    """Adds what changed in silver to the totals. The commit names the snapshot of silver up to which it has counted, so that
    the next run goes on there, and a run that is repeated changes nothing."""
    silver, gold = lake.load_table("shop.silver"), lake.load_table("shop.gold")
    until, counted = silver.current_snapshot, gold.txn_version(GOLD_APP)
    if until is None or until.sequence_number == counted:
        return
    if counted is None:
        rows = spark.read.option("snapshot-id", until.snapshot_id).table(SILVER).selectExpr("*", "1 AS sign")
    else:
        between = {"start-snapshot-id": snapshot_of(silver, counted), "end-snapshot-id": until.snapshot_id}
        changes = spark.read.options(**between).table(f"{SILVER}.changes")
        rows = changes.selectExpr("*", "CASE _change_type WHEN 'INSERT' THEN 1 ELSE -1 END AS sign")
    rows.createOrReplaceTempView("silver_changes")
    spark.conf.set("spark.floeberg.txn-app-id", GOLD_APP)
    spark.conf.set("spark.floeberg.txn-version", str(until.sequence_number))
    spark.sql(f"""
        MERGE INTO {GOLD} t
        USING (
          SELECT customer, sum(sign) AS orders, sum(sign * cents) AS cents FROM silver_changes GROUP BY customer
        ) s
        ON t.customer = s.customer
        WHEN MATCHED AND t.orders + s.orders = 0 THEN DELETE
        WHEN MATCHED THEN UPDATE SET orders = t.orders + s.orders, cents = t.cents + s.cents
        WHEN NOT MATCHED THEN INSERT *
    """)


def snapshot_of(table: fb.Table, sequence_number: int) -> int:
    for snapshot in table.snapshots:
        if snapshot.sequence_number == sequence_number:
            return snapshot.snapshot_id
    raise LookupError(f"{SILVER} expired the snapshot up to which {GOLD} has counted: empty {GOLD} and count anew")


def run(spark: Any, lake: fb.Catalog, folder: Path) -> None:
    """Takes everything that has arrived from end to end."""
    to_bronze(spark, folder).awaitTermination()
    to_silver(spark, folder).awaitTermination()
    to_gold(spark, lake)
