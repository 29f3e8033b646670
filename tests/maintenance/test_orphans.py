"""Orphan removal: only what nothing refers to goes, and only when it is old enough."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyroaring import BitMap64

import floeberg as fb
from floeberg.arrow.write.delete_files import DeletedFile
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.effects.protocols import FileInfo
from floeberg.errors import InvalidInput, Throttled
from floeberg.maintenance.orphans import OrphanRequest, remove_orphan_files
from floeberg.testing.table_builder import TableBuilder

DAY = 24 * 60 * 60
MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


def lake(tmp_path: Path) -> TableBuilder:
    """A v3 table with files of every kind, all of them five days old."""
    catalog = fb.catalog("lake", warehouse=str(tmp_path / "lake"))
    builder = TableBuilder(partition_by=["p"], format_version=3, in_catalog=catalog, properties=MERGE_ON_READ)
    builder.append((1, 0), (2, 0), (3, 1)).delete("id = 1").branch("b").append((4, 1), branch="b").tag("t")
    age(tmp_path, days=5)
    return builder


def age(folder: Path, *, days: float) -> None:
    for path in folder.rglob("*"):
        then = path.stat().st_mtime - days * DAY
        os.utime(path, (then, then))


def put(path: Path, *, days: float = 5) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"nobody's")
    then = path.stat().st_mtime - days * DAY
    os.utime(path, (then, then))
    return str(path)


def below(builder: TableBuilder) -> Path:
    return Path(builder.table.location.removeprefix("file://"))


def files(builder: TableBuilder) -> set[str]:
    return {str(path) for path in below(builder).rglob("*") if path.is_file()}


def test_only_old_files_that_nothing_refers_to_are_found_and_a_dry_run_is_the_default(tmp_path):
    builder = lake(tmp_path)
    before = files(builder)
    orphans = {put(below(builder) / "data" / name) for name in ("p=0/x.parquet", "y.puffin")}
    orphans.add(put(below(builder) / "metadata" / "z-m0.avro"))
    put(below(builder) / "data" / "young.parquet", days=2)
    put(below(builder) / "data" / "_hidden" / "x.parquet")
    put(below(builder) / "data" / ".tmp.parquet")
    found = builder.table.maintenance.remove_orphans()
    assert (set(found.locations), found.dry_run) == (orphans, True)
    assert orphans < files(builder)
    done = builder.table.maintenance.remove_orphans(dry_run=False)
    assert (set(done.locations), done.left) == (orphans, ())
    assert not orphans & files(builder)
    assert before < files(builder)
    assert builder.table.maintenance.check(read_rows=True).ok
    assert len(builder.rows(ref="b")) == 3
    assert builder.table.maintenance.remove_orphans(dry_run=False).locations == ()


def test_files_of_the_last_day_need_force(tmp_path):
    builder = lake(tmp_path)
    young = put(below(builder) / "data" / "young.parquet", days=0.5)
    for dry_run in (True, False):
        with pytest.raises(InvalidInput, match="24 hours"):
            builder.table.maintenance.remove_orphans(older_than="2999-01-01", dry_run=dry_run)
    found = builder.table.maintenance.remove_orphans(older_than="2999-01-01", dry_run=False, force=True)
    assert young in found.locations
    assert builder.table.maintenance.check(read_rows=True).ok


def test_tables_that_share_files_or_folders_are_refused(tmp_path):
    builder = lake(tmp_path)
    put(below(builder) / "other" / "metadata" / "v1.metadata.json")
    with pytest.raises(InvalidInput, match="another table lies inside"):
        builder.table.maintenance.remove_orphans()
    for outside in (tmp_path, tmp_path / "lake" / "db"):
        with pytest.raises(InvalidInput, match="not in the table's folders"):
            builder.table.maintenance.remove_orphans(location=str(outside))
    assert builder.table.maintenance.remove_orphans(location=str(below(builder) / "data")).locations == ()
    builder.set({"gc.enabled": "false"})
    with pytest.raises(InvalidInput, match=r"gc\.enabled"):
        builder.table.maintenance.remove_orphans()


@pytest.mark.parametrize("location", [None, "data"])
def test_tables_of_one_folder_are_refused_unless_it_is_forced(tmp_path, location):
    catalog = fb.catalog("lake", type="sql", uri=f"sqlite:///{tmp_path}/lake.db", warehouse=str(tmp_path / "lake"))
    catalog.create_namespace("db")
    folder = str(tmp_path / "lake" / "shared")
    one, other = (catalog.create_table(f"db.{name}", "id bigint", location=folder) for name in ("one", "other"))
    one.append(pa.table({"id": [1]}))
    other.append(pa.table({"id": [2]}))
    age(tmp_path, days=5)
    where = None if location is None else f"{folder}/{location}"
    with pytest.raises(InvalidInput, match=r"another table .* has its metadata in the same folder"):
        one.maintenance.remove_orphans(dry_run=False, location=where)
    assert other.scan().count() == 1
    assert one.maintenance.remove_orphans(location=where).locations  # a dry run
    catalog.drop_table("db.other")
    assert one.maintenance.remove_orphans(dry_run=False, location=where, force=True).locations
    assert one.maintenance.remove_orphans(location=f"{folder}/data", force=True).locations == ()
    assert one.maintenance.check(read_rows=True).ok


def test_metadata_that_cannot_be_read_is_not_taken_for_nobodys(tmp_path, monkeypatch):
    builder = lake(tmp_path)
    put(below(builder) / "metadata" / "99-other.metadata.json")

    def throttled(store, location):
        raise Throttled(f"{location}: slow down")

    monkeypatch.setattr("floeberg.maintenance.orphans.read_metadata", throttled)
    with pytest.raises(Throttled):
        builder.table.maintenance.remove_orphans(dry_run=False)


def aliased(builder: TableBuilder, prefix: str) -> list[FileInfo]:
    """The table's files, as a listing of another engine names them."""
    return [FileInfo(prefix + path, 0, 0) for path in files(builder)]


