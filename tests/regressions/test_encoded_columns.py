"""Columns in other layouts than the plain one (dictionaries, views, Polars' Categorical and Enum) are written as their plain
forms are, by append, overwrite and upsert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import floeberg as fb

TEXT = pa.array(["a", "b", None, "a", "z"])
BYTES = pa.array([b"x", None, b"y", b"x", b""])
NUMBERS = pa.array([[1, 2], None, [], [3], [4, None]], pa.list_(pa.int64()))
TEXTS = pa.array([["a"], None, [], ["b", None], ["a", "c"]], pa.list_(pa.string()))
STRUCTS = pa.array(
    [{"x": "a", "y": ["q"]}, None, {"x": None, "y": None}, {"x": "b", "y": []}, {"x": "b", "y": ["r", None]}],
    pa.struct([("x", pa.string()), ("y", pa.list_(pa.string()))]),
)
MAPS = pa.array([[("a", "v")], None, [], [("b", None)], [("a", "w"), ("c", "v")]], pa.map_(pa.string(), pa.string()))
KEYS = pa.array([1, 2, 3, 4, 5])
ROWS = pa.table({"k": KEYS, "s": TEXT, "b": BYTES, "l": NUMBERS, "ls": TEXTS, "st": STRUCTS, "m": MAPS})


def viewed(array: pa.Array, value_type: pa.DataType) -> pa.Array:
    encoded = array.dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.cast(value_type))


def list_view(array: pa.Array, *, large: bool = False) -> pa.Array:
    """The lists as views of a child that holds them from the last to the first."""
    ends = np.asarray(array.offsets)
    order: list[int] = []
    starts = [0] * len(array)
    for row in reversed(range(len(array))):
        starts[row] = len(order)
        order += range(ends[row], ends[row + 1])
    make, numbers = (pa.LargeListViewArray, pa.int64()) if large else (pa.ListViewArray, pa.int32())
    child = array.values.take(pa.array(order, pa.int64()))
    return make.from_arrays(pa.array(starts, numbers), pa.array(np.diff(ends), numbers), child, mask=array.is_null())


def relisted(array: pa.Array, values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(array.offsets, values, mask=array.is_null())


FORMS: dict[str, tuple[str, Callable[[], pa.Array]]] = {
    "a dictionary": ("s", TEXT.dictionary_encode),
    "a dictionary of large text": ("s", lambda: viewed(TEXT, pa.large_string())),
    "a dictionary of text views": ("s", lambda: viewed(TEXT, pa.string_view())),
    "text views": ("s", lambda: TEXT.cast(pa.string_view())),
    "a dictionary that holds null": (
        "s",
        lambda: pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 2, 0, 3], pa.uint8()), pa.array(["a", "b", None, "z"], pa.string_view())
        ),
    ),
    "runs of text views": (
        "s",
        lambda: pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4, 5], TEXT.cast(pa.string_view())),
    ),
    "a dictionary of bytes": ("b", BYTES.dictionary_encode),
    "a dictionary of byte views": ("b", lambda: viewed(BYTES, pa.binary_view())),
    "list views": ("l", lambda: list_view(NUMBERS)),
    "large list views": ("l", lambda: list_view(NUMBERS, large=True)),
    "list views of text": ("ls", lambda: list_view(TEXTS)),
    "lists of a dictionary of views": ("ls", lambda: relisted(TEXTS, viewed(TEXTS.values, pa.string_view()))),
    "structs of a dictionary and list views": (
        "st",
        lambda: pa.StructArray.from_arrays(
            [viewed(STRUCTS.field(0), pa.string_view()), list_view(STRUCTS.field(1))],
            names=["x", "y"],
            mask=STRUCTS.is_null(),
        ),
    ),
    "maps of dictionaries of views": (
        "m",
        lambda: pa.MapArray.from_arrays(
            MAPS.offsets, viewed(MAPS.keys, pa.string_view()), viewed(MAPS.items, pa.string_view()), mask=MAPS.is_null()
        ),
    ),
}
CHANGES: dict[str, Callable[[fb.Table, Any], object]] = {
    "append": lambda table, rows: table.append(rows),
    "overwrite": lambda table, rows: table.overwrite(rows, where="k < 100"),
    "upsert": lambda table, rows: table.upsert(rows, on=["k"]),
}


@pytest.fixture
def cat() -> fb.Catalog:
    made = fb.catalog("lake", type="memory")
    made.create_namespace("db")
    return made


def written(cat: fb.Catalog, change: str, rows: Any) -> list[dict[str, Any]]:
    table = cat.create_table("db.t", ROWS.schema)
    if change == "upsert":
        table.append(ROWS.slice(1, 2).set_column(1, "s", pa.array(["old", "old"])))
    CHANGES[change](table, rows)
    found: list[dict[str, Any]] = table.scan().to_arrow().sort_by("k").to_pylist()
    return found


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("form", FORMS)
def test_a_column_in_another_layout_is_written_as_its_plain_form(cat: fb.Catalog, form: str, change: str) -> None:
    name, make = FORMS[form]
    rows = ROWS.set_column(ROWS.column_names.index(name), name, make())
    assert written(cat, change, rows) == ROWS.to_pylist()


@pytest.mark.parametrize("form", FORMS)
def test_a_slice_of_such_a_column_is_its_own_rows(cat: fb.Catalog, form: str) -> None:
    name, make = FORMS[form]
    batch = ROWS.set_column(ROWS.column_names.index(name), name, make()).to_batches()[0]
    for start, length in ((1, 3), (2, 3), (0, 2)):
        table = cat.create_table(f"db.t{start}", ROWS.schema)
        table.append(batch.slice(start, length))
        assert table.scan().to_arrow().to_pylist() == ROWS.slice(start, length).to_pylist()


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["z", "b", "a"])], ids=str)
def test_polars_categories_are_written_as_text(cat: fb.Catalog, kind: Any, change: str) -> None:
    frame = pl.DataFrame(ROWS).with_columns(pl.col("s").cast(kind))
    assert written(cat, change, frame) == ROWS.to_pylist()


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["z", "b", "a"])], ids=str)
def test_polars_categories_can_be_keys_and_partitions(cat: fb.Catalog, kind: Any) -> None:
    table = cat.create_table("db.t", "s string, n long", partition_by=["s"])
    frame = pl.DataFrame({"s": ["a", "b"], "n": [1, 2]})
    table.append(frame.with_columns(pl.col("s").cast(kind)))
    changed = pl.DataFrame({"s": ["b", "z"], "n": [20, 30]})
    table.upsert(changed.with_columns(pl.col("s").cast(kind)), on=["s"])
    found = table.scan().to_arrow().sort_by("s").to_pylist()
    assert found == [{"s": "a", "n": 1}, {"s": "b", "n": 20}, {"s": "z", "n": 30}]
