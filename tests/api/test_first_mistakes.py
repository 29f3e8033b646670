"""The commonest mistakes with pandas frames are told how to mend, and the mending works; other engines take a scan as it is."""

from __future__ import annotations

import importlib.util
from datetime import UTC, datetime
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.errors import InvalidInput, UnsupportedFeature


@pytest.fixture
def lake() -> fb.Catalog:
    made = fb.catalog("lake", type="memory")
    made.create_namespace("db")
    return made


def test_naive_times_are_told_to_say_their_zone(lake: fb.Catalog) -> None:
    table = lake.create_table("db.t", "at timestamp")  # Spark's timestamp is an instant
    frame = pd.DataFrame({"at": pd.to_datetime(["2026-01-01"])})
    with pytest.raises(InvalidInput, match=r"df\['at'\]\.dt\.tz_localize\('UTC'\)"):
        table.append(frame)
    with pytest.raises(InvalidInput, match="replace_time_zone"):
        table.append(pl.DataFrame({"at": [datetime(2026, 1, 1)]}))
    frame["at"] = frame["at"].dt.tz_localize("UTC")
    table.append(frame)
    assert table.scan().to_arrow()["at"].to_pylist() == [datetime(2026, 1, 1, tzinfo=UTC)]


def test_instants_are_told_to_choose_a_zone(lake: fb.Catalog) -> None:
    table = lake.create_table("db.t", "at timestamp_ntz")
    frame = pd.DataFrame({"at": pd.to_datetime(["2026-01-01"], utc=True)})
    with pytest.raises(InvalidInput, match=r"tz_convert\('UTC'\)\.dt\.tz_localize\(None\)"):
        table.append(frame)
    frame["at"] = frame["at"].dt.tz_convert("UTC").dt.tz_localize(None)
    table.append(frame)
    assert table.scan().to_arrow()["at"].to_pylist() == [datetime(2026, 1, 1)]


@pytest.mark.parametrize(("ddl", "kind"), [("n bigint", "Int64"), ("n int", "Int32")])
def test_whole_numbers_with_gaps_are_told_to_stay_whole(ddl: str, kind: str, lake: fb.Catalog) -> None:
    table = lake.create_table("db.t", ddl)
    frame = pd.DataFrame({"n": [1, None, 3]})
    with pytest.raises(InvalidInput, match=rf"df\['n'\]\.astype\('{kind}'\)"):
        table.append(frame)
    frame["n"] = frame["n"].astype(kind)
    table.append(frame)
    assert table.scan().to_arrow()["n"].to_pylist() == [1, None, 3]


def test_mixed_columns_and_lost_nanoseconds_are_told(lake: fb.Catalog) -> None:
    table = lake.create_table("db.t", "x string, at timestamp_ntz")
    with pytest.raises(InvalidInput, match=r"df\.dtypes"):
        table.append(pd.DataFrame({"x": ["a", 1, 2.5]}))
    with pytest.raises(InvalidInput, match=r"dt\.floor\('us'\)"):
        table.append(pd.DataFrame({"at": pd.to_datetime(["2026-01-01 00:00:00.000000001"])}))
    with pytest.raises(InvalidInput, match=r"pd\.to_datetime"):
        table.append(pd.DataFrame({"at": ["2026-01-01"]}))


def test_partitioning_and_sorting_take_one_term_as_text(lake: fb.Catalog) -> None:
    table = lake.create_table("db.t", "id int, ts timestamp", partition_by="day(ts)", sort_by="id desc")
    assert [str(field.transform) for field in table.spec.fields] == ["day"]
    assert len(table.sort_order.fields) == 1
    replaced = lake.create_or_replace_table("db.t", "id int, ts timestamp", partition_by="id")
    assert [field.name for field in replaced.spec.fields] == ["id"]


def test_times_are_given_as_text(lake: fb.Catalog) -> None:
    table = lake.create_table("db.t", "id int")
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    snapshot = table.current_snapshot
    assert snapshot is not None
    for text in ("2999-01-01", "2999-01-01T12:00:00", "2999-01-01 12:00:00+02:00", "2999-01-01T00:00:00Z"):
        assert table.scan(as_of=text).snapshot == snapshot
        assert table.inspect.files(as_of=text).num_rows == 1
    with pytest.raises(fb.errors.SnapshotNotFound):
        table.scan(as_of="2001-01-01")
    with pytest.raises(InvalidInput, match="is no time"):
        table.scan(as_of="yesterday")
    with pytest.raises(InvalidInput, match="time zone"):
        table.scan(as_of=datetime(2999, 1, 1))


def test_to_pandas_without_pandas_says_what_to_install(lake: fb.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.create_table("db.t", "id int")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnsupportedFeature, match="pip install pandas"):
        table.scan().to_pandas()


def test_other_engines_take_a_scan_as_it_is(lake: fb.Catalog) -> None:
    table = lake.create_table("db.t", "id int, s string")
    table.append(pa.table({"id": pa.array([1, 2, 3], pa.int32()), "s": ["a", None, "c"]}))
    scan = table.scan(where="id > 1")
    rows = [(2, None), (3, "c")]
    assert duckdb.sql("SELECT * FROM scan ORDER BY id").fetchall() == rows
    assert pl.DataFrame(scan).rows() == rows
    assert [tuple(row.values()) for row in pa.table(scan).to_pylist()] == rows
    changes = table.scan_changes()
    assert pa.table(changes).num_rows == 3
    copied = lake.create_table("db.copy", "id int, s string")
    copied.append(scan)
    assert copied.scan().count() == 2


