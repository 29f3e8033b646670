"""The traps of reading Parquet files through Spark's own reader, each shown to be avoided."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from floeberg.api.catalog import Catalog
from floeberg.api.table import Table
from floeberg.arrow.columns.types import arrow_schema
from floeberg.commit.append import Append
from floeberg.errors import DataFileCorrupt
from floeberg.spark.read.frame import table_frame
from floeberg.spark.read.frame_registry import scan_of
from floeberg.spark.read.parquet import scan as parquet_scan
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from lakes.table_data import write_rows
from spark_runs.spark_rows import arrow_rows, loaded, spark_rows

pytestmark = pytest.mark.connect


def append(table: Table, rows: list[dict[str, Any]]) -> None:
    table.append(pa.Table.from_pylist(rows, schema=arrow_schema(table.schema)))


def routes(frame: Any) -> Any:
    scan = scan_of(frame)
    assert scan is not None
    return scan.routes


def numbers(table: Table, low: int, *names: str) -> None:
    append(table, [{name: low + 10 * i + j for i, name in enumerate(names)} for j in range(4)])


def test_hazard_24_a_filter_after_drop_and_rename_loses_no_rows(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "id int, a int, b int", format_version=2)
    numbers(table, 0, "id", "a", "b")
    with table.update_schema() as u:
        u.drop_column("a")
    with table.update_schema() as u:
        u.rename_column("b", "a")
    numbers(table, 100, "id", "a")
    frame = table_frame(spark, loaded(table))
    assert len(routes(frame).plain) == 2
    assert sorted(row.a for row in frame.where("a >= 20 and a < 24").collect()) == [20, 21, 22, 23]
    assert spark_rows(frame) == arrow_rows(table)


def test_hazard_24_a_filter_after_a_swap_of_names_loses_no_rows(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "id int, a int, b int", format_version=2)
    append(table, [{"id": i, "a": i, "b": 50 + i} for i in range(4)])
    with table.update_schema() as u:
        u.rename_column("a", "c")
        u.rename_column("b", "a")
    with table.update_schema() as u:
        u.rename_column("c", "b")
    frame = table_frame(spark, loaded(table))
    assert len(routes(frame).plain) == 1
    assert frame.where("a > 49 and b < 10").count() == 4
    assert spark_rows(frame) == arrow_rows(table)


NESTED = "id int, s struct<x: int, y: int>, l array<struct<x: int, y: int>>"


def test_hazard_24_parts_of_structs_and_lists_are_read_right_after_swaps_inside_them(spark: Any, lake: Catalog) -> None:
    """Spark forgets the field ids of what it reads only a part of; a plain nested column is read by it all the same."""
    table = lake.create_table("db.t", NESTED, format_version=2)
    append(table, [{"id": i, "s": {"x": i, "y": 70 + i}, "l": [{"x": i, "y": 70 + i}]} for i in range(4)])
    before = table_frame(spark, loaded(table))
    assert len(routes(before).plain) == 1
    assert before.where("s.y >= 72").select("l.x").collect() == [([2],), ([3],)]
    for old, new in (("s.x", "z"), ("s.y", "x"), ("s.z", "y"), ("l.element.x", "z"), ("l.element.y", "x")):
        with table.update_schema() as u:
            u.rename_column(old, new)
    frame = table_frame(spark, loaded(table))
    assert frame.where("s.x >= 70").count() == 4
    assert frame.where("s.y < 10").select("s.y").count() == 4
    assert [row.x for row in frame.select("l.x").collect()] == [[70], [71], [72], [73]]
    assert spark_rows(frame) == arrow_rows(table)


def test_hazard_24_a_column_dropped_and_added_again_has_its_default_under_filters(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "id int, a int", format_version=3)
    numbers(table, 0, "id", "a")
    with table.update_schema() as u:
        u.drop_column("a")
    with table.update_schema() as u:
        u.add_column("a", "int", default=77)
        u.add_column("w", "string", default="it's")
        u.add_column("t", "timestamp", default=1_577_836_800_000_001)
        u.add_column("d", "decimal(9,2)", default=Decimal("12.34"))
        u.add_column("f", "float", default=0.1)
        u.add_column("e", "date", default=-1)
    append(table, [{"id": 9, "a": 5, "w": "x", "t": None, "d": None, "f": 1.0, "e": None}])
    frame = table_frame(spark, loaded(table))
    assert len(routes(frame).plain) == 2
    assert frame.where("a = 77").count() == 4
    assert frame.where("a < 50").count() == 1
    assert frame.where("w = 'it\\'s'").count() == 4
    assert spark_rows(frame) == arrow_rows(table)


def test_filters_lose_no_nan_by_statistics_that_leave_it_out(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "id int, x double, f float, s struct<y: double>", format_version=2)
    nan = float("nan")
    append(table, [{"id": 1, "x": nan, "f": 1.0, "s": {"y": 1.0}}, {"id": 2, "x": -5.0, "f": 2.0, "s": {"y": 1.0}}])
    append(table, [{"id": 3, "x": 7.0, "f": nan, "s": {"y": nan}}, {"id": 4, "x": -0.0, "f": -1.0, "s": {"y": -1.0}}])
    frame = table_frame(spark, loaded(table))
    assert len(routes(frame).by_arrow) == 2
    for where, ids in (
        ("x > 0", [1, 3]), ("x != -5", [1, 3, 4]), ("NOT (x < 100)", [1]), ("x = double('NaN')", [1]), ("x = 0.0", [4]),
        ("f >= 1.5", [2, 3]), ("s.y > 0", [1, 2, 3]),
    ):  # fmt: skip
        assert sorted(row.id for row in frame.where(where).select("id").collect()) == ids, where
    narrow = table_frame(spark, loaded(table), select=["id", "x", "f"])
    assert len(routes(narrow).plain) == 2
    assert sorted(row.id for row in narrow.where("x > 0 OR f > 1.5").collect()) == [1, 2, 3]


def test_filters_lose_no_zero_of_the_other_sign_by_dictionaries(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "id int, x double", format_version=2)
    append(table, [{"id": 1, "x": -0.0}, {"id": 2, "x": 5.0}])
    append(table, [{"id": 3, "x": 0.0}, {"id": 4, "x": -5.0}])
    frame = table_frame(spark, loaded(table))
    for where in ("x = 0.0", "x = -0.0D", "x IN (0.0, 3.0)"):
        assert sorted(row.id for row in frame.where(where).select("id").collect()) == [1, 3], where


def test_types_that_grew_are_read_by_field_id(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "i int, f float, d decimal(9,2), t date, s struct<i: int>", format_version=3)
    append(table, [{"i": 1, "f": 0.5, "d": None, "t": dt.date(1960, 1, 2), "s": {"i": 3}}])
    with table.update_schema() as u:
        u.update_type("i", "bigint")
        u.update_type("f", "double")
        u.update_type("d", "decimal(20,2)")
        u.update_type("t", "timestamp_ntz")
    frame = table_frame(spark, loaded(table))
    assert len(routes(frame).plain) == 1
    assert frame.where("i = 1 and t < timestamp_ntz'1970-01-01'").count() == 1
    assert spark_rows(frame) == arrow_rows(table)
    with table.update_schema() as u:
        u.update_type("s.i", "bigint")
    nested = table_frame(spark, loaded(table))
    assert len(routes(nested).by_arrow) == 1
    assert spark_rows(nested) == arrow_rows(table)


def test_types_without_a_spark_type_of_their_own_come_in_the_documented_form(spark: Any, lake: Catalog) -> None:
    import uuid

    ddl = "u uuid, f fixed(3), t time, n timestamp_ns, z timestamptz_ns, x bigint"
    table = lake.create_table("db.t", _schema(ddl), format_version=3)
    rows = [(uuid.UUID(int=5).bytes, b"abc", 3_600_000_000, -1, 1_700_000_000_123_456_789, 1), (None,) * 6]
    columns = list(zip(*rows, strict=True))
    schema = arrow_schema(table.schema)
    arrays = [_array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    table.append(pa.Table.from_arrays(arrays, schema=schema))
    frame = table_frame(spark, loaded(table))
    assert len(routes(frame).plain) == 1
    row = frame.where("x = 1").first()
    assert (row.u, bytes(row.f), row.t) == ("00000000-0000-0000-0000-000000000005", b"abc", 3_600_000_000)
    assert row.n == dt.datetime(1969, 12, 31, 23, 59, 59, 999999)
    assert spark_rows(frame) == arrow_rows(table)
    assert spark_rows(table_frame(spark, loaded(table), options={"scan-engine": "arrow"})) == arrow_rows(table)


def _schema(ddl: str) -> Any:
    from floeberg.spec.schemas.schema import Schema
    from floeberg.spec.schemas.schema_json import type_from_json
    from floeberg.spec.types import NestedField

    names = {"fixed(3)": "fixed[3]", "bigint": "long"}
    parts = [part.split(" ") for part in ddl.split(", ")]
    return Schema(*(NestedField(i, n, type_from_json(names.get(k, k))) for i, (n, k) in enumerate(parts, 1)))


def _array(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return pa.array(values, pa.int64()).view(kind)
    return pa.array(values, kind)


def placed(table: Table, name: str) -> DataFile:
    """A data file of ten rows under a name of its own, committed."""

    (file,) = write_rows(table, [{"id": i, "name": name[:3]} for i in range(10)])
    path = Path(file.file_path)
    path.rename(path.with_name(name))
    moved = structs.replace(file, file_path=str(path.with_name(name)))
    table._commit(Append(files=[moved]))
    return moved


NAMES = (
    "_hidden.parquet",
    ".dot.parquet",
    "a b%20c.parquet",
    "g[1]*{x}?.parquet",
    "back\\slash.parquet",
    "ü#é.parquet",
)


def test_hidden_names_patterns_and_signs_in_paths_are_all_read(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "id bigint, name string", format_version=2)
    for name in NAMES:
        placed(table, name)
    placed(table, "g1x.parquet")
    with table.update_properties() as u:
        u.set({"write.delete.mode": "merge-on-read"})
    table.delete(where="id = 3")
    frame = table_frame(spark, loaded(table), metadata_columns=["_file"])
    assert len(routes(frame).by_arrow) == 2
    assert frame.count() == 9 * (len(NAMES) + 1)
    assert spark_rows(frame) == arrow_rows(table, metadata_columns=["_file"])


def test_what_spark_would_read_is_compared_with_the_plan(
    spark: Any, lake: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = lake.create_table("db.t", "id bigint, name string", format_version=2)
    placed(table, "g[1].parquet")
    placed(table, "g1.parquet")
    monkeypatch.setattr(parquet_scan, "spark_path", lambda location, scheme: f"file://{location.path}")
    with pytest.raises(DataFileCorrupt, match="where 2 are planned"):
        table_frame(spark, loaded(table))


def test_a_frame_made_after_field_ids_were_turned_off_reads_by_field_id(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "id bigint, name string", format_version=2)
    append(table, [{"id": 1, "name": "a"}])
    with table.update_schema() as u:
        u.rename_column("name", "title")
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "false")
    spark.conf.set("spark.sql.parquet.fieldId.read.ignoreMissing", "true")
    frame = table_frame(spark, loaded(table))
    assert [tuple(row) for row in frame.collect()] == [(1, "a")]
    assert spark.conf.get("spark.sql.parquet.fieldId.read.ignoreMissing") == "false"


def test_old_dates_and_missing_files_are_not_left_to_the_sessions_settings(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "d date, t timestamp", format_version=2)
    append(table, [{"d": dt.date(1000, 1, 1), "t": dt.datetime(1000, 1, 1, tzinfo=dt.UTC)}])
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "EXCEPTION")
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        frame = table_frame(spark, loaded(table))
        assert spark_rows(frame) == arrow_rows(table)
        (task,) = table.scan().plan()
        Path(task.data_file.file_path).unlink()
        with pytest.raises(Exception, match=r"FILE_NOT_EXIST|does not exist|FILE_NOT_FOUND|not.*found"):
            frame.collect()
    finally:
        spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInRead")
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")


def test_partition_folders_are_no_columns_and_many_files_are_listed_here(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "id bigint, p int", partition_by=["p"], format_version=2)
    append(table, [{"id": i, "p": i % 40} for i in range(120)])
    frame = table_frame(spark, loaded(table))
    assert len(routes(frame).plain) == 40
    assert frame.columns == ["id", "p"]
    assert spark_rows(frame) == arrow_rows(table)
    assert spark.conf.get("spark.sql.sources.parallelPartitionDiscovery.threshold") == "32"


def test_imported_files_without_field_ids_are_read_by_their_name_mapping(
    spark: Any, lake: Catalog, tmp_path: Path
) -> None:
    table = lake.create_table(
        "db.t",
        "id bigint, p int",
        properties={
            "schema.name-mapping.default": '[{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["p"]}]'
        },
        format_version=2,
    )
    append(table, [{"id": 1, "p": 1}])
    path = tmp_path / "imported.parquet"
    pq.write_table(pa.table({"p": pa.array([7], pa.int32()), "id": pa.array([2], pa.int64())}), path)
    size = path.stat().st_size
    imported = DataFile(file_path=str(path), file_format=FileFormat.PARQUET, record_count=1, file_size_in_bytes=size)
    table._commit(Append(files=[imported]))
    frame = table_frame(spark, loaded(table))
    assert (len(routes(frame).plain), len(routes(frame).by_arrow)) == (1, 1)
    assert spark_rows(frame) == arrow_rows(table)


def test_names_are_compared_without_case_and_comments_are_kept(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "id bigint COMMENT 'the id', `a.b` int, `x``y` int", format_version=2)
    append(table, [{"id": 1, "a.b": 2, "x`y": 3}])
    frame = table_frame(spark, loaded(table))
    assert frame.schema["id"].metadata == {"comment": "the id"}
    assert frame.schema["a.b"].metadata == {}
    assert [tuple(row) for row in frame.where("`a.b` = 2 and ID = 1").collect()] == [(1, 2, 3)]
