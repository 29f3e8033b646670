from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog
from floeberg.commit.append import Append
from floeberg.commit.commit import commit_operations
from floeberg.commit.delete_files import DeleteFiles
from floeberg.commit.table_changes import (
    ChangeLocation,
    ChangeProperties,
    ChangeSchema,
    ChangeSortOrder,
    ChangeSpec,
    ChangeStatistics,
    UpgradeTable,
)
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput, SnapshotNotFound
from floeberg.expr.build import eq
from floeberg.files.manifest_list import write_manifest_list
from floeberg.spec.changes.updates import SetProperties
from floeberg.spec.snapshots.statistics import PartitionStatisticsFile, StatisticsFile
from floeberg.spec.types import LongType, StringType
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder


def statistics(snapshot_id: int, path: str = "memory://warehouse/s.puffin") -> StatisticsFile:
    return StatisticsFile(
        snapshot_id=snapshot_id, statistics_path=path, file_size_in_bytes=10, file_footer_size_in_bytes=4
    )


def test_properties_of_a_column_follow_its_name_and_go_with_it():
    metrics, bloom = "write.metadata.metrics.column.", "write.parquet.bloom-filter-enabled.column."
    given = {
        f"{metrics}v": "full", f"{bloom}v": "true", f"{metrics}s.a": "none", f"{metrics}p": "counts",
        f"{metrics}absent": "full",
    }  # fmt: skip
    builder = TableBuilder("id bigint, p int, v string, s struct<a: int>", properties=given)
    with builder.table.update_schema() as update:
        update.rename_column("v", "w")
        update.rename_column("s", "t")
        update.drop_column("p")
    kept = {name: value for name, value in builder.table.properties.items() if ".column." in name}
    assert kept == {f"{metrics}w": "full", f"{bloom}w": "true", f"{metrics}t.a": "none", f"{metrics}absent": "full"}
    with builder.table.update_schema() as update:
        update.add_column("p", StringType())
        update.add_column("v", StringType())
    assert f"{metrics}v" not in builder.table.properties


def test_properties_of_columns_that_exchange_their_names_are_exchanged():
    metrics = "write.metadata.metrics.column."
    builder = TableBuilder(properties={f"{metrics}p": "none", f"{metrics}v": "full"})
    with builder.table.update_schema() as update:
        update.rename_column("p", "v")
        update.rename_column("v", "p")
    assert builder.table.properties[f"{metrics}v"] == "none"
    assert builder.table.properties[f"{metrics}p"] == "full"
    builder.append((1, 5, "x" * 30))
    (file,) = builder.data()
    assert file.upper_bounds[3] == b"x" * 30
    assert 2 not in file.value_counts


def test_definitions_change_and_data_stays():
    builder = TableBuilder(format_version=1).append((1, 0, "a"))
    builder.table._commit(
        ChangeSchema(edit=lambda update: update.add_column("w", StringType())),
        ChangeSpec(edit=lambda update: update.add_field("bucket(4, id)")),
        ChangeSortOrder(terms=["id desc"]),
        ChangeProperties(set={"a": "b"}, remove=["c"]),
        UpgradeTable(format_version=3),
        ChangeLocation(location="memory://warehouse/elsewhere"),
    )
    metadata = builder.table.metadata
    assert [field.name for field in metadata.current_schema.fields] == ["id", "p", "v", "w"]
    assert [field.name for field in metadata.default_spec.fields] == ["id_bucket_4"]
    assert metadata.default_sort_order.is_sorted
    assert metadata.properties["a"] == "b"
    assert (metadata.format_version, metadata.location) == (3, "memory://warehouse/elsewhere")
    assert len(metadata.metadata_log) == 2, "one commit"
    assert builder.rows() == [(1, 0, "a", None)]
    builder.append((2, 0, "b", "x"))
    assert builder.table.current_snapshot.manifest_list.startswith("memory://warehouse/elsewhere/metadata/")
    assert builder.rows() == [(1, 0, "a", None), (2, 0, "b", "x")]


