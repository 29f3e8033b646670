"""Tables on S3 are read by a stock PySpark, which has no S3 file system of its own."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog
from floeberg.arrow.columns.types import arrow_schema
from floeberg.spark.read.frame import table_frame
from floeberg.spark.read.frame_explanation import explain
from servers.s3_server import running_s3_server
from spark_runs.spark_rows import arrow_rows, loaded, spark_rows


@pytest.mark.s3
def test_a_table_on_s3_is_read_in_python_workers_that_get_its_credentials(spark: Any) -> None:
    with running_s3_server() as server:
        lake = catalog("s", warehouse=f"s3://{server.new_bucket()}/wh", properties=server.options())
        lake.create_namespace("db")
        table = lake.create_table("db.t", "id bigint, name string", properties={"write.delete.mode": "merge-on-read"})
        for first in (0, 10):
            rows = [{"id": i, "name": f"n{i}"} for i in range(first, first + 10)]
            table.append(pa.Table.from_pylist(rows, schema=arrow_schema(table.schema)))
        table.delete(where="id = 13")
        frame = table_frame(spark, loaded(table))
        assert spark_rows(frame) == arrow_rows(table)
        assert explain(frame).arrow_files == 2
