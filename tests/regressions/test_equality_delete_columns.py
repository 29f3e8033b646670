"""Equality delete files may hold whole rows, as some writers leave them: only their key columns say what they delete."""

from __future__ import annotations

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.commit.delete_files import DeleteFiles
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import ValidationConflict
from floeberg.spec.snapshots.manifest_entry import FileContent
from floeberg.sql.conditions.filters import parse_where


@pytest.fixture
def lake() -> Catalog:
    made = catalog("lake", type="memory")
    made.create_namespace("db")
    modes = {f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update")}
    table = made.create_table("db.t", "k bigint, x bigint", format_version=2, properties=modes)
    table.append(_rows((1, 5), (2, 5)))
    table.append(_rows((1, 6), (2, 6)))
    return made


def _rows(*rows: tuple[int, int]) -> pa.Table:
    return pa.table({"k": [k for k, _ in rows], "x": [x for _, x in rows]})


def _delete_by_key(table: Table, *rows: tuple[int, int]) -> None:
    writer = RollingWriter(
        table._pointer.store_for(table.location),
        table.schema,
        spec=table.spec,
        new_location=lambda _: f"{table.location}/data/{table.metadata.last_sequence_number}-deletes.parquet",
        content=FileContent.EQUALITY_DELETES,
        equality_ids=[table.schema.field("k").field_id],
    )
    writer.write(_rows(*rows))
    table._commit(RowDelta(added=writer.close()))


def _found(table: Table) -> list[tuple[int, int]]:
    return sorted((row["k"], row["x"]) for row in table.scan().to_arrow().to_pylist())


def test_removing_files_by_another_column_keeps_deletes_of_the_rows_that_stay(lake: Catalog) -> None:
    table = lake.load_table("db.t")
    _delete_by_key(table, (1, 5))
    assert _found(table) == [(2, 5), (2, 6)]
    table._commit(DeleteFiles(row_filter=parse_where("x = 5")))
    assert _found(table) == [(2, 6)]


def test_a_row_deleted_by_key_meanwhile_does_not_come_back_by_an_update_of_another_column(lake: Catalog) -> None:
    table, other = lake.load_table("db.t"), lake.load_table("db.t")
    tx = table.transaction()
    tx.update({"x": 7}, "x = 6")
    _delete_by_key(other, (1, 5))
    with pytest.raises(ValidationConflict):
        tx.__exit__(None, None, None)
    assert _found(lake.load_table("db.t")) == [(2, 5), (2, 6)]