def test_edits_are_replayed_on_the_definition_that_is_there():
    builder = TableBuilder()
    other = builder.second()
    with other.update_schema() as update:
        update.add_column("theirs", LongType())
    with builder.table.update_schema() as update:
        update.add_column("mine", LongType())
    assert [field.name for field in builder.table.schema.fields] == ["id", "p", "v", "theirs", "mine"]
    assert [field.field_id for field in builder.table.schema.fields] == [1, 2, 3, 4, 5]
    with other.update_spec() as update:
        update.add_field("p")
    with builder.table.update_spec() as update:
        update.add_field("id")
    assert [field.name for field in builder.table.spec.fields] == ["p", "id"]


def test_what_collides_with_a_definition_that_came_first_is_said_even_if_it_is_the_same():
    builder = TableBuilder(effects=SimWorld(1).process("w").effects)  # a clock that stands still
    other = builder.second()
    mine = builder.table.update_schema()
    # Another text than theirs: equal changes in one millisecond make equal files, which counts as one change.
    mine.add_column("x", LongType(), doc="mine")
    with other.update_schema() as theirs:
        theirs.add_column("x", LongType(), doc="theirs")
    with pytest.raises(InvalidInput, match="x"):
        mine.__exit__(None, None, None)


def test_versions_go_up_and_reserved_properties_are_refused():
    builder = TableBuilder(format_version=2)
    with pytest.raises(InvalidInput, match="cannot go back"):
        builder.table._commit(UpgradeTable(format_version=1))
    with pytest.raises(InvalidInput, match="must be 1, 2 or 3"):
        builder.table._commit(ChangeProperties(set={"format-version": "x"}))
    with pytest.raises(InvalidInput, match="cannot be set"):
        builder.table._commit(ChangeProperties(set={"uuid": "x"}))
    with pytest.raises(InvalidInput, match="set and removed at once"):
        builder.table._commit(ChangeProperties(set={"a": "x"}, remove=["a"]))
    builder.table._commit(ChangeProperties(set={"format-version": "3"}))
    assert (builder.table.format_version, "format-version" in builder.table.properties) == (3, False)


def test_statistics_are_registered_for_snapshots_that_are_there():
    builder = TableBuilder().append((1,)).append((2,))
    first, second = [snapshot.snapshot_id for snapshot in builder.table.snapshots]
    partition = PartitionStatisticsFile(snapshot_id=second, statistics_path="memory://w/p", file_size_in_bytes=1)
    builder.table._commit(ChangeStatistics(set=[statistics(first), statistics(second)], set_partition=[partition]))
    builder.table._commit(ChangeStatistics(set=[statistics(first, "memory://warehouse/t")], remove=[second]))
    assert [file.statistics_path for file in builder.table.metadata.statistics] == ["memory://warehouse/t"]
    builder.table._commit(ChangeStatistics(remove_partition=[second]))
    assert not builder.table.metadata.partition_statistics
    with pytest.raises(SnapshotNotFound, match="no snapshot 5"):
        builder.table._commit(ChangeStatistics(set=[statistics(5)]))


# transactions


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_transaction_is_one_commit_of_several_snapshots(version):
    builder = TableBuilder(partition_by=["p"], format_version=version).append((1, 0))
    files = builder.data_files((2, 0)), builder.data_files((3, 1))
    committed = builder.table._commit(
        Append(files=files[0]), DeleteFiles(row_filter=eq("p", 0)), Append(files=files[1])
    )
    assert [row[0] for row in builder.rows()] == [3]
    assert [snapshot.operation for snapshot in committed.snapshots] == ["append", "delete", "append"]
    assert len(builder.table.metadata.metadata_log) == 2
    parents = [snapshot.parent_snapshot_id for snapshot in committed.snapshots[1:]]
    assert parents == [snapshot.snapshot_id for snapshot in committed.snapshots[:-1]]
    if version > 1:
        assert [snapshot.sequence_number for snapshot in committed.snapshots] == [2, 3, 4]
    current = [entry.snapshot_id for entry in builder.table.metadata.snapshot_log]
    assert current == [builder.table.snapshots[0].snapshot_id, committed.snapshots[-1].snapshot_id], (
        "what was never current has no entry in the log"
    )


