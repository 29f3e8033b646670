"""The commonest mistakes with pandas frames are told how to mend, and the mending works; other engines take a scan as it is."""

from __future__ import annotations

import importlib.util
from datetime import UTC, datetime

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
