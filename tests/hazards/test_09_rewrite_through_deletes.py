"""Hazard 9: a copy-on-write change that rewrites the raw file brings rows back that were deleted beside it."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog
from floeberg.api.table import Table
from floeberg.arrow.scan.deletes import NO_DELETES
from floeberg.arrow.scan.execute import TableReader
from models.engine_model import Model, arrow_rows

KINDS = ("position", "equality", "both")


def deleted_in_place(version: int, kind: str) -> Table:
    """Rows 0 to 9, of which 3 and 7 are deleted by delete files of some kind."""
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    table = lake.create_table(
        "db.t", "k bigint, v string", format_version=version, properties={"write.delete.mode": "merge-on-read"}
    )
    table.append(pa.table({"k": list(range(10)), "v": list("abcdefghij")}))
    by_key = {"position": [], "equality": [3, 7], "both": [7]}[kind]
    if by_key:
        model = Model(table, random.Random(1))
        model.commit_equality_deletes([{1: key, 2: None} for key in by_key], (1,))
    for key in {3, 7} - set(by_key):
        table.delete(f"k = {key}")
    with table.update_properties() as update:
        update.set({f"write.{name}.mode": "copy-on-write" for name in ("delete", "update", "merge")})
    return table


def change(table: Table, how: str) -> None:
    if how == "delete":
        table.delete("k = 5")
    elif how == "update":
        table.update({"v": "new"}, where="k = 5")
    elif how == "upsert":
        table.upsert(arrow_rows([{1: 5, 2: "new"}], table.schema), on=["k"])
    else:
        table.overwrite(arrow_rows([{1: 5, 2: "new"}], table.schema), where="k = 5")


def keys(table: Table) -> list[int]:
    return sorted(table.scan(["k"]).to_arrow().column("k").to_pylist())


@pytest.mark.parametrize("how", ["delete", "update", "upsert", "overwrite"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", [2, 3])
def test_a_rewrite_reads_through_the_deletes_of_its_file(version: int, kind: str, how: str) -> None:
    table = deleted_in_place(version, kind)
    assert keys(table) == [0, 1, 2, 4, 5, 6, 8, 9]
    change(table, how)
    assert keys(table) == [k for k in (0, 1, 2, 4, 5, 6, 8, 9) if k != 5 or how != "delete"]


@pytest.mark.parametrize("version", [2, 3])
def test_without_the_protection_deleted_rows_come_back(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would fail if rewrites read the raw file."""
    table = deleted_in_place(version, "position")

    def raw(self: TableReader, task: Any) -> Any:
        return NO_DELETES

    monkeypatch.setattr(TableReader, "deletes", raw)
    change(table, "delete")
    monkeypatch.undo()
    assert 3 in keys(table)
