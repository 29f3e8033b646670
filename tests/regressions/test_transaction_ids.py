"""Columns, specs and orders that a transaction adds get their ids before its files are written: when another commit takes
those ids first, the files must not become rows of other columns or partitions."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.api.transaction import Transaction
from floeberg.errors import ValidationConflict

Change = Callable[[Table | Transaction], None]


@pytest.fixture
def lake() -> Catalog:
    made = catalog("lake", type="memory")
    made.create_namespace("db")
    table = made.create_table("db.t", "k bigint, a string, b string", format_version=2)
    table.append(_rows(k=[1], a=["a"], b=["b"]))
    return made


def _rows(**columns: list[object]) -> pa.Table:
    return pa.table(columns)


def _column(name: str) -> Change:
    def change(table: Table | Transaction) -> None:
        with table.update_schema() as update:
            update.add_column(name, "string")

    return change


def _partition(term: str) -> Change:
    def change(table: Table | Transaction) -> None:
        with table.update_spec() as update:
            update.add_field(term)

    return change


def _order(term: str) -> Change:
    def change(table: Table | Transaction) -> None:
        with table.update_sort_order() as update:
            update.order_by(term)

    return change


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (_column("mine"), _column("theirs")),
        (_partition("a"), _partition("b")),
        (_order("a"), _order("b")),
    ],
)
def test_files_written_under_ids_that_another_commit_took_are_refused(
    lake: Catalog, mine: Change, theirs: Change
) -> None:
    table, other = lake.load_table("db.t"), lake.load_table("db.t")
    tx = table.transaction()
    mine(tx)
    columns = {"mine": ["m"]} if "mine" in [column.name for column in tx.metadata.current_schema.fields] else {}
    tx.append(_rows(k=[2], a=["x"], b=["y"], **columns))
    theirs(other)
    with pytest.raises(ValidationConflict, match="run the whole transaction again"), tx:
        pass
    found = lake.load_table("db.t")
    assert [row["k"] for row in found.scan().to_arrow().to_pylist()] == [1]
    assert found.scan(where="b = 'x'").count() == 0


def test_what_others_do_to_columns_that_were_there_does_not_hinder_a_transaction_that_adds_one(lake: Catalog) -> None:
    table, other = lake.load_table("db.t"), lake.load_table("db.t")
    tx = table.transaction()
    _column("mine")(tx)
    tx.append(_rows(k=[2], a=["x"], b=["y"], mine=["m"]))
    with other.update_schema() as update:
        update.rename_column("a", "c").drop_column("b")
    other.append(_rows(k=[3], c=["z"]))
    with tx:
        pass
    rows = table.scan().to_arrow().to_pylist()
    assert sorted((row["k"], row["c"], row["mine"]) for row in rows) == [
        (1, "a", None),
        (2, "x", "m"),
        (3, "z", None),
    ]
