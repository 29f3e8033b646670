"""Rewriting data files in one process: the same rows and lineage in fewer files, whatever the layout."""

from __future__ import annotations

import random

import pytest

from floeberg.commit.row_delta import RowDelta
from floeberg.errors import FloebergError, InvalidInput
from floeberg.maintenance.rewrite.arrow_engine import ArrowEngine
from floeberg.maintenance.rewrite.compact import RewriteRequest, Rewritten, rewrite_data_files
from floeberg.spec.snapshots.manifest_entry import ManifestContent
from floeberg.sql.conditions.filters import parse_where
from floeberg.testing.table_builder import TableBuilder

VERSIONS = pytest.mark.parametrize("version", [1, 2, 3])
MERGE_ON_READ = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}
ALL = {"rewrite-all": "true"}


def compact(builder: TableBuilder, engine=None, **request) -> Rewritten:
    table = builder.table.refresh()
    chosen = engine or ArrowEngine(table._pointer)
    try:
        return rewrite_data_files(table._pointer, table._state, chosen, RewriteRequest(**request))
    finally:
        table.refresh()


def six_files(version: int, **options) -> TableBuilder:
    """Six files of two rows in two partitions, two of whose rows are deleted."""
    builder = TableBuilder(partition_by=["p"], format_version=version, properties=MERGE_ON_READ, **options)
    for number in range(6):
        builder.append((number, number % 2, f"a{number}"), (number + 10, number % 2, f"b{number}"))
    return builder.delete("id in (3, 14)")


def lineage(builder: TableBuilder) -> list[str]:
    if builder.table.format_version < 3:
        return []
    columns = ["_row_id", "_last_updated_sequence_number"]
    return sorted(map(repr, builder.table.scan(metadata_columns=columns).to_arrow().to_pylist()))


@pytest.mark.parametrize(
    "request_",
    [
        {"options": {"min-input-files": "2"}},
        {"options": ALL, "sort_order": "id desc"},
        {"options": ALL, "sort_order": "zorder(id, v)"},
        {"options": {**ALL, "partial-progress.enabled": "true"}},
        {"options": {**ALL, "max-file-group-size-bytes": "1500"}},
    ],
)
@VERSIONS
def test_rows_and_lineage_stay_and_files_become_fewer(version, request_):
    builder = six_files(version)
    rows, ids = builder.rows(), lineage(builder)
    done = compact(builder, **request_)
    assert (builder.rows(), lineage(builder)) == (rows, ids)
    assert done.rewritten_data_files == 6
    assert done.added_data_files == len(builder.data())
    assert done.failed_data_files == 0
    assert all(snapshot.operation == "replace" for snapshot in done.snapshots)


@VERSIONS
def test_a_sort_order_sorts_each_partition_and_the_tables_own_order_is_recorded(version):
    builder = six_files(version, sort_by=["id desc"])
    compact(builder, strategy="sort", options=ALL)
    for task in builder.table.scan().plan():
        assert task.data_file.sort_order_id == builder.table.sort_order.order_id
    odd = [row["id"] for row in builder.table.scan(where="p = 1").to_arrow().to_pylist()]
    assert odd == sorted(odd, reverse=True)
    compact(builder, sort_order="id", options=ALL)
    assert {task.data_file.sort_order_id for task in builder.table.scan().plan()} == {0}


def test_z_order_keeps_rows_together_that_are_close_in_both_columns():
    builder = TableBuilder("id bigint, p int, v string")
    builder.append(*[(x, y, None) for x in range(16) for y in range(16)])
    compact(builder, sort_order="zorder(id, p)", options=ALL)
    rows = builder.table.scan().to_arrow().to_pylist()
    for start in range(0, 256, 64):
        quarter = rows[start : start + 64]
        assert max(row["id"] for row in quarter) - min(row["id"] for row in quarter) == 7
        assert max(row["p"] for row in quarter) - min(row["p"] for row in quarter) == 7


def test_only_files_that_need_it_are_rewritten():
    builder = TableBuilder().append((1,)).append((2,)).append((3,)).append((4,))
    assert compact(builder).rewritten_data_files == 0
    builder.append((5,))
    assert compact(builder).rewritten_data_files == 5
    assert compact(builder).rewritten_data_files == 0


