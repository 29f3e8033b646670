"""Bounds of shredded variants: they hold for every value of the field, or are not there."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import floeberg as fb
from floeberg.arrow.columns.metrics_config import parse_mode
from floeberg.arrow.variant.bounds import normalized_path
from floeberg.arrow.variant.layout import infer_layout
from floeberg.arrow.variant.shred import VariantShredder
from strategies.variants import columns


def decoded(bound: bytes | None) -> dict[str, Any]:
    """The fields of a bound: its metadata is followed by the object."""
    if bound is None:
        return {}
    width = (bound[0] >> 6) + 1
    size = int.from_bytes(bound[1 : 1 + width], "little")
    start = 1 + width * (size + 2)
    end = start + int.from_bytes(bound[1 + width * (size + 1) : start], "little")
    found: dict[str, Any] = fb.variant_to_python(bound[:end], bound[end:])
    return found


def leaves(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, Any]]:
    """The values outside arrays, by their paths."""
    if isinstance(value, dict):
        return [leaf for name, item in value.items() for leaf in leaves(item, (*path, name))]
    return [(normalized_path(path), value)]


def bounds_of(batches: list[list[Any]], mode: str) -> tuple[dict[str, Any], dict[str, Any]]:
    arrays = [
        fb.variant_array([None if v == "missing" else fb.VARIANT_NULL if v is None else v for v in b]) for b in batches
    ]
    rows = [row for array in arrays for row in array.to_pylist() if row is not None]
    layout = infer_layout((row["metadata"], row["value"]) for row in rows)
    if layout is None:
        return {}, {}
    shredder = VariantShredder(layout)
    for array in arrays:
        shredder.shred(array)
    return decoded(shredder.bounds.lower(parse_mode(mode))), decoded(shredder.bounds.upper(parse_mode(mode)))


@given(st.lists(columns(), min_size=1, max_size=3), st.sampled_from(["truncate(3)", "full"]))
def test_every_value_of_a_bounded_field_is_within_its_bounds(batches: list[list[Any]], mode: str) -> None:
    lower, upper = bounds_of(batches, mode)
    assert set(lower) == set(upper)
    for value in (value for batch in batches for value in batch if value != "missing"):
        for path, leaf in leaves(value):
            if path in lower and leaf is not None:
                assert type(lower[path]) is type(upper[path])
                assert isinstance(leaf, (int, Decimal)) or type(leaf) is type(lower[path])
                assert lower[path] <= leaf <= upper[path]


def test_fields_of_one_type_have_bounds_and_others_have_none() -> None:
    values: list[Any] = [
        {
            "n": n,
            "t": "abcdef" + str(n),
            "mixed": n if n else "x",
            "nan": float("nan"),
            "list": [n],
            "in": {"d": 1.5 * n},
        }
        for n in range(4)
    ]
    lower, upper = bounds_of([[*values, None, "missing", {"n": None}]], "truncate(4)")
    assert lower == {"$['n']": 0, "$['t']": "abcd", "$['in']['d']": -0.0}
    assert upper == {"$['n']": 3, "$['t']": "abce", "$['in']['d']": 4.5}
    assert bounds_of([[1, 2, 3]], "full") == ({"$": 1}, {"$": 3})
    assert bounds_of([[1, 2], ["text"]], "full") == ({}, {})
    # A later batch can hold what the first rows did not.
    assert bounds_of([[{"a": 1}] * 9, [{"a": 2}]], "counts") == ({}, {})


@pytest.mark.parametrize(
    ("names", "path"),
    [
        ((), "$"),
        (("a", "b"), "$['a']['b']"),
        (("user.name",), "$['user.name']"),
        (("it's", "back\\slash"), "$['it\\'s']['back\\\\slash']"),
        (("tab\t", "\x01", "ü"), "$['tab\\t']['\\u0001']['ü']"),
    ],
)
def test_paths_are_normalized(names: tuple[str, ...], path: str) -> None:
    assert normalized_path(names) == path


@pytest.mark.parametrize(("mode", "there"), [("full", True), ("truncate(8)", True), ("counts", False), ("none", False)])
def test_the_metrics_mode_of_the_column_decides(mode: str, there: bool) -> None:
    lake = fb.catalog("lake", type="memory")
    lake.create_namespace("db")
    properties = {"write.parquet.shred-variants": "true", "write.metadata.metrics.column.v": mode}
    table = lake.create_table("db.t", "id int, v variant", format_version=3, properties=properties)
    table.append(pa.table({"v": fb.variant_array([{"a": 1}, {"a": 5}])}))
    file = table.inspect.files().to_pylist()[0]
    assert (2 in dict(file["lower_bounds"])) is there
    if there:
        assert decoded(dict(file["lower_bounds"])[2]) == {"$['a']": 1}
        assert decoded(dict(file["upper_bounds"])[2]) == {"$['a']": 5}
