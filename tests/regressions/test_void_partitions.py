"""A partition field that was removed from a v1 table stays as void, whatever the type of its source."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog


@pytest.mark.parametrize(("ddl", "term", "value"), [
    ("date", "d", dt.date(1969, 12, 31)),
    ("timestamp", "d", dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
    ("timestamp", "day(d)", dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
    ("string", "d", "a"),
])  # fmt: skip
def test_rows_are_written_after_a_partition_field_was_removed(ddl: str, term: str, value: object) -> None:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    table = lake.create_table("db.t", f"id bigint, d {ddl}", partition_by=[term], format_version=1)
    rows = pa.Table.from_pylist([{"id": 1, "d": value}, {"id": 2, "d": None}], schema=table.scan().to_batches().schema)
    table.append(rows)
    with table.update_spec() as update:
        update.remove_field(table.spec.fields[0].name)
    assert str(table.spec.fields[0].transform) == "void"
    table.append(rows)
    assert sorted(table.scan().to_arrow().column("id").to_pylist()) == [1, 1, 2, 2]
    table.delete("id = 1")
    assert table.scan().to_arrow().to_pylist() == [{"id": 2, "d": None}, {"id": 2, "d": None}]
