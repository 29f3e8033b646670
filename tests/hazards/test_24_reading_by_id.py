"""Hazard 24, reading: a column that was dropped and added again, or whose name another took, never shows the old values, in
any snapshot and in the changelog."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog
from floeberg.api.table import Table
from floeberg.arrow.formats import projection
from floeberg.arrow.formats.projection import Resolver

FORMATS = ("parquet", "orc", "avro")


def new_table(file_format: str, *, mode: str = "copy-on-write") -> Table:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    return lake.create_table(
        "db.t",
        "id bigint, a string, b string",
        properties={"write.format.default": file_format, "write.delete.mode": mode, "write.update.mode": mode},
    )


def rows(table: Table, **options: int) -> list[dict[str, object]]:
    found = table.scan(**options).to_arrow().to_pylist()  # type: ignore[arg-type]
    return sorted(found, key=lambda row: row["id"])


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_column_that_comes_back_does_not_bring_its_values(file_format: str) -> None:
    table = new_table(file_format)
    table.append(pa.table({"id": [1], "a": ["old"], "b": ["x"]}))
    before = table.current_snapshot
    with table.update_schema() as update:
        update.drop_column("a")
    with table.update_schema() as update:
        update.add_column("a", "string")
    table.append(pa.table({"id": [2], "a": ["new"], "b": ["y"]}))
    assert rows(table) == [{"id": 1, "b": "x", "a": None}, {"id": 2, "b": "y", "a": "new"}]
    assert table.scan(where="a = 'old'").count() == 0
    assert before is not None
    assert rows(table, snapshot_id=before.snapshot_id) == [{"id": 1, "a": "old", "b": "x"}]


@pytest.mark.parametrize("file_format", FORMATS)
def test_columns_that_swap_names_keep_their_values(file_format: str) -> None:
    table = new_table(file_format)
    table.append(pa.table({"id": [1], "a": ["A"], "b": ["B"]}))
    with table.update_schema() as update:
        update.rename_column("a", "c")
    with table.update_schema() as update:
        update.rename_column("b", "a")
    with table.update_schema() as update:
        update.rename_column("c", "b")
    assert rows(table) == [{"id": 1, "b": "A", "a": "B"}]
    assert table.scan(where="a = 'B'").count() == 1


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_the_changelog_reads_old_files_by_id(mode: str) -> None:
    table = new_table("parquet", mode=mode)
    table.append(pa.table({"id": [1, 2], "a": ["old", "old"], "b": ["x", "y"]}))
    with table.update_schema() as update:
        update.drop_column("a")
    with table.update_schema() as update:
        update.add_column("a", "string")
    table.delete("id = 1")
    changes = table.scan_changes().to_arrow().to_pylist()
    assert [(row["_change_type"], row["id"], row["a"]) for row in changes] == [
        ("INSERT", 1, None), ("INSERT", 2, None), ("DELETE", 1, None),
    ]  # fmt: skip


def test_random_evolution_never_shows_a_value_under_another_column() -> None:
    """Each value says the id of the column that it was written to."""
    rng = random.Random(24)
    for _ in range(6):
        table = new_table(rng.choice(FORMATS))
        for number in range(8):
            names = {f.name: f.field_id for f in table.schema.fields if f.name != "id"}
            table.append(pa.table({"id": [number], **{name: [f"of {i}"] for name, i in names.items()}}))
            with table.update_schema() as update:
                kind = rng.choice(["drop", "add", "rename"])
                if kind == "drop" and len(names) > 1:
                    update.drop_column(rng.choice(sorted(names)))
                elif kind == "rename":
                    update.rename_column(rng.choice(sorted(names)), rng.choice([n for n in "abcdef" if n not in names]))
                elif kind == "add" and len(names) < 6:
                    update.add_column(rng.choice([n for n in "abcdef" if n not in names]), "string")
        for snapshot in [None, *table.snapshots]:
            scan = table.scan() if snapshot is None else table.scan(snapshot_id=snapshot.snapshot_id)
            for field in scan.schema.fields:
                if field.name != "id":
                    found = set(scan.to_arrow().column(field.name).to_pylist())
                    assert found <= {None, f"of {field.field_id}"}


def test_resolving_by_name_would_bring_the_dropped_column_back(monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table("parquet")
    table.append(pa.table({"id": [1], "a": ["old"], "b": ["x"]}))
    with table.update_schema() as update:
        update.drop_column("a")
    with table.update_schema() as update:
        update.add_column("a", "string")
    assert rows(table)[0]["a"] is None
    monkeypatch.setattr(
        Resolver, "find", lambda self, fields, target, *, path: next((f for f in fields if f.name == target.name), None)
    )
    with monkeypatch.context() as broken:
        broken.setattr(
            "floeberg.arrow.formats.read_parquet.select_leaves", lambda fields, *_, **__: set(range(len(fields)))
        )
        assert projection is not None
        assert rows(table)[0]["a"] == "old"
