"""The metadata tables beside PyIceberg's, of a table that PyIceberg wrote."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, DoubleType, ListType, LongType, NestedField, StringType, StructType

from floeberg.api.catalog import open_table
from floeberg.api.inspect import Inspect

COMMON = ("snapshots", "history", "metadata_log_entries", "refs", "files", "data_files", "delete_files", "manifests",
          "entries", "all_files", "all_data_files", "all_delete_files", "all_manifests", "partitions")  # fmt: skip


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Inspect, Any]:
    folder: Path = tmp_path_factory.mktemp("lake")
    catalog = InMemoryCatalog("lake", warehouse=f"file://{folder}")
    catalog.create_namespace("db")
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "name", StringType()),
        NestedField(3, "price", DoubleType()),
        NestedField(4, "day", DateType()),
        NestedField(5, "place", StructType(NestedField(6, "city", StringType()))),
        NestedField(7, "tags", ListType(8, StringType())),
    )
    spec = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "price"))
    table = catalog.create_table("db.t", schema, partition_spec=spec)
    for start in (0, 10):
        rows = [
            {"id": start + n, "name": f"name {n}" if n % 3 else None, "price": float(n % 2), "day": None,
             "place": {"city": "Oslo" * n}, "tags": ["x"] * n}
            for n in range(6)
        ]  # fmt: skip
        table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table.delete("price == 1.0 and id >= 10")
    return open_table(table.metadata_location).inspect, table.inspect


@pytest.mark.parametrize("name", COMMON)
def test_what_both_show_is_equal(both: tuple[Inspect, Any], name: str) -> None:
    ours, theirs = (getattr(one, name)().to_pylist(maps_as_pydicts="strict") for one in both)
    assert len(ours) == len(theirs)
    assert name == "delete_files" or name == "all_delete_files" or ours
    for mine, other in zip(_ordered(ours), _ordered(theirs), strict=True):
        assert set(other) <= set(mine)
        assert _shared(mine, other) == _shared(other, mine)


def _ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """PyIceberg reads manifests in threads and does not keep their order."""
    keys = ("file_path", "path", "reference_snapshot_id", "snapshot_id", "status", "name", "file", "made_current_at")

    def key(row: dict[str, Any]) -> str:
        path = (row.get("data_file") or {}).get("file_path")
        return str([path, *(row.get(name) for name in keys), row.get("partition")])

    return sorted(rows, key=key)


def _shared(row: Any, other: Any) -> Any:
    """What both have, in one form: PyIceberg shows times without a zone, file formats and absent values its own way."""
    if isinstance(row, dict):
        return {key: _shared(value, other[key]) for key, value in row.items() if key in other}
    if isinstance(row, list) and isinstance(other, list) and len(row) == len(other):
        return [_shared(mine, theirs) for mine, theirs in zip(row, other, strict=True)]
    if hasattr(row, "tzinfo"):
        return row.replace(tzinfo=None)
    return row