@pytest.mark.parametrize("value", [5, True, None, 1.5, ["a"]])
def test_a_property_that_is_no_text_is_refused_before_anything_is_written(lake: fb.Catalog, value: Any) -> None:
    with pytest.raises(InvalidInput, match="property 'x' must be a text"):
        lake.create_table("db.none", "id bigint", properties={"x": value})
    assert lake.list_tables("db") == []
    table = lake.create_table("db.t", "id bigint")
    rows = pa.table({"id": [1]})
    with pytest.raises(InvalidInput, match="snapshot property 'batch' must be a text"):
        table.append(rows, snapshot_properties={"batch": value})
    table.append(rows)
    assert lake.load_table("db.t").scan().to_arrow()["id"].to_pylist() == [1]


def test_names_and_comments_that_are_no_texts_are_refused_before_anything_is_written(lake: fb.Catalog) -> None:
    table = lake.create_table("db.t", "id bigint")
    wrong: Any = 5
    schema, spec = table.update_schema(), table.update_spec()
    for attempt in (
        lambda: schema.add_column("c", "int", doc=wrong),
        lambda: schema.update_doc("id", wrong),
        lambda: schema.rename_column("id", wrong),
        lambda: fb.NestedField(1, wrong, fb.types.LongType()),
    ):
        with pytest.raises(InvalidInput, match="texts as its name and doc"):
            attempt()
    with pytest.raises(InvalidInput, match="a column is named by a text, or by the texts of its path, not by 5"):
        schema.add_column(wrong, "int")
    with pytest.raises(InvalidInput, match="the name of a partition field is a text, not 5"):
        spec.add_field("bucket(4, id)", wrong)
    assert lake.load_table("db.t").schema.same_columns(table.schema)


@pytest.mark.parametrize("kind", ["long", fb.types.LongType])
def test_a_type_that_is_no_object_is_refused_where_the_field_is_made(kind: Any) -> None:
    with pytest.raises(InvalidInput, match=r"the type of field 'a' is one of floeberg.types, such as"):
        fb.NestedField(1, "a", kind)


def test_terms_that_are_no_texts_are_refused(lake: fb.Catalog) -> None:
    wrong: Any = [5]
    with pytest.raises(InvalidInput, match=r"partitioned by texts such as 'day\(ts\)', not by 5"):
        lake.create_table("db.t", "id bigint", partition_by=wrong)
    with pytest.raises(InvalidInput, match="sorted by texts such as 'ts desc', not by 5"):
        lake.create_table("db.t", "id bigint", sort_by=wrong)


@pytest.mark.parametrize("given", [{"format_version": "3"}, {"properties": {"format-version": 3}}])
def test_the_format_version_may_be_a_number_or_its_text(lake: fb.Catalog, given: dict[str, Any]) -> None:
    assert lake.create_table("db.t", "id bigint", **given).format_version == 3


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sql": 5}, "query in the dialect 'spark' must be a text, not 5"),
        ({"sql": {"spark": 5}}, "query in the dialect 'spark' must be a text, not 5"),
        ({"sql": "SELECT 1 AS a", "default_catalog": 5}, "'default_catalog' must be a text, not 5"),
        ({"sql": "SELECT 1 AS a", "properties": {"x": 5}}, "property 'x' must be a text, not 5"),
    ],
)
def test_a_view_of_what_is_no_text_is_refused(lake: fb.Catalog, given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        lake.create_view("db.v", schema="a int", **given)
    assert lake.list_views("db") == []


def test_numbers_out_of_a_frame_name_snapshots_as_whole_numbers_do(lake: fb.Catalog) -> None:
    table = lake.create_table("db.t", "id bigint")
    table.append(pa.table({"id": [1]}))
    table.append(pa.table({"id": [2]}))
    first = table.inspect.snapshots().to_pandas()["snapshot_id"].iloc[0]
    assert not isinstance(first, int)
    with table.manage_refs() as refs:
        refs.create_tag("one", snapshot_id=first, max_ref_age_ms=first)
        refs.rollback_to_snapshot(first)
    read = lake.load_table("db.t")
    assert (read.refs["one"].snapshot_id, read.refs["one"].max_ref_age_ms) == (int(first), int(first))
    assert read.scan(snapshot_id=first, limit=first).to_arrow()["id"].to_pylist() == [1]
    wrong: Any = "5"
    with pytest.raises(InvalidInput, match="max_ref_age_ms is a whole number, not '5'"), table.manage_refs() as refs:
        refs.create_tag("two", max_ref_age_ms=wrong)


@pytest.mark.parametrize("txn", [(5, "job"), ("job", "5"), ("job", 1.5), ("job", True)])
def test_a_transaction_of_another_kind_is_refused_before_rows_are_written(lake: fb.Catalog, txn: Any) -> None:
    table = lake.create_table("db.t", "id bigint")
    with pytest.raises(InvalidInput, match="a transaction is the text of an app id and a whole number"):
        table.append(pa.table({"id": [1]}), txn=txn)
    assert table.refresh().current_snapshot is None
