"""position_deletes, from deletion vectors and from delete files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floeberg.errors import FileNotFound
from golden_collection.golden_tables import RECORDED, copy_golden, open_golden


def test_vectors_give_each_position_with_where_the_vector_lies() -> None:
    table = open_golden("deletion_vectors")
    rows = table.inspect.position_deletes().to_pylist()
    files = table.inspect.delete_files().to_pylist()
    assert len(rows) == sum(file["record_count"] for file in files)
    for file in files:
        own = [row for row in rows if row["content_offset"] == file["content_offset"]
               and row["delete_file_path"] == file["file_path"]]  # fmt: skip
        assert len(own) == file["record_count"]
        assert {row["file_path"] for row in own} == {file["referenced_data_file"]}
        assert {row["content_size_in_bytes"] for row in own} == {file["content_size_in_bytes"]}
        assert {row["row"] for row in own} == {None}
        positions = [row["pos"] for row in own]
        assert positions == sorted(set(positions))


def test_delete_files_give_what_they_hold() -> None:
    table = open_golden("gperov_test")
    (file,) = table.inspect.delete_files().to_pylist()
    (row,) = table.inspect.position_deletes().to_pylist()
    path = file["file_path"].replace(
        RECORDED["gperov_test"], str(Path(__file__).parents[1] / "golden/tables/gperov_test")
    )
    stored = pq.read_table(path, columns=["file_path", "pos"]).to_pylist()
    assert [{"file_path": row["file_path"], "pos": row["pos"]}] == stored
    assert row["delete_file_path"] == file["file_path"]
    assert row["spec_id"] == 0


def test_the_deprecated_row_column_is_shown(tmp_path: Path) -> None:
    folder = copy_golden("gperov_test", tmp_path)
    (file,) = folder.glob("data/*-deletes.parquet")
    old = pq.read_table(file)
    kind = pa.struct(
        [
            pa.field("a", pa.int64(), metadata={b"PARQUET:field_id": b"1"}),
            pa.field("b", pa.int64(), metadata={b"PARQUET:field_id": b"2"}),
        ]
    )
    field = pa.field("row", kind, metadata={b"PARQUET:field_id": b"2147483544"})
    pq.write_table(old.append_column(field, pa.array([{"a": 7, "b": None}], kind)), file)
    # The entry's size is no longer right, which a local file does not need.
    (row,) = open_golden("gperov_test", folder).inspect.position_deletes().to_pylist()
    assert row["row"] == {"a": 7, "b": None}


def test_a_delete_file_that_is_gone_is_named(tmp_path: Path) -> None:
    folder = copy_golden("deletion_vectors", tmp_path)
    for file in folder.glob("data/*.puffin"):
        file.unlink()
    with pytest.raises(FileNotFound, match="puffin"):
        open_golden("deletion_vectors", folder).inspect.position_deletes()
