"""Files that another writer left may hold values that cannot be read as the column's type. Metadata never answer for them: a
count, a least or a greatest value is what reading gives, and the same error where that is an error."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floeberg.api.catalog import catalog
from floeberg.api.table import Table
from floeberg.errors import FloebergError, InvalidInput

US = 1_700_000_000_000_000


def imported(folder: Path, data_type: str, values: pa.Array, **options: Any) -> Table:
    """A table of one imported file with these values."""
    lake = catalog("lake", warehouse=str(folder / "lake"))
    lake.create_namespace("db")
    table = lake.create_table("db.t", f"x {data_type}", format_version=3)
    (folder / "files").mkdir()
    pq.write_table(pa.table({"x": values}), folder / "files" / "one.parquet", **options)
    table.maintenance.add_files(str(folder / "files"))
    return table


def nanoseconds(*values: int) -> pa.Array:
    return pa.array(values, pa.timestamp("ns"))


def answer(table: Table, function: str, *, from_metadata: bool) -> Any:
    try:
        return table.scan().aggregate(function, from_metadata=from_metadata).to_pylist()
    except FloebergError as error:
        return type(error)


UNREADABLE = [
    ("timestamp", nanoseconds(US * 1000 + 1, US * 1000 + 5_001)),
    ("timestamp", nanoseconds(US * 1000, US * 1000 + 1, US * 1000 + 5_000)),  # bounds alone do not tell
    ("timestamptz", nanoseconds(US * 1000 + 1)),
    ("time", pa.array([1_001, 5_001], pa.time64("ns"))),
    ("decimal(4, 0)", pa.array([1, 123456], pa.int32())),
    ("string", pa.array([b"a", b"\xff"], pa.binary())),
    ("uuid", pa.array(["no uuid"], pa.string())),
]


@pytest.mark.parametrize("function", ["count(x)", "min(x)", "max(x)"])
@pytest.mark.parametrize(("data_type", "values"), UNREADABLE, ids=[str(number) for number in range(len(UNREADABLE))])
def test_what_cannot_be_read_is_not_answered_by_metadata(
    tmp_path: Path, data_type: str, values: pa.Array, function: str
) -> None:
    table = imported(tmp_path, data_type, values)
    read = answer(table, function, from_metadata=False)
    assert isinstance(read, type)
    assert answer(table, function, from_metadata=True) is read
    assert answer(table, "count(*)", from_metadata=True) == [{"count(*)": len(values)}]


@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        ("timestamp_ns", pa.array([253_402_300_799_000_000, 0], pa.timestamp("us"))),
        ("decimal(4, 1)", pa.array([Decimal("1.0"), Decimal("123456.0")], pa.decimal128(9, 1))),
    ],
)
def test_what_a_footer_shows_to_be_unreadable_is_refused_at_once(
    tmp_path: Path, data_type: str, values: pa.Array
) -> None:
    with pytest.raises(InvalidInput, match="is not a value of type"):
        imported(tmp_path, data_type, values)


READABLE = [
    ("timestamp", nanoseconds(US * 1000, US * 1000 + 5_000), {}),
    ("timestamp", pa.array([1, 5], pa.timestamp("ms")), {}),
    ("timestamp", nanoseconds(US * 1000 + 1, US * 1000 + 5_001), {"use_deprecated_int96_timestamps": True}),
    ("timestamp_ns", nanoseconds(US * 1000 + 1, US * 1000 + 5_001), {}),
    ("time", pa.array([1_000, 5_000], pa.time64("ns")), {}),
    ("decimal(9, 1)", pa.array([Decimal("1.0"), Decimal("12.0")], pa.decimal128(4, 1)), {}),
    ("bigint", pa.array([1, 5], pa.uint32()), {}),
    ("int", pa.array([1, 5], pa.int16()), {}),
    ("double", pa.array([1.5, 5.5], pa.float32()), {}),
    ("string", pa.array(["a", "b"]).dictionary_encode(), {}),
]


@pytest.mark.parametrize("function", ["count(x)", "min(x)", "max(x)"])
@pytest.mark.parametrize(
    ("data_type", "values", "options"), READABLE, ids=[str(number) for number in range(len(READABLE))]
)
def test_what_can_be_read_is_answered_alike(
    tmp_path: Path, data_type: str, values: pa.Array, options: dict[str, Any], function: str
) -> None:
    table = imported(tmp_path, data_type, values, **options)
    read = answer(table, function, from_metadata=False)
    assert not isinstance(read, type)
    assert answer(table, function, from_metadata=True) == read


def test_rounded_bounds_still_leave_out_files(tmp_path: Path) -> None:
    table = imported(tmp_path, "timestamp", nanoseconds(US * 1000 + 1, US * 1000 + 5_001))
    assert len(table.scan(where="x > '2030-01-01T00:00:00'").plan()) == 0
    assert len(table.scan(where="x >= '2023-11-14T22:13:20'").plan()) == 1


def test_wide_types_are_answered_without_reading(tmp_path: Path) -> None:
    table = imported(tmp_path, "timestamp", pa.array([1, 5], pa.timestamp("ms")))
    (tmp_path / "files" / "one.parquet").unlink()
    assert answer(table, "count(x)", from_metadata=True) == [{"count(x)": 2}]
    assert not isinstance(answer(table, "max(x)", from_metadata=True), type)
