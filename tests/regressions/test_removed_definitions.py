"""Expiry that also removes schemas and partition specs: their ids are never given again, and a history of schemas that has
lost one is known to be incomplete, because live files may have been written under it. What live files are read by stays."""

from __future__ import annotations

import pytest

from floeberg.commit.append import Append
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import CommitConflict
from floeberg.maintenance.expire import Expiry, expire_snapshots
from floeberg.spark.read.parquet.field_names import unsafe_ids
from floeberg.spec.changes.requirements import check_requirements, requirements_for
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates import AddPartitionSpec, RemoveSchemas
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.testing.table_builder import TableBuilder


def cleaned(builder: TableBuilder) -> None:
    table = builder.table.refresh()
    expiry = Expiry(older_than_ms=2**62, retain_last=1, clean_expired_metadata=True)
    expire_snapshots(table._pointer, table._state, expiry)
    table.refresh()


def swapped_names(builder: TableBuilder) -> None:
    with builder.table.update_schema() as schema:
        schema.rename_column("a", "c").rename_column("b", "a").rename_column("c", "b")


def test_names_that_were_swapped_and_swapped_back_are_not_trusted_after_expiry() -> None:
    builder = TableBuilder("a bigint, b bigint").append((1, 2))
    swapped_names(builder)
    builder.append((3, 4))
    swapped_names(builder)
    builder.append((5, 6))
    cleaned(builder)
    with builder.table.update_schema() as schema:
        schema.add_column("d", "bigint")
    found = unsafe_ids(builder.table.refresh().metadata)
    assert found is None or {1, 2} <= found, "a live file has a's values in the column b"
    assert len(builder.rows()) == 3


def test_a_table_that_lost_its_last_schema_is_known_to_have_an_incomplete_history() -> None:
    builder = TableBuilder("a bigint").append((1,))
    with builder.table.update_schema() as schema:
        schema.rename_column("a", "b").add_column("a", "bigint")
    builder.append((2, 3))
    with builder.table.update_schema() as schema:
        schema.drop_column("a")
    with builder.table.update_schema() as schema:
        schema.rename_column("b", "a")
    metadata = builder.append((4,)).table.refresh().metadata
    removed = tuple(one.schema_id for one in metadata.schemas if one.schema_id != metadata.current_schema_id)
    assert metadata.current_schema_id == 0
    without = apply_updates(metadata, [RemoveSchemas(removed)], now_ms=metadata.last_updated_ms)
    assert unsafe_ids(without) is None


def test_rows_stay_deleted_by_a_column_that_was_dropped_since() -> None:
    builder = TableBuilder("id bigint, k string", format_version=2).append((1, "x"), (2, "y"))
    builder.table._commit(RowDelta(added=[builder.equality_deletes(("x",), columns=["k"])]))
    with builder.table.update_schema() as schema:
        schema.add_column("other", "string")
    with builder.table.update_schema() as schema:
        schema.drop_column("k")
    with builder.table.update_schema() as schema:
        schema.drop_column("other")
    builder.append((3,))
    cleaned(builder)
    assert builder.rows() == [(2,), (3,)]
    metadata = builder.table.metadata
    assert [one.schema_id for one in metadata.schemas] == [1, 3], "those of nothing but the other column are gone"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_files_stay_in_partitions_by_columns_that_were_dropped_since(version: int) -> None:
    builder = TableBuilder(
        "id bigint, k string, d date", format_version=version, partition_by=["k", "truncate(2, k)", "day(d)"]
    ).append((1, "x", 0), (2, "y", 1))
    with builder.table.update_spec() as spec:
        for field in builder.table.spec.fields:
            spec.remove_field(field.name)
    with builder.table.update_schema() as schema:
        schema.drop_column("k").drop_column("d")
    builder.append((3,))
    cleaned(builder)
    builder.table.delete(where="id = 1")
    builder.table.maintenance.compact(options={"rewrite-all": "true"})
    builder.table.refresh()
    assert builder.rows() == [(2,), (3,)]


def test_a_spec_gets_no_id_under_which_a_writer_has_files() -> None:
    builder = TableBuilder().append((1, 0))
    with builder.table.update_spec() as spec:
        spec.add_field("p")
    pending = builder.data_file((2, 7))
    with builder.table.update_spec() as spec:
        spec.remove_field("p")
    cleaned(builder)
    with builder.table.update_spec() as spec:
        spec.add_field("bucket(16, id)")
    builder.table.refresh()._commit(Append(files=[pending]))
    builder.table.refresh()
    assert [row["id"] for row in builder.table.scan(where="id = 2").to_arrow().to_pylist()] == [2]
    assert [row["id"] for row in builder.table.scan(where="p = 7").to_arrow().to_pylist()] == [2]


def test_a_spec_that_another_commit_added_without_new_fields_is_a_conflict_for_one_that_takes_its_id() -> None:
    builder = TableBuilder(partition_by=["p", "bucket(4, id)"]).append((1, 0))
    base = builder.table.refresh().metadata
    planned = [AddPartitionSpec(PartitionSpec(1))]  # what CDC adds for deletes of all partitions, written under id 1
    with builder.table.update_spec() as spec:
        spec.remove_field("id_bucket")
    changed = builder.table.refresh().metadata
    assert changed.default_spec_id == 1
    assert changed.last_partition_id == base.last_partition_id
    with pytest.raises(CommitConflict):
        check_requirements(requirements_for(base, planned), changed)
