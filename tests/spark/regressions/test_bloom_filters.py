"""Bloom filters of Parquet files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F


def test_negative_zero_is_found_by_zero_in_a_file_with_a_bloom_filter(session: Any, tmp_path: Path) -> None:
    table = session.lake.create_table("db.bloom", "id int, x double", format_version=2)
    table.append(pa.table({"id": pa.array([1, 2], pa.int32()), "x": [-0.0, 5.5]}))
    rows = session.sql("SELECT * FROM VALUES (1, -0.0D), (2, 5.5D) AS t(id, x)").coalesce(1)
    with_ids = rows.select(
        *(F.col(c).alias(c, metadata={"parquet.field.id": n}) for n, c in enumerate(rows.columns, 1))
    )
    writer = with_ids.write.option("parquet.bloom.filter.enabled#x", "true").option(
        "parquet.enable.dictionary", "false"
    )
    writer.parquet(str(tmp_path / "written"))
    (task,) = table.scan().plan()
    shutil.copy(next((tmp_path / "written").glob("*.parquet")), task.data_file.file_path)
    found = [row.id for row in session.sql("SELECT id FROM lake.db.bloom WHERE x = 0.0D").collect()]
    assert found == [1]
