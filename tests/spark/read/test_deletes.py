"""Deletes on the native scan: bitmaps for positions, joins for keys, and nothing lost or kept by accident."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.commit.row_delta import RowDelta
from floeberg.spark.read.deletes import positions as position_deletes
from floeberg.spark.read.frame import table_frame
from floeberg.spark.read.frame_registry import scan_of
from floeberg.spec.snapshots.manifest_entry import FileContent
from floeberg.sql.conditions.filters import parse_where
from spark_runs.spark_rows import arrow_rows, loaded, spark_rows


def append(table: Table, rows: list[dict[str, Any]]) -> None:
    table.append(pa.Table.from_pylist(rows, schema=arrow_schema(table.schema)))


def made(lake: Catalog, *, format_version: int, partition_by: list[str] | None = None) -> Table:
    return lake.create_table(
        "db.t",
        "id bigint, name string, p int",
        partition_by=partition_by or [],
        format_version=format_version,
        properties={"write.delete.mode": "merge-on-read"},
    )


def rows(first: int, count: int) -> list[dict[str, Any]]:
    return [{"id": i, "name": f"n{i % 10}" if i % 4 else None, "p": i % 3} for i in range(first, first + count)]


@pytest.mark.connect
@pytest.mark.parametrize("format_version", [2, 3])
def test_position_deletes_are_applied_by_bitmaps(spark: Any, lake: Catalog, format_version: int) -> None:
    table = made(lake, format_version=format_version)
    append(table, rows(0, 300))
    append(table, rows(300, 200))
    append(table, rows(500, 10))
    table.delete(where="id in (0, 63, 64, 65, 127, 128, 299, 300, 364)")
    frame = table_frame(spark, loaded(table))
    scan = scan_of(frame)
    assert scan is not None
    assert len(scan.routes.with_position_deletes) == 2
    assert len(scan.routes.plain) == 1
    assert spark_rows(frame) == arrow_rows(table)
    assert frame.where("id between 60 and 70").count() == 8


@pytest.mark.parametrize("layout", ["padded", "packed"])
@pytest.mark.parametrize("equal_sizes", [True, False])
def test_each_of_many_files_finds_its_own_bitmap(
    spark: Any, lake: Catalog, equal_sizes: bool, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More files than are written into the query, the last position of each deleted, its neighbours in the array of words
    not; the sizes of files are their keys only where no two are equal."""
    table = made(lake, format_version=3)
    for number in range(20):
        count = 70 if equal_sizes else 70 + 40 * number
        append(table, [{"id": number * 1_000 + i, "name": "x", "p": 0} for i in range(count)])
    sizes = [task.data_file.file_size_in_bytes for task in table.scan().plan()]
    assert (len(set(sizes)) < len(sizes)) is equal_sizes
    table.delete(where="id in (0, 63, 1064, 2000, 5063, 7070, 19063, 19069)")
    table.delete(where="id >= 3000 and id < 3010 or id >= 10062 and id < 10066")
    if layout == "packed":
        monkeypatch.setattr(position_deletes, "_padded", lambda words: None)
    frame = table_frame(spark, loaded(table))
    assert spark_rows(frame) == arrow_rows(table)
    assert spark_rows(frame.where("id > 3050")) == arrow_rows(table, where="id > 3050")


def test_bitmaps_of_very_different_length_are_not_made_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [np.full(count, -1, dtype=np.int64) for count in (1, 1, 9)]
    padded = position_deletes._padded(words)
    assert padded is not None
    assert padded.places == [0, 9, 18]
    assert np.flatnonzero(padded.values).tolist() == [0, 9, *range(18, 27)]
    monkeypatch.setattr(position_deletes, "_SMALL_BYTES", 0)
    assert position_deletes._padded(words) is None
    packed = position_deletes._packed(words)
    assert [(place >> 24, place & 0xFFFFFF) for place in packed.places] == [(0, 1), (1, 1), (2, 9)]
    assert len(packed.values) == 11


@pytest.mark.connect
def test_a_table_with_deletes_joins_itself(spark: Any, lake: Catalog) -> None:
    """Both sides look into the same bitmaps, which are kept from one query to the next."""
    table = made(lake, format_version=3)
    append(table, rows(0, 100))
    append(table, rows(100, 100))
    table.delete(where="id in (0, 64, 99, 150)")
    one, other = (table_frame(spark, loaded(table)).alias(name) for name in ("one", "other"))
    joined = one.join(other, F.col("one.id") == F.col("other.id")).select("one.id")
    assert sorted(row.id for row in joined.collect()) == [i for i in range(200) if i not in (0, 64, 99, 150)]
    assert joined.union(one.select("id")).count() == 2 * 196