def test_a_transaction_that_is_replayed_gives_its_files_new_ages_and_row_ids():
    builder = TableBuilder(partition_by=["p"], format_version=3, properties={"commit.manifest.min-count-to-merge": "2"})
    builder.append((1, 0))
    operations = [
        Append(files=builder.data_files((2, 0), (3, 1))),
        DeleteFiles(row_filter=eq("p", 0)),
        Append(files=builder.data_files((4, 1))),
    ]
    builder.second().append(builder.arrow([(7, 2), (8, 2), (9, 2)]))
    committed = commit_operations(builder.table._pointer, builder.table._state, operations)
    builder.table.refresh()
    entries = {entry.data_file.partition[0]: entry for entry in builder.live()}
    assert [snapshot.sequence_number for snapshot in committed.snapshots] == [3, 4, 5]
    ages = sorted((e.data_file.partition[0], e.data_sequence_number) for e in builder.live())
    assert ages == [(1, 3), (1, 5), (2, 2)]
    spans = [
        range(e.data_file.first_row_id, e.data_file.first_row_id + e.data_file.record_count) for e in builder.live()
    ]
    given = [row for span in spans for row in span]
    assert len(given) == len(set(given)) == 5
    assert max(given) < builder.table.metadata.next_row_id
    assert entries


def test_an_error_inside_a_transaction_commits_nothing():
    builder = TableBuilder().append((1,))
    before = builder.table.metadata_location

    def fail() -> None:
        with builder.table.transaction() as tx:
            with tx.update_properties() as update:
                update.set({"a": "b"})
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        fail()
    assert builder.table.refresh().metadata_location == before


# the metadata log


def test_former_metadata_files_are_logged_and_dropped_from_the_log_but_kept():
    builder = TableBuilder(properties={"write.metadata.previous-versions-max": "2"})
    locations = [builder.table.metadata_location]
    for number in range(4):
        locations.append(builder.append((number,)).table.metadata_location)
    assert [entry.metadata_file for entry in builder.table.metadata.metadata_log] == locations[-3:-1]
    store = builder.table._pointer.store_for(locations[0])
    assert all(store.exists(location) for location in locations)


@pytest.mark.parametrize("kind", ["memory", "filesystem"])
def test_former_metadata_files_are_deleted_where_the_table_asks_for_it(kind, tmp_path):
    held = catalog("c", type=kind, warehouse=str(tmp_path) if kind == "filesystem" else None)
    properties = {
        "write.metadata.previous-versions-max": "2",
        "write.metadata.delete-after-commit.enabled": "true",
    }
    builder = TableBuilder(properties=properties, in_catalog=held)
    locations = [builder.table.metadata_location]
    for number in range(4):
        locations.append(builder.append((number,)).table.metadata_location)
    store = builder.table._pointer.store_for(locations[0])
    assert [store.exists(location) for location in locations] == [False, False, True, True, True]
    assert len(builder.rows()) == 4


# version 1 tables of other writers


