"""The worked examples of the introductions to row-level deletes and row lineage, built with real files."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
from pyroaring import BitMap64

from floeberg.api.catalog import catalog
from floeberg.api.table import Table
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.arrow.write.delete_files import DeletedFile
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.isolation import ReadView
from floeberg.commit.row_delta import RowDelta
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent


def new_table(ddl: str, *, format_version: int) -> Table:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    return lake.create_table("db.t", ddl, format_version=format_version)


def pairs(table: Table, **options: int) -> set[tuple[int, str]]:
    return {(row["id"], row["data"]) for row in table.scan(**options).to_arrow().to_pylist()}  # type: ignore[arg-type]


def equality_deletes(table: Table, ids: list[int], name: str) -> list[DataFile]:
    writer = RollingWriter(
        table._pointer.store_for(table.location),
        table.schema,
        spec=table.spec,
        new_location=lambda _: f"{table.location}/data/{name}.parquet",
        content=FileContent.EQUALITY_DELETES,
        equality_ids=[table.schema.field("id").field_id],
    )
    writer.write(pa.table({"id": ids}, schema=pa.schema([("id", pa.int64())])))
    return writer.close()


def test_deletes_apply_by_sequence_number() -> None:
    """Snapshot 1: a.dat {(1, X), (2, A)}. Snapshot 2: b.dat deletes id = 2, c.dat {(3, Q), (2, B)} is as old as b.dat and
    keeps its row. Snapshot 3: a position delete of c.dat's first row, and d.dat {(4, Y)}."""
    table = new_table("id bigint, data string", format_version=2)
    table.append(pa.table({"id": [1, 2], "data": ["X", "A"]}))
    first = table.current_snapshot
    writer = TableWriter(table.metadata, table._pointer.store_for, table._pointer.effects.ids.uuid())
    c_dat = writer.write_data(pa.table({"id": [3, 2], "data": ["Q", "B"]}))
    table._commit(RowDelta(added=[*equality_deletes(table, [2], "b.dat"), *c_dat]))
    second = table.current_snapshot
    assert first is not None
    assert second is not None
    deletes = writer.write_position_deletes({DeletedFile(file_path=c_dat[0].file_path, spec_id=0): BitMap64([0])})
    d_dat = writer.write_data(pa.table({"id": [4], "data": ["Y"]}))
    table._commit(RowDelta(added=[deletes, *d_dat], view=ReadView(starting_snapshot_id=second.snapshot_id)))

    assert pairs(table, snapshot_id=first.snapshot_id) == {(1, "X"), (2, "A")}
    assert pairs(table, snapshot_id=second.snapshot_id) == {(1, "X"), (3, "Q"), (2, "B")}
    assert pairs(table) == {(1, "X"), (2, "B"), (4, "Y")}


DRINKS = [("tomato juice", 1698, "2023-07-18T02:20:58"), ("cocoa", 1652, "2024-08-26T11:36:48"), ("espresso", 1037, "2024-04-19T12:17:22")]  # fmt: skip
GROCERIES = [("broccoli", 3092, "2023-03-22T18:48:04"), ("nutmeg", 3512, "2024-02-27T15:13:31")]


def sales(rows: list[tuple[str, int, str]], price: str, category: str) -> pa.Table:
    return pa.table(
        {
            "product_name": [name for name, _, _ in rows],
            "price": pa.array([Decimal(price)] * len(rows), pa.decimal128(10, 2)),
            "customer_id": [customer for _, customer, _ in rows],
            "datetime": pa.array([dt.datetime.fromisoformat(when).replace(tzinfo=dt.UTC) for _, _, when in rows], pa.timestamp("us", "UTC")),
            "category": [category] * len(rows),
        }
    )  # fmt: skip


def lineage(table: Table) -> dict[str, tuple[int, int]]:
    rows = table.scan(["product_name", "_row_id", "_last_updated_sequence_number"]).to_arrow().to_pylist()
    return {row["product_name"]: (row["_row_id"], row["_last_updated_sequence_number"]) for row in rows}


def test_rows_keep_their_ids_through_a_copy_on_write_update() -> None:
    """Ids by the rules of the specification; the printed tables of the introduction show each file's first_row_id."""
    ddl = "product_name string, price decimal(10, 2), customer_id bigint, datetime timestamp, category string"
    table = new_table(ddl, format_version=3)
    table.append(sales(DRINKS, "2.00", "drink"))
    assert table.metadata.next_row_id == 3
    assert lineage(table) == {"tomato juice": (0, 1), "cocoa": (1, 1), "espresso": (2, 1)}

    table.append(sales(GROCERIES, "1.00", "grocery"))
    assert table.metadata.next_row_id == 5
    assert lineage(table) == {
        "tomato juice": (0, 1), "cocoa": (1, 1), "espresso": (2, 1), "broccoli": (3, 2), "nutmeg": (4, 2),
    }  # fmt: skip

    snapshot = table.update({"price": Decimal("4.00")}, where="product_name = 'cocoa'")
    assert snapshot is not None
    assert (snapshot.first_row_id, snapshot.added_rows, table.metadata.next_row_id) == (5, 3, 8)
    assert lineage(table) == {
        "tomato juice": (0, 1), "cocoa": (1, 3), "espresso": (2, 1), "broccoli": (3, 2), "nutmeg": (4, 2),
    }  # fmt: skip
    prices = {row["product_name"]: row["price"] for row in table.scan().to_arrow().to_pylist()}
    assert prices["cocoa"] == Decimal("4.00")
    assert prices["espresso"] == Decimal("2.00")
