"""A compaction beside writers: what they delete meanwhile is carried over to the new files, and no row comes back or goes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from floeberg.commit import rewrite_files
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import ValidationConflict
from floeberg.maintenance.rewrite import compact
from floeberg.maintenance.rewrite.arrow_engine import ArrowEngine
from floeberg.maintenance.rewrite.carried_deletes import CarriedDeletes
from floeberg.maintenance.rewrite.compact import RewriteRequest, Rewritten, rewrite_data_files
from floeberg.testing.interrupted_engine import InterruptedEngine
from floeberg.testing.table_builder import TableBuilder

MERGE_ON_READ = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}
COPY_ON_WRITE = {"write.delete.mode": "copy-on-write", "write.update.mode": "copy-on-write"}


def table(version: int, properties: dict[str, str] = MERGE_ON_READ, **options) -> TableBuilder:
    builder = TableBuilder(format_version=version, properties=properties, **options)
    for number in range(5):
        builder.append((number, number % 2, "x"), (number + 10, number % 2, "x"))
    return builder.delete("id = 13")


def compact_beside(builder: TableBuilder, *others: Callable[[], object], **request) -> Rewritten:
    engine = InterruptedEngine(ArrowEngine(builder.table._pointer), *others)
    options = {"rewrite-all": "true", **request.pop("options", {})}
    state = builder.table.refresh()._state
    done = rewrite_data_files(builder.table._pointer, state, engine, RewriteRequest(options=options, **request))
    builder.table.refresh()
    return done


def ids(builder: TableBuilder) -> list[int]:
    return sorted(row[0] for row in builder.rows())


@pytest.mark.parametrize("sort_order", [None, "id desc"])
@pytest.mark.parametrize("granularity", ["file", "partition"])
@pytest.mark.parametrize("version", [2, 3])
def test_deletes_that_come_meanwhile_are_carried_over(version, granularity, sort_order):
    builder = table(version, {**MERGE_ON_READ, "write.delete.granularity": granularity})
    other = builder.second()

    def deletes_rows():
        other.delete("id in (1, 10)")
        other.delete("id = 4")
        other.update({"v": "new"}, where="id = 2")

    done = compact_beside(builder, deletes_rows, sort_order=sort_order)
    assert ids(builder) == [0, 2, 3, 11, 12, 14]
    assert [row for row in builder.rows() if row[0] == 2] == [(2, 0, "new")]
    kept_work = version == 3 or sort_order is None
    assert (done.carried_deletes, done.redone_groups) == ((4, 0) if kept_work else (0, 1))


@pytest.mark.parametrize("version", [2, 3])
def test_deletes_of_partitioned_tables_are_carried_to_the_right_files(version):
    builder = table(version, partition_by=["p"])
    other = builder.second()
    done = compact_beside(builder, lambda: other.delete("id in (1, 10)"), lambda: other.delete("id in (3, 4)"))
    assert ids(builder) == [0, 2, 11, 12, 14]
    assert done.carried_deletes == 4


def test_deletes_come_again_between_the_attempts_of_the_commit(monkeypatch):
    for version in (2, 3):
        builder = table(version)
        other = builder.second()
        real = CarriedDeletes.carry
        left = [10, 11]

        def carry(self, base, deletes, real=real, left=left, other=other):
            found = real(self, base, deletes)
            if left:
                other.delete(f"id = {left.pop()}")
            return found

        monkeypatch.setattr(CarriedDeletes, "carry", carry)
        done = compact_beside(builder, lambda other=other: other.delete("id = 1"))
        monkeypatch.undo()
        assert ids(builder) == [0, 2, 3, 4, 12, 14]
        assert (done.carried_deletes, done.redone_groups) == (3, 0)
        assert unreferenced(builder) == set()  # what rejected attempts wrote is gone


@pytest.mark.parametrize("version", [2, 3])
def test_a_file_that_another_commit_removed_redoes_its_group_alone(version):
    builder = table(version, COPY_ON_WRITE, partition_by=["p"])
    other = builder.second()
    done = compact_beside(builder, lambda: other.delete("id = 1"), lambda: other.append(builder.arrow([(20, 0, "n")])))
    assert ids(builder) == [0, 2, 3, 4, 10, 11, 12, 14, 20]
    assert (done.redone_groups, done.carried_deletes) == (1, 0)
    assert done.rewritten_data_files == 4  # without the removed one


@pytest.mark.parametrize("version", [2, 3])
def test_an_equality_delete_that_comes_meanwhile_applies(version):
    for options in ({}, {"use-starting-sequence-number": "false"}):
        builder = table(version)
        other = builder.second()
        deletes = RowDelta(added=[builder.equality_deletes((1,), (14,))])
        done = compact_beside(builder, lambda other=other, deletes=deletes: other._commit(deletes), options=options)
        assert ids(builder) == [0, 2, 3, 4, 10, 11, 12]
        assert done.redone_groups == (1 if options else 0)


def test_without_the_carrier_deleted_rows_would_come_back(monkeypatch):
    for version in (2, 3):
        builder = table(version)
        other = builder.second()
        monkeypatch.setattr(rewrite_files, "_live_deletes_for", lambda *_, **__: [])
        compact_beside(builder, lambda other=other: other.delete("id = 1"))
        monkeypatch.undo()
        assert 1 in ids(builder)


def unreferenced(builder: TableBuilder) -> set[str]:
    """Files in the table's data folder that no snapshot has."""
    store = builder.table._pointer.store_for(builder.table.location)
    tasks = [task for one in builder.table.snapshots for task in builder.table.scan(snapshot_id=one.snapshot_id).plan()]
    known = {task.data_file.file_path for task in tasks} | {d.file.file_path for task in tasks for d in task.deletes}
    return {one.location for one in store.list(f"{builder.table.location}/data")} - known


