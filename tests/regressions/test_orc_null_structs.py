"""Values beside null structs in ORC files: pyarrow's writer once gave them to other rows, where structs lie in structs."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

import floeberg as fb

CASES: dict[str, tuple[str, list[Any]]] = {
    "a required number": (
        "o struct<s: struct<x: int not null>>",
        [{"s": None}, {"s": {"x": 1}}, None, {"s": {"x": 2}}, {"s": None}, {"s": {"x": 3}}],
    ),
    "in a required struct": (
        "o struct<b: boolean, s: struct<x: int not null, y: boolean>> not null",
        [{"b": None, "s": None}, {"b": None, "s": {"x": 1, "y": None}}],
    ),
    "deeper, beside a list": (
        "o struct<s: struct<d: struct<x: int not null, l: array<int>>>>",
        [{"s": None}, {"s": {"d": None}}, {"s": {"d": {"x": 5, "l": [1, 2]}}}, {"s": {"d": {"x": 6, "l": []}}}],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_stay_in_their_rows(case: str) -> None:
    ddl, values = CASES[case]
    rows = [{"o": value} for value in values]
    lake = fb.catalog("lake", type="memory")
    lake.create_namespace("db")
    table = lake.create_table("db.t", ddl, properties={"write.format.default": "orc"})
    table.append(pa.Table.from_pylist(rows, schema=table.scan().to_arrow().schema))
    (task,) = table.scan().plan()
    path = task.data_file.file_path
    stored = orc.ORCFile(io.BytesIO(table._pointer.store_for(path).read(path))).read().to_pylist()
    assert stored == rows
    assert table.scan().to_arrow().to_pylist() == rows
