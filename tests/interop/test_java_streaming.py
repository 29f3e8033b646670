"""Streams beside the Java runtime: it expires, rolls back and compacts between epochs, and a replayed epoch stays one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from peers.java_peer import JavaRuntime, lake_of_both

pytestmark = pytest.mark.java


def test_epochs_are_known_after_the_java_runtime_changed_the_history(
    spark: Any, runtime: JavaRuntime, tmp_path: Path
) -> None:
    with lake_of_both(spark, runtime, tmp_path / "lake", "streams", "db") as lake:
        spark.sql("CREATE TABLE streams.db.t (id BIGINT) USING iceberg")
        (tmp_path / "input").mkdir()
        table = lake.load_table("db.t")

        def run() -> None:
            frame = spark.readStream.schema("id BIGINT").option("maxFilesPerTrigger", 1).json(str(tmp_path / "input"))
            writer = frame.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
            writer.trigger(availableNow=True).toTable("streams.db.t").awaitTermination()

        def replay(*epochs: int) -> list[int]:
            for name in (name for epoch in epochs for name in (f"{epoch}", f".{epoch}.crc")):
                (tmp_path / "checkpoint" / "commits" / name).unlink(missing_ok=True)
            run()
            return sorted(row["id"] for row in table.refresh().scan().to_arrow().to_pylist())

        for number in range(3):
            (tmp_path / "input" / f"{number}.json").write_text(f'{{"id": {number}}}')
        run()
        runtime.run(
            "CALL streams.system.rewrite_data_files(table => 'db.t', options => map('rewrite-all', 'true'))",
            "CALL streams.system.expire_snapshots(table => 'db.t', older_than => TIMESTAMP '2100-01-01', retain_last => 1)",
        )
        assert len(table.refresh().snapshots) == 1
        assert replay(2) == [0, 1, 2]
        query_id = json.loads((tmp_path / "checkpoint" / "metadata").read_text())["id"]
        assert table.txn_version(query_id) == 2

        (tmp_path / "input" / "3.json").write_text('{"id": 3}')
        before = table.current_snapshot.snapshot_id
        assert replay() == [0, 1, 2, 3]
        runtime.run(f"CALL streams.system.rollback_to_snapshot('db.t', {before})")
        assert table.refresh().txn_version(query_id) == 2  # what the Java runtime rolled back is open again
        assert replay(3) == [0, 1, 2, 3]
        ((read,),) = [runtime.run("SELECT count(*) AS n FROM streams.db.t")[0]]
        assert read["n"] == 4
