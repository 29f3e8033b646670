"""How values are printed."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from floeberg.cli.output import human, to_json
from floeberg.cli.rows import partition_text, row_dicts
from floeberg.errors import UnsupportedFeature


def test_json_has_no_values_that_json_lacks() -> None:
    assert to_json({1: b"ab", "x": [math.nan, math.inf, Decimal("1.50"), date(2024, 5, 1)], ("a", 2): None}) == {
        "1": "YWI=", "x": ["nan", "inf", "1.50", "2024-05-01"], '["a", 2]': None,
    }  # fmt: skip


def test_people_see_times_in_utc_and_no_control_characters() -> None:
    assert human(datetime(2024, 5, 1, 12, tzinfo=UTC)) == "2024-05-01 12:00:00Z"
    assert human(datetime(2024, 5, 1, 12, 0, 0, 5000, tzinfo=UTC)) == "2024-05-01 12:00:00.005Z"
    assert human("a\x1b[31mb") == "a\\x1b[31mb"
    assert [human(value) for value in (None, True, b"\x00\xff", {"a": 1})] == ["-", "yes", "00ff", '{"a": 1}']


def test_rows_beyond_pythons_calendar_are_shown_as_text() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([2**62], pa.int64()).view(pa.timestamp("us"))], names=["t"])
    (row,) = row_dicts(iter([batch]))
    assert row["t"] == "+148108-07-06T14:00:27.387904"
    nested = pa.RecordBatch.from_arrays([pa.StructArray.from_arrays([batch.column(0)], names=["t"])], names=["s"])
    with pytest.raises(UnsupportedFeature, match="-o parquet"):
        list(row_dicts(iter([nested])))


def test_maps_inside_structs_are_dicts() -> None:
    kind = pa.struct([("m", pa.map_(pa.int32(), pa.list_(pa.string())))])
    batch = pa.RecordBatch.from_arrays([pa.array([{"m": [(1, ["a"])]}, None], kind)], names=["s"])
    assert list(row_dicts(iter([batch]))) == [{"s": {"m": {1: ["a"]}}}, {"s": None}]


def test_partitions_read_as_paths() -> None:
    assert partition_text({"day": date(2024, 5, 1), "b": None}) == "day=2024-05-01/b=null"
    assert partition_text(None) is None
