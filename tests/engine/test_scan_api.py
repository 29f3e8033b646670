"""Scans as users ask for them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog
from floeberg.api.table import Table
from floeberg.errors import DataFileCorrupt, InvalidInput, RefNotFound, SnapshotNotFound
from floeberg.expr.build import col


def new_table(ddl: str = "id bigint, name string, st struct<x: int, y: string>, p int", **options: Any) -> Table:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    return lake.create_table("db.t", ddl, **options)


def rows(first: int, count: int, p: int = 0) -> pa.Table:
    ids = range(first, first + count)
    return pa.table(
        {
            "id": list(ids),
            "name": [f"n{i}" for i in ids],
            "st": [{"x": i, "y": str(i)} for i in ids],
            "p": pa.array([p] * count, pa.int32()),
        },
        schema=pa.schema(
            [("id", pa.int64()), ("name", pa.string()), ("st", pa.struct([("x", pa.int32()), ("y", pa.string())])), ("p", pa.int32())]
        ),
    )  # fmt: skip


@pytest.fixture(scope="module")
def table() -> Table:
    made = new_table(partition_by=["p"], format_version=3, properties={"write.delete.mode": "merge-on-read"})
    made.append(rows(0, 10, 0))
    made.append(rows(10, 10, 1))
    made.delete("id in (3, 12)")
    return made


def test_columns_come_in_the_order_of_select_and_members_of_structs_alone(table: Table) -> None:
    found = table.scan(["p", "st.y", "id"], where="id = 0").to_arrow()
    assert found.schema.names == ["p", "st", "id"]
    assert found.to_pylist() == [{"p": 0, "st": {"y": "0"}, "id": 0}]


def test_a_star_stands_for_all_columns(table: Table) -> None:
    assert table.scan(["*", "_pos"]).to_arrow().schema.names == ["id", "name", "st", "p", "_pos"]


def test_metadata_columns_say_where_a_row_lies(table: Table) -> None:
    found = table.scan(["id"], where="id >= 10", metadata_columns=True).to_arrow().to_pylist()
    assert set(found[0]) == {
        "id",
        "_file",
        "_pos",
        "_spec_id",
        "_partition",
        "_row_id",
        "_last_updated_sequence_number",
    }
    by_id = {row["id"]: row for row in found}
    assert [by_id[i]["_pos"] for i in (10, 11, 13)] == [0, 1, 3]
    assert by_id[13]["_partition"] == {"p": 1}
    assert by_id[13]["_row_id"] == 13
    assert by_id[13]["_last_updated_sequence_number"] == 2
    assert len({row["_file"] for row in found}) == 1


def test_deleted_rows_come_marked_when_they_are_asked_for(table: Table) -> None:
    found = table.scan(["id", "_deleted"])
    marked = {row["id"]: row["_deleted"] for row in found.to_arrow().to_pylist()}
    assert len(marked) == found.count() == 20
    assert {i for i, deleted in marked.items() if deleted} == {3, 12}


@pytest.mark.parametrize("where", ["id > 15 AND name <> 'n17'", (col("id") > 15) & (col("name") != "n17")])
def test_conditions_are_text_or_expressions(table: Table, where: Any) -> None:
    assert sorted(table.scan(["id"], where=where).to_arrow().column("id").to_pylist()) == [16, 18, 19]


@pytest.mark.parametrize("limit", [0, 1, 7, 18, 100])
def test_a_limit_ends_the_scan(table: Table, limit: int) -> None:
    scan = table.scan(limit=limit)
    assert scan.to_arrow().num_rows == scan.count() == min(limit, 18)


def test_frames_of_polars_and_pandas(table: Table) -> None:
    scan = table.scan(["id"], where="id < 3")
    assert scan.to_polars().equals(pl.DataFrame({"id": [0, 1, 2]}))
    assert list(scan.to_pandas()["id"]) == [0, 1, 2]


def test_an_empty_table_has_its_columns_and_no_rows() -> None:
    empty = new_table()
    assert empty.scan().to_arrow().schema.names == ["id", "name", "st", "p"]
    assert empty.scan(where="id = 1").count() == 0
    assert empty.scan().snapshot is None


def test_time_travel_by_id_ref_and_time(table: Table) -> None:
    first = table.snapshots[0]
    assert table.scan(snapshot_id=first.snapshot_id).count() == 10
    moment = dt.datetime.fromtimestamp(first.timestamp_ms / 1000, dt.UTC) + dt.timedelta(microseconds=999)
    assert table.scan(as_of=first.timestamp_ms).snapshot is not None
    assert table.scan(as_of=moment).snapshot is not None
    assert table.scan(ref="main").count() == 18
    with pytest.raises(SnapshotNotFound):
        table.scan(snapshot_id=1)
    with pytest.raises(SnapshotNotFound):
        table.scan(as_of=5)
    with pytest.raises(RefNotFound):
        table.scan(ref="nowhere")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"select": ["nope"]}, "no column 'nope'"),
        ({"select": "id"}, "list of names"),
        ({"select": ["ID"]}, "no column 'ID'"),
        ({"select": ["_change_type"]}, "no column '_change_type'"),
        ({"metadata_columns": ["_nope"]}, "no column '_nope'"),
        ({"limit": -1}, "number of rows"),
        ({"limit": "5"}, "number of rows"),
        ({"as_of": dt.datetime(2024, 1, 1)}, "time zone"),
        ({"as_of": 1.5}, "milliseconds"),
        ({"where": 5}, "condition"),
        ({"options": {"nope": "1"}}, "unknown read option"),
        ({"options": {"threads": "0"}}, "positive number"),
        ({"options": {"match-columns-by-name": "maybe"}}, "true or false"),
        ({"snapshot_id": 1, "ref": "main"}, "only one"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(table: Table, options: Any, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        table.scan(**options)


def test_names_may_be_found_without_regard_to_case(table: Table) -> None:
    assert table.scan(["NAME"], where="ID = 1", case_sensitive=False).to_arrow().to_pylist() == [{"name": "n1"}]


def test_counts_come_from_metadata_where_they_are_exact(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_reading(*_: object, **__: object) -> object:
        raise AssertionError("no data file must be read")

    monkeypatch.setattr("floeberg.arrow.scan.execute.read_data_file", no_reading)
    assert table.scan().count() == 18
    assert table.scan(where="p = 1").count() == 9
    assert table.scan(limit=4).count() == 4
    with pytest.raises(AssertionError, match="no data file"):
        table.scan(where="id > 4").count()


def test_plans_are_sequences_of_tasks_and_explain_themselves(table: Table) -> None:
    scan = table.scan(where="p = 1")
    plan = scan.plan()
    assert len(plan) == 1
    assert plan[0].data_file.record_count == 10
    assert "p = 1" in str(scan.explain())
    assert "lake.db.t" in repr(scan)


def test_a_scan_keeps_its_snapshot_while_others_commit() -> None:
    mine = new_table()
    mine.append(rows(0, 5))
    scan = mine.scan()
    mine.append(rows(5, 5))
    assert (scan.count(), scan.to_arrow().num_rows, mine.scan().count()) == (5, 5, 10)


def test_batches_have_no_more_rows_than_asked_for(table: Table) -> None:
    reader = table.scan(options={"batch-rows": "4"}).to_batches()
    assert isinstance(reader, pa.RecordBatchReader)
    assert max(batch.num_rows for batch in reader) <= 4


def test_a_changed_value_is_an_error_unless_checksums_are_not_to_be_verified(tmp_path: Path) -> None:
    lake = catalog("lake", warehouse=str(tmp_path), properties={"local.fsync": "false"})
    lake.create_namespace("db")
    plain = {"write.parquet.compression-codec": "uncompressed", "write.parquet.dict-size-bytes": "1"}
    table = lake.create_table("db.t", "id bigint", properties=plain)
    table.append(pa.table({"id": [0x1122334455667788] * 4 + [5]}))
    (file,) = tmp_path.rglob("*.parquet")
    content = file.read_bytes()
    stored = (5).to_bytes(8, "little")
    page = content.index((0x1122334455667788).to_bytes(8, "little"))
    place = content.index(stored, page)
    file.write_bytes(content[:place] + b"\x07" + content[place + 1 :])
    with pytest.raises(DataFileCorrupt, match=file.name):
        table.scan().to_arrow()
    found = table.scan(options={"verify-checksums": "false"}).to_arrow()
    assert found["id"].to_pylist()[-1] == 7
