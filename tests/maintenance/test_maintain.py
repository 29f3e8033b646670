"""Maintenance by policy: done only where it is worth it, with reasons and figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floeberg.api.catalog import catalog
from floeberg.commit.row_delta import RowDelta
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.maintenance.policy import figures
from floeberg.storage.local import LocalStore
from floeberg.storage.memory import MemoryStore
from floeberg.testing.table_builder import TableBuilder


def names(done) -> list[str]:
    return [action.name for action in done.actions]


@pytest.mark.parametrize("version", [2, 3])
def test_a_table_with_small_files_and_deletes_becomes_healthy_and_then_costs_nothing(version, monkeypatch):
    builder = TableBuilder(
        format_version=version,
        properties={"write.delete.mode": "merge-on-read", "history.expire.max-snapshot-age-ms": "0"},
    )
    for number in range(12):
        builder.append((number, 0), (number + 100, 0))
    builder.delete("id = 3")
    builder.table._commit(RowDelta(added=[builder.equality_deletes((4,))]))
    rows = builder.rows()
    planned = builder.table.maintenance.maintain(dry_run=True)
    assert names(planned) == ["compact", "rewrite_deletes", "expire_snapshots"]
    assert builder.rows() == rows
    done = builder.table.maintenance.maintain()
    assert names(done)[0] == "compact"
    assert names(done)[-1] == "expire_snapshots"
    assert "12 data files" in done.actions[0].reason or "deletes for" in done.actions[0].reason
    assert (done.actions[0].before.data_files, done.actions[-1].after.data_files) == (12, 1)
    assert (done.actions[-1].after.delete_files, done.actions[-1].after.snapshots) == (0, 1)
    assert builder.rows() == rows
    read: list[str] = []
    real = MemoryStore.read
    monkeypatch.setattr(MemoryStore, "read", lambda self, at, **more: (read.append(at), real(self, at, **more))[1])
    assert builder.table.maintenance.maintain().actions == ()
    assert len([one for one in read if one.endswith(".avro")]) == 1  # the manifest list


def test_few_deletes_are_rewritten_and_many_manifests_joined():
    builder = TableBuilder(format_version=3, properties={"maintain.max-manifests": "2"})
    builder.append(*[(number, 0) for number in range(100)]).append((200, 0)).append((201, 0))
    builder.table._commit(RowDelta(added=[builder.equality_deletes((4,))]))
    done = builder.table.maintenance.maintain()
    assert names(done) == ["rewrite_deletes", "rewrite_manifests"]
    assert len(builder.rows()) == 101
    assert done.actions[0].after.equality_deletes == 0


def test_a_policy_that_makes_no_sense_is_refused():
    builder = TableBuilder(properties={"maintain.delete-ratio": "7"}).append((1,))
    with pytest.raises(InvalidInput, match=r"maintain\.delete-ratio"):
        builder.table.maintenance.maintain()
    assert TableBuilder().table.maintenance.maintain().actions == ()


def small_files(builder: TableBuilder, count: int = 12) -> TableBuilder:
    for number in range(count):
        builder.append((number, 0))
    return builder


def test_with_nothing_to_do_only_the_metadata_and_the_manifest_list_are_read(tmp_path, monkeypatch):
    lake = catalog("lake", warehouse=str(tmp_path))
    builder = small_files(TableBuilder(in_catalog=lake), 3)
    other = lake.load_table("db.t")
    read: list[str] = []
    real = LocalStore.read
    monkeypatch.setattr(LocalStore, "read", lambda self, at, **more: (read.append(at), real(self, at, **more))[1])
    for spark in (None, object()):  # an object that can do nothing: no Spark job is run
        read.clear()
        assert other.maintenance.maintain(spark=spark).actions == ()
        kinds = [one.rpartition("/")[2] for one in read]
        assert [one for one in kinds if one.endswith(".avro")] == [kinds[-1]]
        assert kinds[-1].startswith("snap-")
        assert len([one for one in kinds if one.endswith(".metadata.json")]) == 1
    read.clear()
    assert [found.table for found in lake.maintain()] == ["db.t"]
    assert len([one for one in read if one.endswith((".metadata.json", ".avro"))]) == 2
    assert builder.rows() == [(number, 0, None) for number in range(3)]


def test_reading_is_measured_before_and_after_where_there_is_something_to_do():
    builder = small_files(TableBuilder())
    done = builder.table.maintenance.maintain()
    assert done.read_ms_before is not None
    assert done.read_ms_after is not None
    again = builder.table.maintenance.maintain()
    assert (again.actions, again.read_ms_before, again.read_ms_after) == ((), None, None)
    small_files(builder)
    assert builder.table.maintenance.maintain(measure_reads=False).read_ms_before is None


def test_an_action_that_finds_nothing_to_do_is_not_said():
    builder = TableBuilder(partition_by=["id"])
    small_files(builder)  # one small file in each of many partitions
    assert names(builder.table.maintenance.maintain(dry_run=True)) == ["compact"]
    assert names(builder.table.maintenance.maintain()) == []


@pytest.fixture
def read(monkeypatch) -> list[str]:
    """What is read from stores in memory."""
    found: list[str] = []
    real = MemoryStore.read
    monkeypatch.setattr(MemoryStore, "read", lambda self, at, **more: (found.append(at), real(self, at, **more))[1])
    return found


@pytest.mark.parametrize("version", [1, 3])
def test_what_was_planned_in_vain_is_planned_again_only_after_enough_was_added(read, version):
    builder = small_files(TableBuilder(partition_by=["id"], format_version=version))
    assert names(builder.table.maintenance.maintain()) == []
    read.clear()
    assert names(builder.table.maintenance.maintain()) == []
    assert len([one for one in read if one.endswith(".avro")]) == 1  # the manifest list
    assert names(builder.table.maintenance.maintain(dry_run=True)) == []
    for number in range(4):
        builder.append((3, number))
    read.clear()
    assert names(builder.table.maintenance.maintain()) == []  # five files in a partition, and fewer than ten are new
    assert len([one for one in read if one.endswith(".avro")]) == 1
    for number in range(6):
        builder.append((3, number))
    assert names(builder.table.maintenance.maintain()) == ["compact"]
    assert len(builder.data()) == 12


def test_deletes_that_were_looked_at_in_vain_are_left_until_more_come(read):
    builder = TableBuilder(
        partition_by=["id"],
        format_version=3,
        properties={
            "maintain.max-delete-files": "3",
            "write.delete.mode": "merge-on-read",
            "maintain.delete-ratio": "1",
        },
    )
    builder.append(*[(number, part) for number in range(5) for part in (0, 1)]).delete("p = 0")
    assert names(builder.table.maintenance.maintain(dry_run=True)) == ["rewrite_deletes"]
    assert names(builder.table.maintenance.maintain()) == []
    read.clear()
    assert names(builder.table.maintenance.maintain()) == []
    assert len([one for one in read if one.endswith(".avro")]) == 1


def test_many_manifests_that_are_as_large_as_they_should_be_are_left_alone():
    sized = {"maintain.max-manifests": "2", "commit.manifest.target-size-bytes": "1"}
    builder = small_files(TableBuilder(properties={**sized, "commit.manifest-merge.enabled": "false"}), 5)
    assert names(builder.table.maintenance.maintain()) == []
    with builder.table.update_properties() as update:
        update.remove("commit.manifest.target-size-bytes")
    assert names(builder.table.maintenance.maintain()) == ["rewrite_manifests"]
    assert names(builder.table.maintenance.maintain()) == []


def test_files_of_a_writer_without_totals_are_counted_from_the_manifest_list():
    builder = small_files(TableBuilder(), 3)
    metadata = builder.table.metadata
    snapshot = metadata.current_snapshot
    manifests = Workspace(builder.table._pointer).manifests(snapshot, metadata)
    stated = figures(metadata, manifests)
    monkey = replace(snapshot, summary={})
    found = figures(_With(metadata, monkey), manifests)
    assert (found.data_files, found.records, found.delete_files) == (stated.data_files, stated.records, 0)


class _With:
    """Metadata whose current snapshot has another summary."""

    def __init__(self, metadata, snapshot):
        self.current_snapshot = snapshot
        self.snapshots = metadata.snapshots
        self.properties = metadata.properties
        self.default_spec_id = metadata.default_spec_id


def test_all_tables_of_a_catalog_are_maintained_and_one_that_fails_stops_nobody(tmp_path):
    lake = catalog("lake", warehouse=str(tmp_path))
    for name in ("db.a", "db.deep.b", "other.c"):
        small_files(TableBuilder(in_catalog=lake, name=name))
    with lake.load_table("db.a").update_properties() as update:
        update.set({"maintain.delete-ratio": "7"})
    found = {one.table: one for one in lake.maintain(dry_run=True)}
    assert {*found} == {"db.a", "db.deep.b", "other.c"}
    assert isinstance(found["db.a"].error, InvalidInput)
    done = {one.table: one for one in lake.maintain("db")}
    assert {*done} == {"db.a", "db.deep.b"}
    assert names(done["db.deep.b"].done) == ["compact"]
    assert len(lake.load_table("other.c").inspect.data_files()) == 12
