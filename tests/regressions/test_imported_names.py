"""Files without field ids keep their columns whatever is renamed, dropped or added after their import."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from floeberg.api.catalog import catalog
from floeberg.api.table import Table
from floeberg.errors import DataFileCorrupt

NAMES = ("a", "b", "c", "A")


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    lake = catalog("lake", warehouse=str(tmp_path / "warehouse"))
    lake.create_namespace("db")
    return lake


def add(table: Table, folder: Path, columns: dict[str, Any], *, format: str = "parquet") -> None:
    folder.mkdir(parents=True)
    write = pq.write_table if format == "parquet" else orc.write_table
    write(pa.table(columns), folder / f"file.{format}")
    table.maintenance.add_files(str(folder), format=format)


def evolve(table: Table, *changes: tuple[str, ...]) -> None:
    for name, *arguments in changes:
        with table.update_schema() as update:
            getattr(update, name)(*arguments)


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_a_column_is_not_read_from_another_one_that_has_its_later_name(lake: Any, tmp_path: Path, format: str) -> None:
    table = lake.create_table("db.t", "id bigint, a string")
    add(table, tmp_path / "one", {"id": [1], "zz": ["other"], "a": ["own"]}, format=format)
    evolve(table, ("rename_column", "a", "zz"))
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "zz": "own"}]
    assert table.scan(where="zz = 'own'").count() == 1


def test_a_member_of_a_struct_is_not_read_from_another_one_that_has_its_later_name(lake: Any, tmp_path: Path) -> None:
    table = lake.create_table("db.t", "s struct<m: bigint>")
    add(table, tmp_path / "one", {"s": [{"n": 2, "m": 1}]})
    evolve(table, ("rename_column", ("s", "m"), "n"))
    assert table.scan().to_arrow().to_pylist() == [{"s": {"n": 1}}]


@pytest.mark.parametrize(
    "changes",
    [
        [("rename_column", "a", "x"), ("rename_column", "b", "a"), ("rename_column", "x", "b")],
        [("drop_column", "a"), ("add_column", "a", "string")],
        [("drop_column", "b"), ("rename_column", "a", "b")],
    ],
)
def test_a_file_whose_name_was_another_columns_is_refused(
    lake: Any, tmp_path: Path, changes: list[tuple[str, ...]]
) -> None:
    table = lake.create_table("db.t", "id bigint, a string, b string")
    add(table, tmp_path / "one", {"id": [1], "a": ["a1"], "b": ["b1"]})
    evolve(table, *changes)
    with pytest.raises(DataFileCorrupt, match=r"would not be read as the table's column"):
        add(table, tmp_path / "two", {"id": [2], "a": ["a2"], "b": ["b2"]})


def test_a_file_with_two_columns_that_are_one_of_the_table_is_refused(lake: Any, tmp_path: Path) -> None:
    table = lake.create_table("db.t", "id bigint, a string")
    add(table, tmp_path / "one", {"id": [1], "a": ["a1"]})
    evolve(table, ("rename_column", "a", "b"))
    with pytest.raises(DataFileCorrupt, match=r"columns 'a', 'b', which are all names of one column"):
        add(table, tmp_path / "two", {"id": [2], "a": ["a2"], "b": ["b2"]})


def check_seed(lake: Any, folder: Path, seed: int) -> tuple[int, int]:
    """Imports and changes of names in random order: the values of a file stay with the columns that had their names when it
    was added. Gives how many files were added, and how many refused."""
    rng = random.Random(seed)
    table = lake.create_table(f"db.t{seed}", "id bigint, a string, b string")
    expected: dict[int, dict[int, Any]] = {}
    added = refused = 0
    for number in range(6):
        names = [field.name for field in table.schema.fields if field.name != "id"]
        if rng.random() < 0.5:
            held = rng.sample(NAMES, rng.randrange(1, len(NAMES)))
            columns = {name: [f"{name}{number}"] for name in ["id", *held]}
            columns["id"] = [number]
            rng.shuffle(order := list(columns))
            try:
                add(table, folder / f"{seed}-{number}", {name: columns[name] for name in order})
            except DataFileCorrupt:
                refused += 1
                continue
            added += 1
            lowered = {name.lower(): name for name in held}
            spelled = {name: name if name in held else lowered.get(name.lower()) for name in names}
            expected[number] = {
                field.field_id: columns[spelling][0]
                for field in table.schema.fields
                if (spelling := spelled.get(field.name)) is not None
            }
        elif rng.random() < 0.6 and names:
            free = [name for name in (*NAMES, f"x{number}") if name.lower() not in {own.lower() for own in names}]
            evolve(table, ("rename_column", rng.choice(names), rng.choice(free)))
        else:
            if len(names) > 1:
                evolve(table, ("drop_column", rng.choice(names)))
            evolve(table, ("add_column", f"n{number}", "string"))
        for row in table.scan().to_arrow().to_pylist():
            for field in table.schema.fields:
                if field.field_id in expected[row["id"]]:
                    assert row[field.name] == expected[row["id"]][field.field_id], (seed, field.name, row)
    return added, refused


def test_values_stay_with_their_columns_through_random_imports_and_renames(lake: Any, tmp_path: Path) -> None:
    counts = [check_seed(lake, tmp_path, seed) for seed in range(40)]
    assert sum(added for added, _ in counts) > 20
    assert sum(refused for _, refused in counts) > 5
