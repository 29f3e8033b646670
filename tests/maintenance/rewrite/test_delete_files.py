"""Rewriting delete files: the same rows, fewer or other delete files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from floeberg.commit.row_delta import RowDelta
from floeberg.errors import InvalidInput
from floeberg.maintenance.rewrite import delete_files
from floeberg.maintenance.rewrite.arrow_engine import ArrowEngine
from floeberg.maintenance.rewrite.delete_files import (
    DeleteRewriteRequest,
    RewrittenDeletes,
    convert_equality_deletes,
    rewrite_position_deletes,
)
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestContent
from floeberg.sql.conditions.filters import parse_where
from floeberg.testing.interrupted_engine import InterruptedEngine
from floeberg.testing.table_builder import TableBuilder

MERGE_ON_READ = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}


def deletes(builder: TableBuilder) -> list[DataFile]:
    return [entry.data_file for entry in builder.live(ManifestContent.DELETES)]


def merge(builder: TableBuilder, **request) -> RewrittenDeletes:
    table = builder.table.refresh()
    done = rewrite_position_deletes(table._pointer, table._state, DeleteRewriteRequest(**request))
    table.refresh()
    return done


def convert(builder: TableBuilder, *others: Callable[[], object], **request) -> RewrittenDeletes:
    table = builder.table.refresh()
    engine = InterruptedEngine(ArrowEngine(table._pointer), *others)
    done = convert_equality_deletes(table._pointer, table._state, engine, DeleteRewriteRequest(**request))
    table.refresh()
    return done


def with_position_deletes(*, partition_by: tuple[str, ...] = ("p",), **properties: str) -> TableBuilder:
    """A v2 table of ten files in two partitions, with a position delete file for each."""
    given = {**MERGE_ON_READ, **{key.replace("_", "-"): value for key, value in properties.items()}}
    builder = TableBuilder(partition_by=partition_by, properties=given)
    for number in range(5):
        builder.append(*[(number * 10 + n, n % 2) for n in range(6)])
    for number in range(5):
        builder.delete(f"id in ({number * 10}, {number * 10 + 1})")
    return builder


def test_position_delete_files_of_a_partition_are_merged():
    builder = with_position_deletes()
    rows, before = builder.rows(), deletes(builder)
    done = merge(builder)
    assert builder.rows() == rows
    assert (len(before), len(deletes(builder))) == (10, 2)
    assert (done.rewritten_delete_files, done.added_delete_files) == (10, 2)
    assert done.rewritten_bytes == sum(file.file_size_in_bytes for file in before)
    assert [snapshot.operation for snapshot in done.snapshots] == ["replace"]
    assert merge(builder).snapshots == ()
    builder.delete("id = 3")
    assert 3 not in [row[0] for row in builder.rows()]


def test_only_partitions_of_the_condition_and_with_enough_files_are_merged():
    builder = with_position_deletes()
    assert merge(builder, options={"min-input-files": "6"}).snapshots == ()
    assert merge(builder, where=parse_where("p = 0")).rewritten_delete_files == 5
    assert len(deletes(builder)) == 6
    with pytest.raises(InvalidInput, match="unknown option"):
        merge(builder, options={"nope": "1"})
    with pytest.raises(InvalidInput, match="nope"):
        merge(builder, where=parse_where("nope = 0"))


def test_one_file_for_each_data_file_is_kept_where_the_table_asks_for_it():
    builder = with_position_deletes()
    builder.set({"write.delete.granularity": "file"})
    assert merge(builder, options={"rewrite-all": "true"}).snapshots == ()
    (one, *_), head = builder.data(), builder.view()
    builder.table._commit(RowDelta(added=[builder.deletes(one, 2)], view=head))
    rows = builder.rows()
    assert merge(builder, options={"rewrite-all": "true"}).rewritten_delete_files == 6
    assert builder.rows() == rows
    assert all(file.referenced_data_file for file in deletes(builder))


def test_position_deletes_become_vectors_after_an_upgrade():
    builder = with_position_deletes()
    with builder.table.update_properties() as update:
        update.set({"format-version": "3"})
    builder.table.refresh()
    rows = builder.rows()
    builder.delete("id = 12")  # one data file has a vector already, which took in its position deletes
    rows = [row for row in rows if row[0] != 12]
    done = merge(builder)
    assert all(file.is_deletion_vector for file in deletes(builder))
    assert len(deletes(builder)) == 10
    assert done.added_delete_files == 9
    assert builder.rows() == rows
    assert builder.table.maintenance.check(read_rows=True).ok


def test_deletes_of_files_that_are_gone_are_dropped():
    builder = with_position_deletes()
    rows = builder.rows()
    builder.table.maintenance.compact(options={"rewrite-all": "true"})
    left = deletes(builder)
    done = merge(builder)
    assert deletes(builder) == []
    assert (done.rewritten_delete_files, done.added_delete_files) == (len(left), 0)
    assert left
    assert builder.rows() == rows


@pytest.mark.parametrize("version", [2, 3])
def test_equality_deletes_become_deletes_by_position(version):
    builder = TableBuilder(partition_by=["p"], format_version=version, properties=MERGE_ON_READ)
    builder.append((1, 0), (2, 1), (3, 0)).append((4, 0), (5, 1), (6, 1)).delete("id = 6")
    zero, one = (next(file for file in builder.data() if file.partition == (p,)) for p in (0, 1))
    builder.table._commit(RowDelta(added=[builder.equality_deletes((1,), (4,), (5,), of=zero)]))
    builder.table._commit(RowDelta(added=[builder.equality_deletes((5,), (7,), of=one)]))
    builder.append((5, 1), (7, 1), (1, 0))
    rows = builder.rows()
    done = convert(builder)
    assert builder.rows() == rows
    assert {file.content for file in deletes(builder)} == {FileContent.POSITION_DELETES}
    assert done.rewritten_delete_files >= 2
    assert [snapshot.operation for snapshot in done.snapshots] == ["replace"]
    assert convert(builder).snapshots == ()


@pytest.mark.parametrize("version", [2, 3])
def test_a_conversion_beside_writers_loses_and_revives_nothing(version):
    for change in ("append", "delete", "equality", "compact", "update"):
        builder = TableBuilder(format_version=version, properties=MERGE_ON_READ)
        builder.append((1, 0), (2, 1), (3, 0)).append((4, 0), (5, 1), (6, 1))
        builder.table._commit(RowDelta(added=[builder.equality_deletes((1,), (5,))]))
        other = builder.second()
        later = builder.equality_deletes((2,))
        steps = {
            "append": lambda o=other, b=builder: o.append(b.arrow([(1, 9)])),
            "delete": lambda o=other: o.delete("id = 3"),
            "equality": lambda o=other, f=later: o._commit(RowDelta(added=[f])),
            "compact": lambda o=other: o.maintenance.compact(options={"rewrite-all": "true"}),
            "update": lambda o=other: o.update({"v": "u"}, where="id = 4"),
        }
        convert(builder, steps[change])
        expected = {
            "append": [1, 2, 3, 4, 6], "delete": [2, 4, 6], "equality": [3, 4, 6], "compact": [2, 3, 4, 6],
            "update": [2, 3, 4, 6],
        }  # fmt: skip
        assert [row[0] for row in builder.rows()] == expected[change], change


def test_a_merge_beside_a_compaction_is_planned_anew(monkeypatch):
    builder = with_position_deletes()
    rows = builder.rows()
    other = builder.second()
    real = delete_files.merged_deletes
    done = []

    def merged(*given, **more):
        found = real(*given, **more)
        if not done:
            done.append(other.maintenance.compact(options={"rewrite-all": "true"}))
        return found

    monkeypatch.setattr(delete_files, "merged_deletes", merged)
    merge(builder)
    assert builder.rows() == rows
    assert deletes(builder) == []