def test_a_writer_that_keeps_removing_files_leaves_the_rest_to_the_rewrite():
    builder = table(3, COPY_ON_WRITE)
    other = builder.second()
    rows = ids(builder)
    changes = [lambda n=n: other.update({"v": f"u{n}"}, where=f"id = {n}") for n in range(3)]
    done = compact_beside(builder, *changes)
    assert ids(builder) == rows
    assert (done.redone_groups, done.rewritten_data_files) == (3, 2)
    assert unreferenced(builder) == set()


def test_a_rewrite_that_gives_up_leaves_no_files(monkeypatch):
    monkeypatch.setattr(compact, "_MOST_REDONE", 0)
    builder = table(3, COPY_ON_WRITE)
    other = builder.second()
    with pytest.raises(ValidationConflict, match="removed data files that this rewrite replaces"):
        compact_beside(builder, lambda: other.update({"v": "u"}, where="id = 1"))
    builder.table.refresh()
    assert unreferenced(builder) == set()


def test_row_lineage_survives_a_compaction_beside_updates():
    builder = table(3)
    other = builder.second()

    def lineage():
        rows = builder.table.refresh().scan(metadata_columns=["_row_id"]).to_arrow().to_pylist()
        return {row["id"]: row["_row_id"] for row in rows}

    before = lineage()
    compact_beside(builder, lambda: other.update({"v": "u"}, where="id in (2, 12)"))
    assert lineage() == before


def test_a_row_that_was_updated_before_is_not_deleted_by_the_deletes_of_its_older_version():
    builder = table(3).append((20, 0, "x"), (21, 0, "x"))
    builder.table.update({"v": "u"}, where="id = 20")  # both versions have one row id, and lie in one group
    other = builder.second()
    done = compact_beside(builder, lambda: other.delete("id = 21"))  # the new vector holds the older version of 20 too
    assert 20 in ids(builder)
    assert 21 not in ids(builder)
    assert done.carried_deletes == 1


def test_deletes_that_expired_while_their_files_were_rewritten_redo_the_group():
    builder = table(3)
    other = builder.second()

    def deletes_and_expires():
        other.delete("id = 3")
        other.maintenance.expire_snapshots(older_than="2999-01-01", retain_last=1)

    compact_beside(builder, deletes_and_expires)
    assert ids(builder) == [0, 1, 2, 4, 10, 11, 12, 14]
