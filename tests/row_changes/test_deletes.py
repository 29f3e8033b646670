"""Deletes by position replace older ones of the same data file, on v2 and v3, and keep every row that was deleted."""

from __future__ import annotations

import random
from copy import copy

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from floeberg.api.catalog import catalog
from floeberg.api.table import Table
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.spec.snapshots.manifest_entry import DataFile

MERGE_ON_READ = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}


def table_of(version: int, files: int = 2, **properties: str) -> Table:
    """A table with `files` data files of ten rows each."""
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    table = lake.create_table("db.t", "id bigint", format_version=version, properties={**MERGE_ON_READ, **properties})
    for number in range(files):
        table.append(pa.table({"id": pa.array(range(number * 10, number * 10 + 10), pa.int64())}))
    return table


def ids(table: Table) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def delete_files(table: Table) -> list[DataFile]:
    return [delete.file for delete in table.scan().plan().delete_files]


@pytest.mark.parametrize("version", [2, 3])
def test_a_data_file_has_one_delete_file_after_many_deletes(version: int) -> None:
    table = table_of(version)
    for each in (1, 2, 11, 3, 12):
        table.delete(where=f"id = {each}")
    assert ids(table) == [0, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16, 17, 18, 19]
    found = delete_files(table)
    assert sorted(file.record_count for file in found) == [2, 3]
    assert len({file.referenced_data_file for file in found}) == 2


def test_deletes_of_a_partition_stay_beside_newer_ones_of_a_file() -> None:
    table = table_of(2, **{"write.delete.granularity": "partition"})
    table.delete(where="id IN (1, 11)")
    assert [file.referenced_data_file for file in delete_files(table)] == [None]
    with table.update_properties() as change:
        change.set({"write.delete.granularity": "file"})
    table.delete(where="id = 2")
    table.delete(where="id = 3")
    assert ids(table) == [0, 4, 5, 6, 7, 8, 9, 10, *range(12, 20)]
    assert sorted(file.record_count for file in delete_files(table)) == [2, 2], "partition: 1, 11; file: 2, 3"


def test_deletes_by_partition_are_not_replaced() -> None:
    table = table_of(2, **{"write.delete.granularity": "partition"})
    for each in (1, 2, 3):
        table.delete(where=f"id = {each}")
    assert len(delete_files(table)) == 3
    assert ids(table) == [0, *range(4, 20)]


def test_an_unknown_granularity_is_refused() -> None:
    table = table_of(2, **{"write.delete.granularity": "row"})
    with pytest.raises(InvalidInput, match="file or partition, not 'row'"):
        table.delete(where="id = 1")


@pytest.mark.parametrize("version", [2, 3])
def test_a_vector_takes_in_the_deletes_of_a_table_before_its_upgrade(version: int) -> None:
    table = table_of(2, files=1)
    table.delete(where="id = 1")
    if version == 3:
        with table.update_properties() as change:
            change.set({"format-version": "3"})
    table.delete(where="id = 2")
    (only,) = delete_files(table)
    assert only.is_deletion_vector is (version == 3)
    assert only.record_count == 2
    assert ids(table) == [0, *range(3, 10)]


@pytest.mark.parametrize("version", [2, 3])
def test_of_two_writers_that_replace_one_delete_file_the_second_loses_no_delete(version: int) -> None:
    table = table_of(version, files=1, **{"write.delete.isolation-level": "snapshot"})
    table.delete(where="id = 1")
    other = copy(table)

    def delete_while_another_deletes() -> None:
        with table.transaction() as transaction:
            transaction.delete(where="id = 2")
            other.delete(where="id = 3")

    with pytest.raises(ValidationConflict):
        delete_while_another_deletes()
    table.refresh()
    assert ids(table) == [0, 2, *range(4, 10)]


@pytest.mark.parametrize("seed", range(12))
def test_random_deletes_and_updates_leave_the_rows_of_a_model(seed: int) -> None:
    rng = random.Random(seed)
    version, granularity = rng.choice((2, 3)), rng.choice(("file", "partition"))
    table = table_of(version, files=3, **{"write.delete.granularity": granularity})
    model = set(range(30))
    for step in range(8):
        chosen = sorted(rng.sample(range(30), rng.randint(1, 5)))
        listed = ", ".join(map(str, chosen))
        if rng.random() < 0.3:
            table.update({"id": lambda rows: pc.add(rows["id"], 1000)}, where=f"id IN ({listed})")
            model = {each + 1000 if each in chosen else each for each in model}
        else:
            table.delete(where=f"id IN ({listed})")
            model -= set(chosen)
        assert ids(table) == sorted(model), (seed, step)
    if version == 3 or granularity == "file":
        paths = [file.referenced_data_file for file in delete_files(table)]
        assert len(set(paths)) == len(paths)
