"""What an update sets a column to is exactly the value that was given, or refused."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import floeberg as fb
from floeberg.errors import InvalidInput
from floeberg.testing.table_builder import TableBuilder

NOON = datetime(2020, 1, 1, 12)
NANO = pd.Timestamp("2020-01-01 00:00:00.000000001")


def assigned(kind: str, value: Any) -> Any:
    builder = TableBuilder(f"id bigint, x {kind}", format_version=3).append((1, None))
    builder.table.update({"x": value}, where="id = 1")
    return builder.table.scan(select=["x"]).to_arrow()["x"].to_pylist()[0]


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("int", 1.5, "no whole number"),
        ("bigint", math.nan, "no whole number"),
        ("bigint", math.inf, "no whole number"),
        ("int", np.float32(0.5), "no whole number"),
        ("bigint", Decimal("1.5"), "no whole number"),
        ("bigint", Decimal("Infinity"), "cannot be set"),
        ("float", 1e39, "beyond 32-bit floats"),
        ("date", NOON, "no time of day"),
        ("date", datetime(2020, 1, 1, tzinfo=UTC), "no time of day"),
        ("timestamp_ntz", NOON.replace(tzinfo=UTC), "no time zone"),
        ("timestamp_ntz", NANO, "keeps microseconds"),
        ("timestamp", NANO.tz_localize("UTC"), "keeps microseconds"),
        ("array<int>", [1, 1.5], "no whole number"),
        ("map<string, int>", {"a": 1.5}, "no whole number"),
        ("map<string, int>", [("a", 1.5)], "no whole number"),
        ("struct<a: array<date>>", {"a": [NOON]}, "no time of day"),
    ],
)
def test_a_value_that_would_be_cut_is_refused(kind: str, value: Any, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        assigned(kind, value)


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("int", 5.0, 5),
        ("bigint", Decimal("5.0"), 5),
        ("float", 3.4028234663852886e38, 3.4028234663852886e38),
        ("float", -math.inf, -math.inf),
        ("date", datetime(2020, 1, 1), date(2020, 1, 1)),
        ("timestamp", datetime(2020, 1, 1, 5, tzinfo=timezone(timedelta(hours=5))), datetime(2020, 1, 1, tzinfo=UTC)),
        ("timestamp_ntz", NOON, NOON),
        ("map<string, int>", {"a": 1}, [("a", 1)]),
        ("struct<a: array<date>, b: int>", {"a": [date(2020, 1, 1), None]}, {"a": [date(2020, 1, 1), None], "b": None}),
        ("array<int>", None, None),
    ],
)
def test_a_value_of_another_type_is_taken_where_it_is_the_same(kind: str, value: Any, found: Any) -> None:
    assert assigned(kind, value) == found


def test_a_function_that_gives_one_plain_value_is_told_to_give_an_array() -> None:
    with pytest.raises(InvalidInput, match="gave a float, not an array"):
        assigned("double", lambda rows: 1.5)


def test_a_timestamp_of_pandas_is_compared_by_its_nanoseconds() -> None:
    builder = TableBuilder("id bigint, at timestamp_ns, us timestamp_ntz", format_version=3)
    builder.append(*[(number, NANO.value - 1 + number, NOON) for number in range(3)])
    table = builder.table
    assert table.scan(where=fb.col("at") == NANO).to_arrow()["id"].to_pylist() == [1]
    assert table.scan(where=fb.col("at") > NANO).to_arrow()["id"].to_pylist() == [2]
    assert table.scan(where=fb.col("us") == pd.Timestamp(NOON) + pd.Timedelta(1, "ns")).count() == 0
    table.delete(where=fb.col("at") == NANO)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, 2]
    with pytest.raises(InvalidInput, match="is_null"):
        table.scan(where=fb.col("at") > pd.NaT)
