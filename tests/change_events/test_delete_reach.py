"""Where equality deletes are written, so that they reach every live data file."""

import pyarrow as pa
import pytest

from floeberg.catalogs.base import LoadedTable
from floeberg.change_events.delta_commit import delta_layout, delta_operations, plan_reach
from floeberg.change_events.delta_writer import DeltaWriter
from floeberg.change_events.keys import key_fields
from floeberg.change_events.sequences import EventRules
from floeberg.commit.commit import commit_operations
from floeberg.commit.operation import SnapshotTarget
from floeberg.errors import InvalidInput, UnsupportedFeature, ValidationConflict
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestContent
from floeberg.testing.table_builder import TableBuilder
from lakes.cdc_batches import event_table, sorted_events, write_batch


def _equality(builder: TableBuilder) -> list[DataFile]:
    builder.table.refresh()
    found = [entry.data_file for entry in builder.live(ManifestContent.DELETES)]
    return [file for file in found if file.content is FileContent.EQUALITY_DELETES]


def test_a_key_that_tells_the_partition_writes_deletes_of_that_partition() -> None:
    builder = TableBuilder(partition_by=["bucket(4, id)"]).append((1, 0, "a"), (2, 0, "b"))
    write_batch(builder, [("U", (1, 5, "c"), (1,))])
    (deletes,) = _equality(builder)
    assert deletes.spec_id == builder.table.metadata.default_spec_id
    assert len(deletes.partition) == 1
    assert builder.rows() == [(1, 5, "c"), (2, 0, "b")]


def test_a_key_that_does_not_tell_the_partition_writes_global_deletes_under_a_spec_without_fields() -> None:
    builder = TableBuilder(partition_by=["p"]).append((1, 0, "a"), (2, 1, "b"))
    before = builder.table.metadata.default_spec_id
    write_batch(builder, [("U", (1, 5, "c"), (1,)), ("D", (2, 7, None), (1,))])
    (deletes,) = _equality(builder)
    metadata = builder.table.metadata
    assert metadata.spec(deletes.spec_id).fields == ()
    assert metadata.default_spec_id == before
    assert builder.rows() == [(1, 5, "c")]


def test_the_specs_of_all_live_files_are_reached_after_the_spec_changed() -> None:
    builder = TableBuilder(partition_by=["bucket(4, id)"]).append((1, 0, "a"), (2, 0, "b"))
    with builder.table.update_spec() as update:
        update.remove_field("id_bucket")
        update.add_field("truncate(10, id)")
    builder.append((11, 0, "c"))
    write_batch(builder, [("D", (key, None, None), (1,)) for key in (1, 11)])
    assert {file.spec_id for file in _equality(builder)} == {0, 1}
    assert builder.rows() == [(2, 0, "b")]


def test_a_spec_of_void_fields_only_is_no_global_one() -> None:
    builder = TableBuilder(partition_by=["p"]).append((1, 0, "a"))
    with builder.table.update_spec() as update:
        update.remove_field("p")
    builder.append((2, 0, "b"))
    write_batch(builder, [("D", (1, None, None), (1,)), ("D", (2, None, None), (1,))])
    assert all(not builder.table.metadata.spec(file.spec_id).fields for file in _equality(builder))
    assert builder.rows() == []


@pytest.mark.parametrize(
    ("partitions", "earlier_batch", "conflict"),
    [
        (["bucket(4, id)"], False, "which the equality deletes of this one do not reach"),
        (["p"], False, "another commit changed the partition specs"),
        (["p"], True, None),
    ],
)
def test_files_of_another_spec_that_a_commit_in_between_added_are_never_missed(
    partitions: list[str], earlier_batch: bool, conflict: str | None
) -> None:
    builder = TableBuilder(partition_by=partitions).append((1, 0, "a"))
    if earlier_batch:
        write_batch(builder, [("D", (9, None, None), (1,))])
    table = builder.second()
    loaded = LoadedTable(table._pointer, table._state)
    keys = key_fields(table.schema, ["id"], table="t")
    reach = plan_reach(loaded, keys)
    rules = EventRules(keys=("id",), orders=1)
    events = sorted_events(event_table(table.schema, [("U", (1, 5, "new"), (1,))], [pa.int64()]), rules)
    writer = DeltaWriter(delta_layout(loaded, keys, reach), rules, table._pointer.store_for)
    operations = delta_operations([writer.write(events.to_batches())], reach, SnapshotTarget())
    with builder.table.update_spec() as update:
        update.add_field("truncate(3, v)")
    builder.delete("id = 1").append((1, 0, "between"))
    if conflict is None:
        commit_operations(table._pointer, table._state, operations)
        builder.table.refresh()
        assert builder.rows() == [(1, 5, "new")]
    else:
        with pytest.raises(ValidationConflict, match=conflict) as refused:
            commit_operations(table._pointer, table._state, operations)
        assert refused.value.context["retry_can_help"] is True


def test_keys_of_floating_point_are_refused() -> None:
    builder = TableBuilder("id double, s struct<a int>, v variant", format_version=3)
    with pytest.raises(InvalidInput, match="key column 'id' is double; floating-point values"):
        key_fields(builder.table.schema, ["id"], table="t")
    for name in ("s", "s.a", "v"):
        with pytest.raises(InvalidInput, match="cannot be a key"):
            key_fields(builder.table.schema, [name], table="t")
    with pytest.raises(InvalidInput, match="no identifier fields"):
        key_fields(builder.table.schema, None, table="t")


def test_a_table_of_version_1_is_refused() -> None:
    builder = TableBuilder(format_version=1)
    with pytest.raises(UnsupportedFeature, match="format version 1 has no delete files"):
        write_batch(builder, [("I", (1, 0, "a"), (1,))])
