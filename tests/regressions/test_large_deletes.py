"""Which deletes Spark's workers write, and which the driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap64

from floeberg.api.catalog import catalog
from floeberg.arrow.changes.row_level import DeletedRows
from floeberg.catalogs.base import LoadedTable
from floeberg.spark.dml import delete_job
from floeberg.spark.dml.delete_job import deletes_are_large
from floeberg.spark.read.arrow_scan import table_files
from floeberg.testing.table_builder import TableBuilder

FEW = BitMap64([1])
BOUND = 1000
MANY = BitMap64(range(0, 64 * BOUND, 64))
SIDE_BY_SIDE = BitMap64(range(8 * BOUND))


@pytest.fixture(autouse=True)
def bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete_job, "MAX_DRIVER_BYTES", BOUND)


def are_large(builder: TableBuilder, positions: BitMap64) -> bool:
    table = builder.table
    files = table_files(LoadedTable(table._pointer, table._state), table.schema)
    return deletes_are_large([DeletedRows(task, positions) for task in table.scan().plan()], table.metadata, files)


def made(tmp_path: Path, version: int, **properties: str) -> TableBuilder:
    named = {f"write.delete.{key}": value for key, value in properties.items()}
    lake = catalog("lake", warehouse=str(tmp_path))
    return TableBuilder(format_version=version, properties=named, in_catalog=lake).append((1, 0, "a"), (2, 0, "b"))


@pytest.mark.parametrize("version", [2, 3])
def test_workers_write_positions_of_many_bytes(tmp_path: Path, version: int) -> None:
    builder = made(tmp_path, version)
    assert not are_large(builder, FEW)
    assert are_large(builder, MANY)
    assert not are_large(builder, SIDE_BY_SIDE)  # more rows, of which each takes a bit


def test_workers_merge_with_the_older_deletes_of_many_files(tmp_path: Path, monkeypatch: Any) -> None:
    builder = made(tmp_path, 3, mode="merge-on-read")
    monkeypatch.setattr(delete_job, "MAX_DRIVER_READS", 0)
    assert not are_large(builder, FEW)
    assert are_large(builder.delete("id = 1"), FEW)


def test_the_driver_writes_one_delete_file_for_a_whole_partition(tmp_path: Path) -> None:
    assert not are_large(made(tmp_path / "v2", 2, granularity="partition"), MANY)
    assert are_large(made(tmp_path / "v3", 3, granularity="partition"), MANY)


def test_the_driver_writes_to_stores_that_live_in_its_process() -> None:
    assert not are_large(TableBuilder(format_version=3).append((1, 0, "a")), MANY)
