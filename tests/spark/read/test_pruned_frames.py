"""Filters on frames with deletes and of several formats: files are left out, and never a row."""

from __future__ import annotations

import datetime as dt
import operator
import os
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog
from floeberg.api.table import Table
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.commit.row_delta import RowDelta
from floeberg.spark.read.frame import table_frame
from floeberg.spark.read.frame_explanation import explain
from floeberg.spark.read.prune_frames import filtered
from floeberg.spec.snapshots.manifest_entry import FileContent
from spark_runs.spark_rows import loaded

Row = dict[str, Any]
OPS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip
DAY = dt.date(2024, 1, 1)


def row(number: int) -> Row:
    name = None if number % 7 == 0 else f"n{number // 10}'{number % 3}"
    return {"id": number, "name": name, "day": DAY + dt.timedelta(days=number)}


def append(table: Table, first: int) -> None:
    rows = [row(number) for number in range(first, first + 10)]
    table.append(pa.Table.from_pylist(rows, schema=arrow_schema(table.schema)))


def delete_by_key(table: Table, ids: list[int]) -> None:
    writer = RollingWriter(
        table._pointer.store_for(table.location),
        table.schema,
        spec=table.spec,
        new_location=lambda path: f"{table.location}/data/keys.parquet",
        properties={},
        content=FileContent.EQUALITY_DELETES,
        equality_ids=(table.schema.field("id").field_id,),
    )
    writer.write(pa.Table.from_pylist([row(number) for number in ids], schema=arrow_schema(table.schema)))
    table._commit(RowDelta(added=writer.close()))


@pytest.fixture
def mixed(lake: Catalog) -> tuple[Table, list[Row]]:
    """Ten rows a file: 0 and 10 with key deletes, 20 and 30 with position deletes, 40 and 50 plain, 60 in Avro."""
    table = lake.create_table(
        "db.mixed",
        "id bigint, name string, day date",
        format_version=2,
        properties={"write.delete.mode": "merge-on-read"},
    )
    append(table, 0)
    append(table, 10)
    delete_by_key(table, [3, 15])
    for first in (20, 30, 40, 50):
        append(table, first)
    table.delete(where="id in (22, 35)")
    with table.update_properties() as update:
        update.set({"write.format.default": "avro"})
    append(table, 60)
    return table, [row(number) for number in range(70) if number not in (3, 15, 22, 35)]


def plain_where(frame: Any, condition: Any) -> Any:
    return frame.where(condition)


def column_and_test(rng: random.Random) -> tuple[Any, Callable[[Row], bool]]:
    """A random condition as a Column (or text) and what it says of a row in plain Python; nulls fail comparisons."""
    from pyspark.sql import functions as F

    kind = rng.randrange(5)
    if kind == 0:
        low = rng.randrange(70)
        return F.col("id").between(low, low + 12), lambda one: low <= one["id"] <= low + 12
    if kind == 1:
        names = [f"n{rng.randrange(8)}'{rng.randrange(3)}" for _ in range(2)]
        return F.col("name").isin(names), lambda one: one["name"] in names
    if kind == 2:
        (first, one_test), (second, other_test) = column_and_test(rng), column_and_test(rng)
        either = rng.random() < 0.5
        joined = F.expr("true") & (first | second if either else first & second)
        return joined, lambda one: one_test(one) or other_test(one) if either else one_test(one) and other_test(one)
    name, value = rng.choice([("id", rng.randrange(-5, 75)), ("day", DAY + dt.timedelta(days=rng.randrange(70)))])
    sign = rng.choice(sorted(OPS))
    column = {"<": F.col(name) < value, "<=": F.col(name) <= value, ">": F.col(name) > value, ">=": F.col(name) >= value,
              "=": F.col(name) == value, "!=": F.col(name) != value}[sign]  # fmt: skip
    return column, lambda one: OPS[sign](one[name], value)


@pytest.mark.connect
def test_pruned_frames_have_the_rows_of_plain_python(spark: Any, mixed: tuple[Table, list[Row]], few: bool) -> None:
    table, rows = mixed
    frame = table_frame(spark, loaded(table))
    rng = random.Random(7)
    pruned = 0
    for _ in range(5 if few else 15):
        column, test = column_and_test(rng)
        found = filtered(frame, column, plain_where)
        pruned += explain(found).planned_files < 7
        assert sorted(one.id for one in found.select(frame.id).collect()) == [r["id"] for r in rows if test(r)], str(
            column
        )
    assert pruned > (1 if few else 5)


@pytest.mark.connect
def test_files_that_were_left_out_are_not_read(spark: Any, mixed: tuple[Table, list[Row]]) -> None:
    table, _ = mixed
    frame = table_frame(spark, loaded(table))
    one = filtered(filtered(frame, "id >= 25", plain_where), frame.id < 32, plain_where)
    # The file in Avro is read in Python workers, where nothing can be left out after the fact.
    assert (explain(one).planned_files, explain(one).native_files, explain(one).files) == (3, 2, 7)
    for task in table.scan().plan():
        if task.data_file.file_path.endswith(".parquet") and task.data_file.file_path not in {
            kept.data_file.file_path for kept in table.scan(where="id >= 25 and id < 32").plan()
        }:
            os.remove(task.data_file.file_path.removeprefix("file://"))
    assert sorted(row.id for row in one.collect()) == [25, 26, 27, 28, 29, 30, 31]
    assert one.columns == ["id", "name", "day"]
    assert filtered(frame, "id > 1000", plain_where).count() == 0
