"""Parquet of old Hive writers, which annotate the group of a map's pairs as UNKNOWN, is read."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floeberg.arrow.formats.open_file import read_file
from floeberg.arrow.formats.parquet_footer import mended_footer
from floeberg.effects.leniencies import Leniency, gathered_leniencies
from floeberg.effects.system import SystemClock
from floeberg.errors import DataFileCorrupt
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import LONG, STRING, MapType, NestedField
from floeberg.storage.memory import MemoryStore
from lakes.foreign_tables import with_id

PAIRS = b"key_value\x15\x04\x00"
"""The end of the element of a map's pairs in a footer: its name and its two children."""
UNKNOWN = b"key_value\x15\x04" + bytes([5 << 4 | 12, 11 << 4 | 12, 0, 0]) + b"\x00"
LOCATION = "memory://bucket/000000_0"
SCHEMA = Schema(NestedField(1, "id", LONG), NestedField(2, "m", MapType(3, STRING, 4, LONG)))


def old_hive_file(rows: int = 3) -> bytes:
    key, value = with_id(pa.field("key", pa.string(), nullable=False), 3), with_id(pa.field("value", pa.int64()), 4)
    schema = pa.schema([with_id(pa.field("id", pa.int64()), 1), with_id(pa.field("m", pa.map_(key, value)), 2)])
    out = io.BytesIO()
    columns = [list(range(rows)), [[("a", i), ("b", None)] for i in range(rows)]]
    pq.write_table(pa.table(columns, schema=schema), out, row_group_size=2)
    data = out.getvalue()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8]
    assert footer.count(PAIRS) == 1
    changed = footer.replace(PAIRS, UNKNOWN)
    assert mended_footer(changed) == footer == mended_footer(footer)
    return data[: -8 - length] + changed + len(changed).to_bytes(4, "little") + b"PAR1"


def test_a_map_whose_pairs_are_annotated_as_unknown_is_read() -> None:
    data = old_hive_file()
    with pytest.raises((OSError, pa.ArrowException), match="cannot be applied to group node"):
        pq.ParquetFile(io.BytesIO(data))
    store = MemoryStore(SystemClock())
    store.write(LOCATION, data)
    file = DataFile(file_path=LOCATION, file_format=FileFormat.PARQUET, record_count=3, file_size_in_bytes=len(data))
    with gathered_leniencies() as tolerated:
        found = list(read_file(store, file, SCHEMA))
    assert [batch.first_position for batch in found] == [0, 2]
    assert [row for batch in found for row in batch.batch.to_pylist()] == [
        {"id": i, "m": [("a", i), ("b", None)]} for i in range(3)
    ]
    assert [one.leniency for one in tolerated] == [Leniency.LOGICAL_TYPE_OF_GROUP]


def test_a_damaged_footer_is_corrupt_and_nothing_else() -> None:
    data = old_hive_file()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8]
    for end in range(len(footer)):
        try:
            mended_footer(footer[:end])
        except DataFileCorrupt:
            continue
        pytest.fail(f"a footer cut at {end} is taken for whole")
