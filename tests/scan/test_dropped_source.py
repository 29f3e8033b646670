"""Plans of tables whose old partition source column is gone: https://github.com/apache/iceberg/issues/10234"""

from __future__ import annotations

import polars as pl

from floeberg.commit.append import Append
from floeberg.expr.build import col
from floeberg.scan.manifest_frames import FilesOfSpec, joined
from floeberg.scan.partition_codes import PartitionCodes
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import parse_transform
from floeberg.spec.schemas.schema import Schema
from lakes.scan_tables import add_deletes, data_file, deletes_by_file, equality_delete, names, new_table, plan

SPEC = PartitionSpec(3, (PartitionField((7,), 1000, "gone", parse_transform("mystery[3]")),))


def files(dtype: pl.DataType, *values: object) -> FilesOfSpec:
    partition = pl.Series([{"1000": value} for value in values], dtype=pl.Struct({"1000": dtype}))
    return FilesOfSpec(SPEC, SPEC.partition_type(Schema()), pl.DataFrame({"partition": partition}))


def test_files_of_a_spec_whose_column_was_dropped_are_planned_with_their_deletes() -> None:
    table = new_table(partition_by=["day"])
    table._commit(
        Append(
            files=[data_file(table, "a", partition=(1,), id=(1, 9)), data_file(table, "b", partition=(2,), id=(10, 19))]
        )
    )
    add_deletes(table, equality_delete(table, "e", "id", partition=(1,)))
    with table.update_spec() as update:
        update.remove_field("day")
    with table.update_schema() as change:
        change.drop_column("day")
    table._commit(Append(files=[data_file(table, "c", id=(20, 29))]))
    assert deletes_by_file(plan(table)) == {"a": ["e"], "b": [], "c": []}
    assert names(table, plan(table, where=col("id") > 15)) == ["b", "c"]
    assert {task.data_file.partition for task in plan(table)} == {(1,), (2,), ()}


def test_partitions_stored_under_types_that_differ_stay_apart() -> None:
    parts = [files(pl.Int32(), 1, 2), files(pl.Binary(), b"x"), files(pl.Int32(), 1)]
    found = joined(parts)
    assert [part.frame.height for part in found] == [3, 1]
    codes = PartitionCodes(found)
    assert codes.of(files(pl.Int32(), 2, 1, 9)).to_list() == [1, 0, None]
    assert codes.of(files(pl.Binary(), b"x", b"y")).to_list() == [2, None]
    assert codes.of(files(pl.String(), "x")).to_list() == [None]


def test_nulls_without_a_type_are_the_nulls_of_any_type() -> None:
    codes = PartitionCodes([files(pl.Int32(), None, 1)])
    assert codes.of(files(pl.Null(), None, None)).to_list() == [0, 0]
    codes = PartitionCodes([files(pl.Null(), None)])
    assert codes.of(files(pl.Int32(), None, 4)).to_list() == [0, None]