def as_v1_writers_left_it(builder: TableBuilder, *, with_list: bool):
    """The table's head as old writers wrote it: manifests named in the snapshot, or a list without counts."""
    metadata, head = builder.table.metadata, builder.table.current_snapshot
    found = Workspace(builder.table._pointer).manifests(head, metadata)
    if not with_list:
        old = replace(head, manifest_list=None, manifests=tuple(m.manifest_path for m in found))
    else:
        bare = [
            replace(
                m,
                added_files_count=None,
                existing_files_count=None,
                deleted_files_count=None,
                added_rows_count=None,
                existing_rows_count=None,
                deleted_rows_count=None,
            )
            for m in found
        ]
        data = write_manifest_list(bare, format_version=1, snapshot_id=head.snapshot_id, parent_snapshot_id=None)
        location = f"{builder.table.location}/metadata/old-list.avro"
        builder.table._pointer.store_for(location).write(location, data)
        old = replace(head, manifest_list=location)
    snapshots = metadata.snapshots.without(frozenset({head.snapshot_id})).appended(old)
    return replace(builder.table._state, metadata=replace(metadata, snapshots=snapshots))


@pytest.mark.parametrize("with_list", [True, False])
@pytest.mark.parametrize("upgrade", [None, 2, 3])
def test_snapshots_of_old_writers_are_built_upon(with_list, upgrade):
    builder = TableBuilder(partition_by=["p"], format_version=1).append((1, 0), (2, 1))
    with builder.table.update_spec() as update:
        update.add_field("bucket(4, id)")
    base = as_v1_writers_left_it(builder, with_list=with_list)
    operations = [] if upgrade is None else [UpgradeTable(format_version=upgrade)]
    operations += [Append(files=builder.data_files((3, 1))), DeleteFiles(row_filter=eq("p", 0))]
    commit_operations(builder.table._pointer, base, operations)
    builder.table.refresh()
    assert [row[0] for row in builder.rows()] == [2, 3]
    if upgrade == 3:
        assert None not in [entry.data_file.first_row_id for entry in builder.live()]


BY_EVERY_COMMIT = [
    ("commit.retry.num-retries", "many"), ("commit.retry.num-retries", "-1"), ("commit.retry.min-wait-ms", "1s"),
    ("commit.retry.total-timeout-ms", ""), ("commit.status-check.num-retries", "x"),
    ("write.metadata.compression-codec", "zip"),
]  # fmt: skip


class _SetUnchecked:
    """Sets a property as another writer may have."""

    def __init__(self, name: str, value: str) -> None:
        self._set = SetProperties({name: value})

    def updates(self, base: object, workspace: object) -> list[SetProperties]:
        return [self._set]


@pytest.mark.parametrize(("name", "value"), BY_EVERY_COMMIT)
def test_a_property_that_no_commit_could_go_by_is_refused_before_it_is_set(tmp_path, name, value):
    lake = catalog("lake", warehouse=str(tmp_path))
    lake.create_namespace("db")
    with pytest.raises(InvalidInput, match=name):
        lake.create_table("db.t", "id bigint", properties={name: value})
    assert not lake.table_exists("db.t")
    table = lake.create_table("db.t", "id bigint")
    with pytest.raises(InvalidInput, match=name), table.update_properties() as change:
        change.set({name: value})
    assert name not in lake.load_table("db.t").properties
    with pytest.raises(InvalidInput, match=name):
        lake.replace_table("db.t", "id bigint", properties={name: value})


@pytest.mark.parametrize("kind", ["filesystem", "sql", "memory"])
@pytest.mark.parametrize(("name", "value"), BY_EVERY_COMMIT)
def test_a_table_with_a_property_that_no_commit_can_go_by_is_written_and_set_right(tmp_path, kind, name, value):
    given = {"uri": f"sqlite:///{tmp_path}/lake.db"} if kind == "sql" else {}
    lake = catalog("lake", type=kind, warehouse=str(tmp_path / "warehouse"), **given)
    lake.create_namespace("db")
    table = lake.create_table("db.t", "id bigint")
    table._commit(_SetUnchecked(name, value))
    table.append(pa.table({"id": [1]}))
    assert lake.load_table("db.t").properties[name] == value
    with table.update_properties() as change:
        change.remove(name)
    assert name not in lake.load_table("db.t").properties
    assert lake.load_table("db.t").scan().count() == 1
