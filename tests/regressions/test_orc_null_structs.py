"""Values beside null structs in ORC files: pyarrow's writer once gave them to other rows."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from pyarrow import orc

import floeberg as fb

ROWS = [
    {"id": 1, "s": None},
    {"id": 2, "s": {"required": 7, "optional": 8, "deep": None}},
    {"id": 3, "s": {"required": 9, "optional": None, "deep": {"x": 5, "l": [1, 2]}}},
    {"id": 4, "s": None},
    {"id": 5, "s": {"required": 10, "optional": 11, "deep": {"x": 6, "l": []}}},
]
DDL = "id int, s struct<required: int not null, optional: int, deep: struct<x: int not null, l: array<int>>>"


@pytest.mark.parametrize("hidden", [None, 99])
def test_values_stay_in_their_rows(hidden: int | None) -> None:
    """`hidden` lies beneath the null structs, where other producers of Arrow leave what was there."""
    lake = fb.catalog("lake", type="memory")
    lake.create_namespace("db")
    table = lake.create_table("db.t", DDL, properties={"write.format.default": "orc"})
    given = pa.Table.from_pylist(ROWS, schema=table.scan().to_arrow().schema)
    if hidden is not None:
        structs = given.column("s").combine_chunks()
        kind = structs.type
        children = [
            pa.array([hidden if value is None else value for value in structs.field(i).to_pylist()], pa.int32())
            if i == 0
            else structs.field(i)
            for i in range(kind.num_fields)
        ]
        beneath = pa.StructArray.from_arrays(children, fields=list(kind), mask=structs.is_null())
        given = given.set_column(1, given.schema.field("s"), beneath)
    table.append(given)
    (task,) = table.scan().plan()
    path = task.data_file.file_path
    stored = orc.ORCFile(io.BytesIO(table.pointer.store_for(path).read(path))).read().to_pylist()
    assert stored == ROWS
    assert table.scan().to_arrow().to_pylist() == ROWS