@pytest.mark.parametrize(("version", "threshold"), [(2, "delete-ratio-threshold"), (3, "delete-file-threshold")])
def test_a_file_with_many_deletes_is_rewritten_alone(version, threshold):
    builder = TableBuilder(format_version=version, properties=MERGE_ON_READ).append(*[(n,) for n in range(10)])
    builder.delete("id = 3")
    assert compact(builder).rewritten_data_files == 0
    assert compact(builder, options={threshold: "0.1" if "ratio" in threshold else "1"}).rewritten_data_files == 1
    assert len(builder.rows()) == 9


def test_a_condition_chooses_whole_files():
    builder = six_files(3)
    done = compact(builder, where=parse_where("p = 1 and id < 4"), options=ALL)
    assert done.rewritten_data_files == 2
    assert len(builder.rows()) == 10


@VERSIONS
def test_rows_move_to_another_spec(version):
    builder = six_files(version)
    rows = builder.rows()
    with builder.table.update_spec() as spec:
        spec.add_field("bucket(2, id)")
    old = builder.table.metadata.partition_specs[0].spec_id
    compact(builder, options=ALL)
    assert {file.spec_id for file in builder.data()} == {builder.table.spec.spec_id}
    compact(builder, options={**ALL, "output-spec-id": str(old)})
    assert {file.spec_id for file in builder.data()} == {old}
    assert builder.rows() == rows


def test_equality_deletes_are_applied_and_dangling_ones_go():
    for version in (2, 3):
        builder = TableBuilder(format_version=version).append((1,), (2,)).append((3,), (4,))
        builder.table._commit(RowDelta(added=[builder.equality_deletes((1,), (4,))]))
        done = compact(builder, options={**ALL, "remove-dangling-deletes": "true"})
        assert builder.rows() == [(2, None, None), (3, None, None)]
        assert builder.live(ManifestContent.DELETES) == []
        assert done.removed_delete_files == 1


def test_rows_that_are_all_deleted_leave_no_file():
    builder = TableBuilder(format_version=3).append((1,), (2,))
    builder.table._commit(RowDelta(added=[builder.equality_deletes((1,), (2,))]))
    assert compact(builder, options=ALL).added_data_files == 0
    assert builder.data() == []


def test_files_roll_at_the_target_size():
    builder = TableBuilder("id bigint, x double")
    numbers = random.Random(7)
    for start in range(0, 40_000, 10_000):
        builder.append(*[(n, numbers.random()) for n in range(start, start + 10_000)])
    done = compact(builder, options={**ALL, "target-file-size-bytes": "160000"})
    assert done.added_data_files == 2
    assert builder.table.scan().count() == 40_000


def test_a_branch_is_compacted_by_itself():
    builder = TableBuilder().append((1,)).branch("b")
    builder.append((2,), branch="b")
    compact(builder, options=ALL, branch="b")
    assert len(builder.data(ref="b")) == 1
    assert len(builder.rows(ref="b")) == 2
    assert builder.table.current_snapshot.operation == "append"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"options": {"no-such": "1"}}, "unknown option 'no-such'"),
        ({"options": {"min-input-files": "0"}}, "at least 1"),
        ({"options": {"target-file-size-bytes": "10", "min-file-size-bytes": "10"}}, "must be greater than"),
        ({"options": {"delete-ratio-threshold": "1.5"}}, "at most 1"),
        ({"options": {"rewrite-all": "yes"}}, "one of true, false"),
        ({"options": {"output-spec-id": "7"}}, "7"),
        ({"strategy": "shuffle"}, "binpack or sort"),
        ({"strategy": "sort"}, "no sort order"),
        ({"strategy": "binpack", "sort_order": "id"}, "needs the strategy sort"),
        ({"sort_order": "zorder(id, p), v"}, "stands alone"),
        ({"sort_order": "zorder(id)"}, "at least two"),
        ({"sort_order": "nope"}, "nope"),
        ({"where": parse_where("nope = 1")}, "nope"),
        ({"branch": "nope"}, "nope"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_work(request_, message):
    builder = TableBuilder().append((1,)).append((2,))
    with pytest.raises((InvalidInput, FloebergError), match=message):
        compact(builder, **request_)
    assert len(builder.table.snapshots) == 2


def test_an_empty_table_is_left_alone():
    assert compact(TableBuilder()).snapshots == ()