def test_paths_under_another_scheme_are_an_error_unless_told_what_they_are(tmp_path):
    builder = lake(tmp_path)
    table = builder.table
    listing = aliased(builder, "hdfs://nn:8020")

    def found(**more):
        request = OrphanRequest(files=listing, **more)
        return remove_orphan_files(table._pointer, table._state, request).locations

    with pytest.raises(InvalidInput, match="another scheme or authority"):
        found()
    assert found(prefix_mismatch="ignore") == ()
    assert found(equal_schemes={"hdfs,file": "file"}, equal_authorities={"nn:8020": ""}) == ()
    listing = aliased(builder, "file:") + aliased(builder, "file://")
    assert found() == ()


def test_a_writer_that_commits_after_the_listing_keeps_its_files(tmp_path, monkeypatch):
    builder = lake(tmp_path)
    table = builder.table
    writer = TableWriter(table.metadata, table._pointer.store_for, table._pointer.effects.ids.uuid())
    target = builder.data()[0]
    deleted = DeletedFile(file_path=target.file_path, spec_id=target.spec_id, partition=target.partition)
    (pending,) = writer.write_vectors({deleted: BitMap64([0])})
    age(below(builder), days=5)
    assert pending.file_path in builder.table.maintenance.remove_orphans().locations
    store = table._pointer.store_for(table.location)
    real = type(store).list
    other = builder.second()

    def listing(self, prefix):
        yield from real(self, prefix)
        if prefix == table.location and not other.snapshots[-1].summary.get("late"):
            other.append(builder.arrow([(9, 0)]), snapshot_properties={"late": "yes"})

    monkeypatch.setattr(type(store), "list", listing)
    builder.table.maintenance.remove_orphans(dry_run=False)
    monkeypatch.undo()
    assert builder.table.refresh().maintenance.check(read_rows=True).ok
