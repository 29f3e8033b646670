"""Partitions of 0.0 and -0.0: Python takes the values for equal, the format does not."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog
from floeberg.api.table import Table


def _table(*, format_version: int, mode: str = "copy-on-write") -> Table:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    return lake.create_table(
        "db.t",
        "d double, v bigint",
        partition_by=["d"],
        format_version=format_version,
        properties={"write.delete.mode": mode, "write.update.mode": mode},
    )


def _rows(table: Table) -> list[tuple[str, int]]:
    return sorted((str(row["d"]), row["v"]) for row in table.scan().to_arrow().to_pylist())


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("format_version", [2, 3])
def test_rows_of_both_zero_partitions_can_be_changed_at_once(format_version: int, mode: str) -> None:
    table = _table(format_version=format_version, mode=mode)
    for value in (0.0, -0.0, math.nan):
        table.append(pa.table({"d": [value, value], "v": [1, 2]}))
    table.delete("v = 1")
    assert _rows(table) == [("-0.0", 2), ("0.0", 2), ("nan", 2)]
    table.update({"v": 3}, "d = 0.0")
    assert _rows(table) == [("-0.0", 3), ("0.0", 3), ("nan", 2)]


def test_replacing_one_zero_partition_leaves_the_other() -> None:
    table = _table(format_version=2)
    table.append(pa.table({"d": [0.0, -0.0], "v": [1, 2]}))
    table.append(pa.table({"d": [-0.0], "v": [3]}))
    table.overwrite_partitions(pa.table({"d": [0.0], "v": [9]}))
    assert _rows(table) == [("-0.0", 2), ("-0.0", 3), ("0.0", 9)]
