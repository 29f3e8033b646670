"""Appends, overwrites, deletes, updates and upserts as users ask for them."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog
from floeberg.api.table import Table
from floeberg.errors import InvalidInput, RefNotFound, UnsupportedFeature, ValidationConflict
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent

DDL = "id bigint NOT NULL, name string, p int"
MERGE_ON_READ = {f"write.{kind}.mode": "merge-on-read" for kind in ("delete", "update", "merge")}


def new_table(ddl: str = DDL, **options: Any) -> Table:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    return lake.create_table("db.t", ddl, **options)


def rows(*values: tuple[int, str | None, int | None]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([value[0] for value in values], pa.int64()),
            "name": pa.array([value[1] for value in values], pa.string()),
            "p": pa.array([value[2] for value in values], pa.int32()),
        }
    )


def found(table: Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.scan().to_arrow().to_pylist()), key=lambda row: row[0])


def files(table: Table) -> list[DataFile]:
    return [task.data_file for task in table.scan().plan()]


def delete_files(table: Table) -> list[DataFile]:
    return [delete.file for delete in table.scan().plan().delete_files]


def stored(table: Table) -> set[str]:
    folder = f"{table.location}/data"
    return {info.location for info in table._pointer.store_for(folder).list(folder)}


def test_rows_come_from_arrow_polars_pandas_and_readers() -> None:
    table = new_table()
    one = rows((1, "a", 0))
    table.append(one)
    table.append(one.to_batches()[0])
    table.append(pa.RecordBatchReader.from_batches(one.schema, one.to_batches()))
    table.append(pl.from_arrow(one))
    table.append(one.to_pandas())
    assert found(table) == [(1, "a", 0)] * 5
    with pytest.raises(InvalidInput, match="not as list"):
        table.append([{"id": 1}])


def test_an_index_with_a_name_is_a_column_and_one_without_is_left_out() -> None:
    table = new_table("name string, day int, n bigint")
    sales = pd.DataFrame({"name": ["a", "a", "b"], "day": pd.array([1, 1, 2], "Int32"), "n": [1, 2, 3]})
    table.append(sales.groupby(["name", "day"]).sum())
    assert found(table) == [("a", 1, 3), ("b", 2, 3)]
    table.overwrite(sales.set_index("name", drop=False).iloc[1:])
    assert found(table) == [("a", 1, 2), ("b", 2, 3)]
    table.overwrite(sales.iloc[[2, 0]])
    assert found(table) == [("a", 1, 1), ("b", 2, 3)]
    table.upsert(sales.groupby("name")[["n"]].max(), on=["name"])
    assert found(table) == [("a", 1, 2), ("b", 2, 3)]
    with pytest.raises(InvalidInput, match="no column 'shop'"):
        table.append(sales.rename_axis("shop"))


def test_frames_that_are_no_arrow_data_are_refused() -> None:
    table = new_table("id bigint")
    with pytest.raises(InvalidInput, match="pyarrow does not know"):
        table.append(pl.DataFrame({"id": [1]}, schema={"id": pl.Int128}))
    with pytest.raises(InvalidInput, match="Series"):
        table.append(pd.Series([1], name="id"))


def test_an_append_of_no_rows_commits_nothing() -> None:
    table = new_table()
    assert table.append(rows()) is None
    assert table.current_snapshot is None


def test_missing_columns_take_their_write_default_and_required_ones_are_refused() -> None:
    table = new_table("id bigint NOT NULL, name string", format_version=3)
    with table.update_schema() as update:
        update.add_column("kind", "string", default="plain")
    table.append(pa.table({"id": [1]}))
    assert found(table) == [(1, None, "plain")]
    before = stored(table)
    for bad, reason in (
        (pa.table({"name": ["x"]}), "required"),
        (pa.table({"id": pa.array([1, None], pa.int64())}), "null"),
        (pa.table({"id": [2], "other": [1]}), "no column 'other'"),
        (pa.table({"id": ["x"]}), "cannot be written"),
    ):
        with pytest.raises(InvalidInput, match=reason):
            table.append(bad)
    assert stored(table) == before


def test_files_follow_partitions_and_sort_order() -> None:
    table = new_table(partition_by=["p"], sort_by=["id desc"])
    table.append(rows(*((i, "x", i % 2) for i in range(400))))
    written = files(table)
    assert {file.partition for file in written} == {(0,), (1,)}
    assert all(f"/data/p={file.partition[0]}/" in file.file_path for file in written)
    assert {file.sort_order_id for file in written} == {table.sort_order.order_id}
    ids = table.scan(["id"], where="p = 0").to_arrow().column("id").to_pylist()
    assert ids == sorted(ids, reverse=True)


def test_writes_go_to_branches_and_say_what_they_are() -> None:
    table = new_table(properties=MERGE_ON_READ)
    table.append(rows((1, "a", 0)))
    with table.manage_refs() as refs:
        refs.create_branch("audit")
    table.append(rows((2, "b", 0)), branch="audit", snapshot_properties={"job": "nightly"})
    snapshot = table.delete("id = 1", branch="audit")
    assert found(table) == [(1, "a", 0)]
    assert table.scan(ref="audit").to_arrow().column("id").to_pylist() == [2]
    assert table.snapshots[1].summary["job"] == "nightly"
    assert snapshot is not None
    assert snapshot.summary["rows-deleted"] == "1"
    with pytest.raises(RefNotFound):
        table.append(rows((3, "c", 0)), branch="nowhere")


def test_overwrite_replaces_all_rows_or_those_of_a_condition_or_partitions() -> None:
    table = new_table(partition_by=["p"])
    table.append(rows((1, "a", 0), (2, "b", 1), (3, "c", None)))
    table.overwrite(rows((4, "d", 0)), where="id = 1 OR p IS NULL")
    assert found(table) == [(2, "b", 1), (4, "d", 0)]
    table.overwrite_partitions(rows((5, "e", 1)))
    assert found(table) == [(4, "d", 0), (5, "e", 1)]
    table.overwrite(rows((6, "f", 7)))
    assert found(table) == [(6, "f", 7)]
    assert [s.operation for s in table.snapshots] == ["append", "overwrite", "overwrite", "overwrite"]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_deletes_of_whole_files_touch_metadata_only(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table(partition_by=["p"], format_version=version, properties=MERGE_ON_READ)
    table.append(rows((1, "a", 0), (2, "b", 1)))
    before = stored(table)

    def no_reading(*_: object, **__: object) -> object:
        raise AssertionError("no data file must be read")

    monkeypatch.setattr("floeberg.arrow.scan.execute.read_data_file", no_reading)
    snapshot = table.delete("p = 0")
    monkeypatch.undo()
    assert snapshot is not None
    assert (snapshot.operation, snapshot.summary["rows-deleted"]) == ("delete", "1")
    assert stored(table) == before
    assert found(table) == [(2, "b", 1)]
    assert table.delete("p = 0 AND id = 77") is None


def test_deletes_need_a_condition() -> None:
    table = new_table()
    table.append(rows((1, "a", 0)))
    with pytest.raises(InvalidInput, match="where='true'"):
        table.delete(None)
    with pytest.raises(InvalidInput, match="no column"):
        table.delete("nope = 1")
    table.delete("true")
    assert found(table) == []


def test_merge_on_read_deletes_are_position_deletes_before_v3_and_vectors_after() -> None:
    for version, kind in ((2, False), (3, True)):
        table = new_table(format_version=version, properties=MERGE_ON_READ)
        table.append(rows(*((i, "x", 0) for i in range(10))))
        table.delete("id = 3")
        deletes = delete_files(table)
        assert [file.is_deletion_vector for file in deletes] == [kind]
        assert deletes[0].referenced_data_file == files(table)[0].file_path
        assert len(files(table)) == 1
        assert len(found(table)) == 9


def test_a_vector_takes_in_older_vectors_and_position_deletes_of_its_file() -> None:
    table = new_table(format_version=2, properties=MERGE_ON_READ)
    table.append(rows(*((i, "x", 0) for i in range(10))))
    table.delete("id = 1")
    with table.update_properties() as update:
        update.set({"format-version": "3"})
    assert table.format_version == 3
    table.delete("id = 2")
    table.delete("id = 3")
    deletes = delete_files(table)
    assert [(file.is_deletion_vector, file.record_count) for file in deletes] == [(True, 3)]
    snapshot = table.current_snapshot
    assert snapshot is not None
    assert snapshot.summary["removed-dvs"] == "1"
    assert [row[0] for row in found(table)] == [0, 4, 5, 6, 7, 8, 9]


def test_deletes_are_written_under_the_spec_of_their_data_file() -> None:
    for version in (2, 3):
        table = new_table(partition_by=["p"], format_version=version, properties=MERGE_ON_READ)
        table.append(rows((1, "a", 5), (2, "b", 5)))
        with table.update_spec() as update:
            update.remove_field("p")
            update.add_field("bucket(4, id)")
        table.delete("id = 1")
        deletes = delete_files(table)
        assert [(file.spec_id, file.partition) for file in deletes] == [(0, (5,))]
        assert found(table) == [(2, "b", 5)]


def test_partition_granularity_gives_one_delete_file_a_partition() -> None:
    table = new_table(partition_by=["p"], properties={**MERGE_ON_READ, "write.delete.granularity": "partition"})
    for first in (0, 10, 20):
        table.append(rows(*((first + i, "x", i % 2) for i in range(6))))
    table.delete("id IN (0, 1, 10, 11, 20)")
    deletes = delete_files(table)
    assert sorted((file.partition, file.record_count) for file in deletes) == [((0,), 3), ((1,), 2)]
    assert len(found(table)) == 13


@pytest.mark.parametrize("properties", [{}, MERGE_ON_READ])
def test_updates_set_values_and_what_functions_make_of_rows(properties: dict[str, str]) -> None:
    table = new_table(partition_by=["p"], properties=properties)
    table.append(rows((1, "a", 0), (2, None, 0), (3, "c", 1)))
    longer = lambda batch: [None if name is None else name * 2 for name in batch.column("name").to_pylist()]  # noqa: E731
    snapshot = table.update({"name": longer, "p": 9}, where="id < 3")
    assert found(table) == [(1, "aa", 9), (2, None, 9), (3, "c", 1)]
    assert snapshot is not None
    assert snapshot.summary["rows-updated"] == "2"
    assert {file.partition for file in files(table) if file.record_count} >= {(9,), (1,)}
    for assigned, reason in (
        ({"nope": 1}, "no column"),
        ({"id": None}, "required"),
        ({"id": "x"}, "cannot be set"),
        ({}, "at least one"),
        ({"name": lambda batch: ["x"]}, "gave 1 values for 2 rows"),
    ):
        with pytest.raises(InvalidInput, match=reason):
            table.update(assigned, where="id < 3")
    assert found(table) == [(1, "aa", 9), (2, None, 9), (3, "c", 1)]


@pytest.mark.parametrize("properties", [{}, MERGE_ON_READ])
def test_upserts_replace_rows_of_their_key_and_insert_others(properties: dict[str, str]) -> None:
    table = new_table(format_version=3, properties=properties)
    table.append(rows(*((i, f"n{i}", 0) for i in range(5))))
    ids = {row["id"]: row["_row_id"] for row in table.scan(["id", "_row_id"]).to_arrow().to_pylist()}
    snapshot = table.upsert(pa.table({"id": [3, 99], "name": ["new", "more"]}), on=["id"])
    assert found(table)[3:] == [(3, "new", 0), (4, "n4", 0), (99, "more", None)]
    after = {row["id"]: row["_row_id"] for row in table.scan(["id", "_row_id"]).to_arrow().to_pylist()}
    assert {key: after[key] for key in ids} == ids
    assert after[99] not in ids.values()
    assert snapshot is not None
    assert (snapshot.summary["rows-updated"], snapshot.summary["rows-inserted"]) == ("1", "1")


def test_upserts_by_identifier_fields_and_of_many_keys() -> None:
    table = new_table("id bigint NOT NULL, name string")
    with table.update_schema() as update:
        update.set_identifier_fields(["id"])
    table.append(pa.table({"id": list(range(1000)), "name": ["old"] * 1000}))
    table.upsert(pa.table({"id": list(range(500, 1500)), "name": ["new"] * 1000}))
    names = table.scan().to_arrow().column("name").to_pylist()
    assert (names.count("old"), names.count("new")) == (500, 1000)


def test_upserts_that_could_mean_two_things_are_refused() -> None:
    table = new_table("id bigint NOT NULL, x double, name string")
    table.append(pa.table({"id": [1], "x": [1.0], "name": ["a"]}))
    for data, on, reason in (
        (pa.table({"id": [1, 1], "name": ["b", "c"]}), ["id"], "id=1"),
        (pa.table({"id": [1], "x": [math.nan]}), ["x"], "cannot be a key"),
        (pa.table({"id": [1], "name": pa.array([None], pa.string())}), ["name"], "holds nulls"),
        (pa.table({"id": [1]}), ["name"], "not in the data"),
        (pa.table({"id": [1]}), None, "no identifier fields"),
    ):
        with pytest.raises(InvalidInput, match=reason):
            table.upsert(data, on=on)


def test_a_conflict_removes_the_files_that_were_written() -> None:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    mine = lake.create_table("db.t", DDL)
    mine.append(rows((1, "a", 0), (2, "b", 0)))
    theirs = lake.load_table("db.t")
    before: list[set[str]] = []

    def meanwhile(batch: pa.RecordBatch) -> pa.Array:
        if not before:
            theirs.delete("id = 1")
            before.append(stored(mine))
        return pa.array(["z"] * batch.num_rows)

    with pytest.raises(ValidationConflict, match="Run the operation again"):
        mine.update({"name": meanwhile}, "id = 2")
    assert stored(mine) == before[0]
    mine.refresh().delete("id = 2")
    assert found(mine) == []


@pytest.mark.parametrize(("isolation", "conflicts"), [("serializable", True), ("snapshot", False)])
def test_isolation_decides_whether_rows_added_meanwhile_conflict(isolation: str, conflicts: bool) -> None:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    mine = lake.create_table("db.t", DDL, properties={"write.update.isolation-level": isolation, **MERGE_ON_READ})
    mine.append(rows((1, "a", 0), (2, "b", 0)))
    theirs = lake.load_table("db.t")

    def meanwhile(batch: pa.RecordBatch) -> pa.Array:
        if theirs.metadata.last_sequence_number == 1:
            theirs.append(rows((3, "a", 0)))
        return pa.array(["z"] * batch.num_rows)

    if conflicts:
        with pytest.raises(ValidationConflict, match="added data files"):
            mine.update({"name": meanwhile}, where="name = 'a'")
    else:
        mine.update({"name": meanwhile}, where="name = 'a'")
        assert found(mine) == [(1, "z", 0), (2, "b", 0), (3, "a", 0)]


def test_a_concurrent_append_elsewhere_does_not_conflict() -> None:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    mine = lake.create_table("db.t", DDL, partition_by=["p"])
    mine.append(rows((1, "a", 0), (2, "b", 0)))
    lake.load_table("db.t").append(rows((3, "a", 1)))
    mine.delete("p = 0 AND name = 'a'")
    assert found(mine) == [(2, "b", 0), (3, "a", 1)]


def test_a_transaction_is_one_commit_whose_changes_see_one_another() -> None:
    table = new_table(format_version=3)
    table.append(rows((1, "a", 0)))
    versions = len(table.metadata.metadata_log)
    with table.transaction() as tx:
        with tx.update_schema() as update:
            update.add_column("extra", "string")
        tx.append(rows((2, "b", 0), (3, "c", 0)))
        tx.delete("id = 2")
        tx.update({"extra": "set"}, where="id = 3")
    assert len(table.metadata.metadata_log) == versions + 1
    assert found(table) == [(1, "a", 0, None), (3, "c", 0, "set")]
    ids = table.scan(["_row_id"]).to_arrow().column("_row_id").to_pylist()
    assert len(set(ids)) == 2


def test_rows_of_a_transaction_take_their_ids_when_it_commits() -> None:
    """Another commit takes the ids that were next when the rows were written and copied."""
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    table = lake.create_table("db.t", DDL, format_version=3)
    table.append(rows((1, "a", 0)))
    with table.transaction() as tx:
        tx.append(rows((2, "b", 0), (3, "c", 0)))
        tx.update({"name": "z"}, where="id = 3")
        lake.load_table("db.t").append(rows((100, "other", 0), (101, "other", 0)))
    found_rows = table.scan(["id", "_row_id"]).to_arrow().to_pylist()
    assert sorted(row["id"] for row in found_rows) == [1, 2, 3, 100, 101]
    assert len({row["_row_id"] for row in found_rows}) == 5


def test_a_failed_transaction_commits_nothing_and_leaves_no_file() -> None:
    table = new_table()
    table.append(rows((1, "a", 0)))
    before = stored(table)

    def failing() -> None:
        with table.transaction() as tx:
            tx.append(rows((2, "b", 0)))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        failing()
    assert stored(table) == before
    assert table.refresh().scan().count() == 1


def test_encrypted_tables_are_not_written() -> None:
    table = new_table(format_version=3, properties={"encryption.key-id": "k"})
    for change in (lambda: table.append(rows((1, "a", 0))), lambda: table.delete("id = 1")):
        with pytest.raises(UnsupportedFeature, match="encrypted"):
            change()


def test_properties_that_make_no_sense_are_refused_before_anything_is_written() -> None:
    for name, value, reason in (
        ("write.delete.mode", "sometimes", "copy-on-write or merge-on-read"),
        ("write.delete.isolation-level", "none", "serializable or snapshot"),
    ):
        table = new_table(properties={name: value})
        table.append(rows((1, "a", 0), (2, "b", 0)))
        with pytest.raises(InvalidInput, match=reason):
            table.delete("id = 1")


def test_object_storage_layout_spreads_files() -> None:
    table = new_table(partition_by=["p"], properties={"write.object-storage.enabled": "true"})
    table.append(rows(*((i, "x", i) for i in range(4))))
    below = [file.file_path.removeprefix(f"{table.location}/data/").split("/") for file in files(table)]
    assert all(set("".join(parts[:4])) <= {"0", "1"} and parts[4].startswith("p=") for parts in below)
    assert len({tuple(parts[:4]) for parts in below}) > 1
    plain = new_table(partition_by=["p"], properties={"write.data.path": "memory://elsewhere/place"})
    plain.append(rows((1, "x", 1)))
    assert files(plain)[0].file_path.startswith("memory://elsewhere/place/p=1/")
    assert found(plain) == [(1, "x", 1)]
    assert all(file.content is FileContent.DATA for file in files(plain))
