"""Time travel, ranges of snapshots, changelogs, aggregates from metadata, and filters that leave out files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog
from floeberg.api.table import Table
from floeberg.arrow.columns.types import arrow_schema
from floeberg.errors import InvalidInput
from floeberg.spark.read.changelog import changelog_frame
from floeberg.spark.read.frame import table_frame
from floeberg.spark.read.frame_explanation import explain
from floeberg.spark.read.prune_frames import filtered
from spark_runs.spark_rows import loaded, spark_rows


def append(table: Table, first: int) -> None:
    rows = [{"id": i, "name": f"n{i}"} for i in range(first, first + 10)]
    table.append(pa.Table.from_pylist(rows, schema=arrow_schema(table.schema)))


@pytest.fixture
def table(lake: Catalog) -> Table:
    table = lake.create_table("db.t", "id bigint, name string", format_version=2)
    for first in (0, 10, 20):
        append(table, first)
    return table


def where(frame: Any, condition: Any) -> Any:
    return frame.where(condition)


@pytest.mark.connect
def test_options_choose_a_snapshot_and_a_frame_keeps_its_own(spark: Any, table: Table) -> None:
    first, second, _ = table.snapshots
    now = table_frame(spark, loaded(table))
    append(table, 30)
    assert now.count() == 30
    for options, rows in (
        ({"snapshot-id": first.snapshot_id}, 10),
        ({"versionAsOf": str(second.snapshot_id)}, 20),
        ({"as-of-timestamp": second.timestamp_ms}, 20),
        ({"branch": "main"}, 40),
        ({"start-snapshot-id": first.snapshot_id, "end-snapshot-id": second.snapshot_id}, 10),
        ({"start-snapshot-id": first.snapshot_id}, 30),
    ):
        frame = table_frame(spark, loaded(table), options=options)
        assert explain(frame).planned_files == rows // 10, options
    assert table_frame(spark, loaded(table), snapshot_id=first.snapshot_id).count() == 10
    for wrong in ({"snapshot-id": "x"}, {"split-seize": "1"}, {"end-snapshot-id": "5"}, {"tag": "a", "branch": "b"}):
        with pytest.raises(InvalidInput):
            table_frame(spark, loaded(table), options=wrong)


@pytest.mark.connect
def test_filters_on_a_frame_leave_out_files_and_bound_columns_keep_resolving(spark: Any, table: Table) -> None:
    frame = table_frame(spark, loaded(table))
    for condition in ("id > 25", frame.id > 25, (frame.id > 25) & frame.name.isNotNull()):
        found = filtered(frame, condition, where)
        assert (explain(found).planned_files, explain(found).files) == (1, 3)
        assert len(found.select("*", "_metadata.file_name").select("file_name").distinct().collect()) == 1
        assert sorted(row.id for row in found.select(frame.id).collect()) == [26, 27, 28, 29]
    twice = filtered(filtered(frame, "id > 5", where), "id < 12", where)
    assert explain(twice).planned_files == 2
    assert twice.count() == 6
    assert filtered(frame, "id > 1000", where).count() == 0
    assert explain(filtered(frame, "id + 1 > 25", where)).planned_files == 3


def test_changelogs_tell_what_came_and_went(spark: Any, table: Table) -> None:
    first = table.snapshots[0]
    table.delete(where="id = 3")
    changes = changelog_frame(spark, loaded(table), options={"start-snapshot-id": first.snapshot_id})
    assert changes.columns == ["id", "name", "_change_type", "_change_ordinal", "_commit_snapshot_id"]
    found = changes.toArrow().to_pylist()
    assert sorted(row["id"] for row in found if row["_change_type"] == "INSERT") == list(range(10, 30))
    assert [(row["id"], row["_change_ordinal"]) for row in found if row["_change_type"] == "DELETE"] == [(3, 2)]


def test_an_empty_table_and_one_in_memory_are_frames_too(spark: Any, lake: Catalog) -> None:
    from floeberg.api.catalog import catalog

    empty = lake.create_table("db.e", "id bigint COMMENT 'c', s struct<a: int>")
    frame = table_frame(spark, loaded(empty))
    assert frame.collect() == []
    assert frame.schema["id"].metadata == {"comment": "c"}
    memory = catalog("m", type="memory")
    memory.create_namespace("db")
    inside = memory.create_table("db.t", "id bigint, name string")
    append(inside, 0)
    assert len(spark_rows(table_frame(spark, loaded(inside)))) == 10


def test_a_frame_that_is_not_a_tables_own_cannot_be_explained(spark: Any) -> None:
    with pytest.raises(InvalidInput, match="not a table's own"):
        explain(spark.range(1))
