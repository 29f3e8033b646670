"""Files that are not as the specification says read the same on Spark as with the Arrow engine, filters included."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog
from floeberg.spark.entry.to_spark import to_spark
from floeberg.spark.read.frame import table_frame
from floeberg.spec.snapshots.manifest_entry import FileFormat
from lakes.foreign_tables import add_file, foreign_table, with_id
from spark_runs.spark_rows import arrow_rows, loaded, spark_rows

PLAIN = pa.table({"x": [1, 2, 3], "y": ["a", None, "c"]})
PARTIAL = pa.table(
    [[1, 2], ["a", "b"]], schema=pa.schema([with_id(pa.field("id", pa.int64()), 1), pa.field("name", pa.string())])
)
ELEMENT = with_id(pa.field("element", pa.int64()), 500)
LISTS = pa.table(
    [[1], [[4, 5]]],
    schema=pa.schema([with_id(pa.field("id", pa.int64()), 1), with_id(pa.field("l", pa.list_(ELEMENT)), 2)]),
)


@pytest.mark.parametrize(
    ("schema", "rows", "file_format", "where"),
    [
        ("id bigint, name string, more double", PLAIN, FileFormat.PARQUET, "name is null"),
        ("y string, x bigint", PLAIN, FileFormat.ORC, "x > 1"),
        ("y string, x bigint", PLAIN, FileFormat.AVRO, "x > 1"),
        ("id bigint, name string", PARTIAL, FileFormat.PARQUET, "name is null"),
        ("id bigint, l array<bigint>", LISTS, FileFormat.PARQUET, "id = 1"),
    ],
    ids=["positions", "orc-names", "avro-names", "partial-ids", "element-ids"],
)
def test_a_file_of_another_writer_reads_the_same(
    spark: Any, lake: Catalog, schema: str, rows: pa.Table, file_format: FileFormat, where: str
) -> None:
    table = foreign_table(lake, schema, rows, file_format)
    expected = arrow_rows(table)
    assert len(expected) == rows.num_rows
    assert spark_rows(table_frame(spark, loaded(table))) == expected
    assert spark_rows(to_spark(spark, loaded(table), where=where)) == arrow_rows(table, where=where)


def test_files_of_another_writer_beside_those_written_into_the_table_read_the_same(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "id bigint, name string")
    table.append(pa.table({"id": [10, 11], "name": ["own", None]}))
    for number in range(3):
        add_file(table, PLAIN, name=f"part-0000{number}-of-import")
    expected = arrow_rows(table)
    assert len(expected) == 11
    assert spark_rows(table_frame(spark, loaded(table))) == expected
    for where in ("id = 2", "name is null", "name = 'own'"):
        assert spark_rows(to_spark(spark, loaded(table), where=where)) == arrow_rows(table, where=where)
