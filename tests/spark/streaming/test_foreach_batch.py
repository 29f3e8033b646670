"""Functions of users for `foreachBatch`: any operation on tables, once for each epoch when it names a version."""

from __future__ import annotations

from pathlib import Path

import pytest

import floeberg as fb


def rows(session, name: str) -> list[tuple[int, ...]]:
    return sorted(tuple(row) for row in session.table(name).collect())


@pytest.mark.connect
def test_a_function_changes_tables_in_every_way_once(session, table, stream):
    session.sql("CREATE TABLE lake.db.last (id BIGINT, p INT) USING iceberg")
    warehouse = session.lake.load_table("db.t").location.rpartition("/db/")[0]

    def load(batch, epoch):
        spark = batch.sparkSession
        batch.writeTo("lake.db.t").options(txnAppId="job", txnVersion=epoch).append()
        spark.conf.set("spark.floeberg.txn-app-id", "job")
        spark.conf.set("spark.floeberg.txn-version", str(epoch))
        batch.selectExpr("p AS id", "CAST(id AS INT) AS p").createOrReplaceTempView("changes")
        spark.sql(
            "MERGE INTO lake.db.last t USING (SELECT id, sum(p) p FROM changes GROUP BY id) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET p = t.p + s.p WHEN NOT MATCHED THEN INSERT *"
        )
        with fb.catalog("lake", warehouse=warehouse) as lake:
            lake.load_table("db.t").delete(f"id = {epoch}", txn=("cleaner", epoch))

    def run():
        writer = stream.frame().writeStream.foreachBatch(load).trigger(availableNow=True)
        writer.option("checkpointLocation", stream.checkpoint).start().awaitTermination()

    stream.ids(0, 1, 2)
    stream.ids(3, 4, 5)
    run()
    once = rows(session, "lake.db.t"), rows(session, "lake.db.last")
    assert [row[0] for row in once[0]] == [2, 3, 4, 5]
    assert once[1] == [(0, 3), (1, 5), (2, 7)]
    (Path(stream.checkpoint) / "commits" / "1").unlink()
    (Path(stream.checkpoint) / "commits" / ".1.crc").unlink(missing_ok=True)
    run()
    assert (rows(session, "lake.db.t"), rows(session, "lake.db.last")) == once
    session.sql("DROP TABLE lake.db.last")