def test_bitmaps_are_read_again_only_when_there_are_other_deletes(
    spark: Any, lake: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(lake, format_version=3)
    append(table, rows(0, 100))
    table.delete(where="id in (0, 64)")
    read: list[int] = []
    load = position_deletes._load_words
    monkeypatch.setattr(position_deletes, "_load_words", lambda *given: read.append(1) or load(*given))
    for _ in range(3):
        assert table_frame(spark, loaded(table)).count() == 98
    assert read == [1]
    table.delete(where="id = 65")
    assert table_frame(spark, loaded(table)).count() == 97
    assert read == [1, 1]
    for number in range(position_deletes._MAX_KEPT):
        table.delete(where=f"id = {70 + number}")
        assert table_frame(spark, loaded(table)).count() == 96 - number
    assert len(vars(spark)[position_deletes._KEPT]) == position_deletes._MAX_KEPT


def delete_keys(table: Table, rows: list[dict[str, Any]], *columns: str, spec_id: int | None = None) -> None:
    """Commits an equality delete of these rows by some of their columns."""
    spec = table.spec if spec_id is None else table.metadata.specs_by_id[spec_id]
    number = len(table.snapshots)
    writer = RollingWriter(
        table._pointer.store_for(table.location),
        table.schema,
        spec=spec,
        new_location=lambda path: f"{table.location}/data/eq-{number}-{path.replace('/', '-')}.parquet",
        properties={},
        content=FileContent.EQUALITY_DELETES,
        equality_ids=tuple(table.schema.field(name).field_id for name in columns),
    )
    writer.write(pa.Table.from_pylist(rows, schema=arrow_schema(table.schema)))
    table._commit(RowDelta(added=writer.close()))


@pytest.mark.connect
def test_equality_deletes_delete_older_rows_only_and_null_keys_too(spark: Any, lake: Catalog) -> None:
    table = made(lake, format_version=2)
    append(table, rows(0, 50))
    delete_keys(table, rows(3, 5), "id")
    append(table, rows(0, 10))
    delete_keys(table, [{"id": 0, "name": None, "p": 0}], "name", "p")
    append(table, rows(0, 2))
    table.delete(where="id = 20")
    frame = table_frame(spark, loaded(table))
    scan = scan_of(frame)
    assert scan is not None
    assert len(scan.routes.with_equality_deletes) == 2
    assert len(scan.routes.plain) == 1
    assert spark_rows(frame) == arrow_rows(table)
    assert spark_rows(table_frame(spark, loaded(table), select=["p"])) == arrow_rows(table, select=["p"])


@pytest.mark.connect
def test_equality_deletes_of_a_partition_leave_other_partitions_alone(spark: Any, lake: Catalog) -> None:
    table = made(lake, format_version=2, partition_by=["p"])
    append(table, rows(0, 30))
    append(table, [{"id": 0, "name": "other", "p": 1}])
    delete_keys(table, [{"id": 0, "name": "x", "p": 0}, {"id": 1, "name": "x", "p": 1}], "id")
    append(table, rows(0, 3))
    with table.update_spec() as u:
        u.remove_field("p")
    delete_keys(table, [{"id": 2, "name": "x", "p": 0}, {"id": 5, "name": "x", "p": 1}], "id")
    frame = table_frame(spark, loaded(table))
    scan = scan_of(frame)
    assert scan is not None
    assert scan.routes.with_equality_deletes
    assert spark_rows(frame) == arrow_rows(table)


def test_keys_of_floats_and_dropped_keys_are_left_to_the_arrow_engine(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.f", "id bigint, x double, p int", format_version=2)
    append(table, [{"id": 1, "x": 0.0, "p": 1}, {"id": 2, "x": -0.0, "p": 2}, {"id": 3, "x": float("nan"), "p": 3}])
    delete_keys(table, [{"id": 1, "x": -0.0, "p": 1}, {"id": 1, "x": float("nan"), "p": 1}], "x")
    delete_keys(table, [{"id": 9, "x": 0.0, "p": 3}], "p")
    with table.update_schema(allow_incompatible_changes=True) as u:
        u.drop_column("p")
    frame = table_frame(spark, loaded(table))
    assert spark_rows(frame) == arrow_rows(table) != []


def test_deleted_rows_come_back_marked_when_deleted_is_asked_for(spark: Any, lake: Catalog) -> None:
    table = made(lake, format_version=3)
    append(table, rows(0, 10))
    table.delete(where="id = 4")
    columns = ["_deleted", "_pos"]
    frame = table_frame(spark, loaded(table), metadata_columns=columns)
    assert spark_rows(frame) == arrow_rows(table, metadata_columns=columns)
    assert frame.where("_deleted").count() == 1
    assert frame.count() == 10


@pytest.mark.connect
def test_metadata_columns_and_lineage_are_those_of_the_arrow_engine(spark: Any, lake: Catalog) -> None:
    table = made(lake, format_version=3, partition_by=["p"])
    append(table, rows(0, 30))
    table.delete(where="id in (3, 4)")
    append(table, rows(30, 9))
    with table.update_properties() as u:
        u.set({"write.delete.mode": "copy-on-write"})
    table.delete(where="id = 31")
    columns = ["_file", "_pos", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"]
    frame = table_frame(spark, loaded(table), metadata_columns=columns)
    scan = scan_of(frame)
    assert scan is not None
    assert not scan.routes.by_arrow
    assert spark_rows(frame) == arrow_rows(table, metadata_columns=columns)
    only = table_frame(spark, loaded(table), select=["_row_id"])
    assert spark_rows(only) == arrow_rows(table, select=["_row_id"])


def test_rows_of_files_that_changed_in_place_raise_instead_of_passing(spark: Any, lake: Catalog) -> None:
    table = made(lake, format_version=3)
    append(table, rows(0, 10))
    table.delete(where="id = 4")
    frame = table_frame(spark, loaded(table))
    (task,) = table.scan().plan()
    longer = pa.Table.from_pylist(rows(0, 500), schema=arrow_schema(table.schema))
    import pyarrow.parquet as pq

    pq.write_table(longer, task.data_file.file_path)
    spark.catalog.clearCache()
    changed = table_frame(spark, loaded(table))
    with pytest.raises(Exception, match="not planned, or whose size"):
        changed.collect()
    del frame


CONDITIONS = [
    "id > 40 and id <= 120", "id = 64", "id <> 65", "id >= -9223372036854775808", "d >= DATE '2020-02-01'",
    "d = DATE '2020-01-05' or id = 3", "m < 10.50", "m between 10 and 20.25 and id < 200", "not (m >= 10)", "m = 3.5",
    "k < 9 and k >= -3", "k = 300", "id < 70 and name = 'n3'", "x > 3 and id < 90", "id is null", "d < DATE '0001-01-01'",
]  # fmt: skip


@pytest.mark.parametrize("where", CONDITIONS)
def test_conditions_that_are_tested_before_deletes_lose_and_keep_no_row(spark: Any, evolved: Table, where: str) -> None:
    frame = table_frame(spark, loaded(evolved), where=parse_where(where)).where(where)
    scan = scan_of(table_frame(spark, loaded(evolved)))
    assert scan is not None
    assert len(scan.routes.with_position_deletes) == 2
    assert spark_rows(frame) == arrow_rows(evolved, where=where)


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """Two files with deletion vectors; since the first a number has grown, and a column with a default has come."""
    with catalog("evolved", warehouse=str(tmp_path_factory.mktemp("evolved"))) as lake:
        lake.create_namespace("db")
        table = lake.create_table(
            "db.t",
            "id bigint, d date, m decimal(9, 2), name string, x double, g int",
            format_version=3,
            properties={"write.delete.mode": "merge-on-read"},
        )

        def row(i: int) -> dict[str, Any]:
            day = dt.date(2020, 1, 1) + dt.timedelta(days=i)
            return {"id": i if i % 7 else None, "d": day if i % 5 else None, "m": Decimal(i) / 4, "name": f"n{i % 10}",
                    "x": i / 2 if i % 3 else float("nan"), "g": i}  # fmt: skip

        append(table, [row(i) for i in range(150)])
        with table.update_schema() as update:
            update.update_type("g", "bigint").add_column("k", "int", default=7)
        append(table, [{**row(i), "k": i} for i in range(150, 400)])
        table.delete(where="g in (3, 63, 64, 65, 120, 150, 213, 214, 300, 399)")
        yield table


def test_conditions_of_a_query_are_tested_before_deletes(
    spark: Any, evolved: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    where = "id > 40 and m < 10.50 and g < 100"
    table_frame(spark, loaded(evolved), where=parse_where(where)).where(where).explain()
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "Filter (" in line and "bit_get" in line]
    for text in ("> 40)", "< 10.5", "< 100)"):
        assert line.count(text) == 1
        assert line.index(text) < line.index("bit_get")
