"""Plans keep every file that may hold a matching row, and read no more than they must."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from msgspec import structs

from floeberg.api.table import Table
from floeberg.commit.append import Append
from floeberg.commit.delete_files import DeleteFiles
from floeberg.errors import InvalidInput, ManifestCorrupt, UnsupportedFeature
from floeberg.expr.bind import bind
from floeberg.expr.build import col
from floeberg.expr.evaluate import keeps
from floeberg.expr.metrics_eval import may_contain_match
from floeberg.expr.nodes import FALSE
from floeberg.expr.projection import inclusive_projection
from floeberg.expr.residual import Residuals
from floeberg.files.metric_columns import METRIC_MAPS
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.spec.snapshots.manifest_entry import DataFile
from lakes.scan_tables import (
    CountingStores,
    add_deletes,
    data_file,
    deletes_by_file,
    equality_delete,
    hand_made,
    names,
    new_table,
    plan,
    position_delete,
)
from strategies.expressions import SCHEMA, random_expression, seeds
from strategies.file_metrics import random_files, random_partition, random_spec


@given(seeds)
@settings(max_examples=5)
def test_a_plan_is_what_the_evaluation_of_each_file_keeps_in_every_version(seed: int) -> None:
    rng = random.Random(seed)
    version = rng.choice((1, 2, 3))
    specs = [random_spec(rng, 0), random_spec(rng, 1, 1003)] if version > 1 else [random_spec(rng, 0)]
    manifests = []
    for number in range(4):
        spec = rng.choice(specs)
        files = [
            structs.replace(
                file,
                file_path=f"m{number}-{file.file_path}",
                spec_id=spec.spec_id,
                partition=random_partition(rng, spec),
            )
            for file in random_files(rng)
        ]
        manifests.append((spec, files))
    manifests.sort(key=lambda pair: pair[0].spec_id)
    specs = list({spec.spec_id: spec for spec, _ in manifests}.values())
    if specs[0].spec_id != 0:
        manifests = [
            (replace(spec, spec_id=0), [structs.replace(f, spec_id=0) for f in files]) for spec, files in manifests
        ]
    table = hand_made(SCHEMA, manifests, format_version=version)
    cache = FrameCache()
    for _ in range(4):
        where = random_expression(rng)
        bound = bind(where, SCHEMA)
        expected = {
            file.file_path: Residuals(spec, SCHEMA, bound).of_partition(file.partition)
            for spec, files in manifests
            for file in files
            if keeps(inclusive_projection(spec, SCHEMA, bound), file.partition)
            and may_contain_match(bound, without_metrics(file, spec.identity_source_ids))
        }
        chosen = SnapshotChoice(table.metadata.current_snapshot, SCHEMA)
        found = plan_files(table.metadata, chosen, store_for=table.store_for, where=where, cache=cache, threads=1)
        assert {task.data_file.file_path: task.residual for task in found} == expected
        assert found.total_files == found.explanation.data.files == sum(len(files) for _, files in manifests)
        assert found.explanation.data.files_kept == len(found) == len(expected)


def without_metrics(file: DataFile, field_ids: frozenset[int]) -> DataFile:
    """A partition by identity says all there is to say of its column."""
    maps = {metric: getattr(file, metric) or {} for metric in METRIC_MAPS}
    return structs.replace(
        file, **{name: {k: v for k, v in one.items() if k not in field_ids} for name, one in maps.items()}
    )


def partitioned_table() -> Table:
    """Three manifests, of the days 1, 2 and 3; each file has ten ids of its own."""
    table = new_table(partition_by=["day"])
    for day in (1, 2, 3):
        files = [
            data_file(
                table, f"d{day}-{n}", partition=(day,), id=(day * 100 + n * 10, day * 100 + n * 10 + 9), day=(day, day)
            )
            for n in range(3)
        ]
        table._commit(Append(files=files, merge=False))
    return table


def test_a_plan_reads_the_manifest_list_and_the_manifests_kept_and_nothing_else() -> None:
    table = partitioned_table()
    stores = CountingStores(table)
    assert len(plan(table, store_for=stores.store_for)) == 9
    snapshot = table.current_snapshot
    assert snapshot is not None
    assert len(stores.calls) == 4
    assert stores.calls[0] == ("read", snapshot.manifest_list)
    stores = CountingStores(table)
    found = plan(table, store_for=stores.store_for, where=col("day") == date(1970, 1, 3))
    assert names(table, found) == ["d2-0", "d2-1", "d2-2"]
    assert len(stores.calls) == 2
    assert {name for name, _ in stores.calls} == {"read"}


def test_a_second_plan_reads_nothing_whatever_its_filter_when_the_columns_are_known() -> None:
    table = partitioned_table()
    stores, cache = CountingStores(table), FrameCache()
    plan(table, store_for=stores.store_for, cache=cache, where=col("id") > 110)
    stores.calls.clear()
    assert names(table, plan(table, store_for=stores.store_for, cache=cache, where=col("id") == 205)) == ["d2-0"]
    assert len(plan(table, store_for=stores.store_for, cache=cache)) == 9
    assert not stores.calls
    plan(table, store_for=stores.store_for, cache=cache, where=col("price") > 1.0)
    assert len(stores.calls) == 3
    stores.calls.clear()
    plan(table, store_for=stores.store_for, cache=cache, where=(col("price") > 1.0) & (col("id") > 5))
    assert not stores.calls


def test_manifests_whose_frames_have_other_columns_in_the_cache_are_planned_together() -> None:
    table = partitioned_table()
    cache = FrameCache()
    plan(table, cache=cache, where=col("id") > 110)
    table._commit(Append(files=[data_file(table, "d4", partition=(4,), id=(400, 409))], merge=False))
    assert len(plan(table, cache=cache)) == 10
    assert names(table, plan(table, cache=cache, where=col("price") > 1.0)) == names(table, plan(table))
    assert names(table, plan(table, cache=cache, where=col("id") > 309)) == ["d3-1", "d3-2", "d4"]


def test_a_cache_stays_within_its_bound() -> None:
    table = partitioned_table()
    whole = FrameCache()
    plan(table, cache=whole)
    small = FrameCache(max_bytes=whole.size_bytes // 2)
    stores = CountingStores(table)
    for _ in range(3):
        assert len(plan(table, cache=small, store_for=stores.store_for)) == 9
    assert 0 < small.size_bytes <= small.max_bytes
    assert len(stores.calls) > 4
    nothing = FrameCache(max_bytes=0)
    assert len(plan(table, cache=nothing)) == 9
    assert nothing.size_bytes == 0


def test_files_without_metrics_or_partition_statistics_are_never_dropped() -> None:
    table = new_table()
    table._commit(Append(files=[data_file(table, "bare"), data_file(table, "known", id=(1, 5))]))
    assert names(table, plan(table, where=col("id") > 7)) == ["bare"]
    assert names(table, plan(table, where=col("id").is_null())) == ["bare"]


def test_empty_files_and_a_filter_that_is_never_true_give_no_task() -> None:
    table = new_table()
    table._commit(Append(files=[data_file(table, "empty", rows=0), data_file(table, "full")]))
    assert names(table, plan(table)) == ["full"]
    assert len(plan(table, where=FALSE)) == 0


def test_a_table_without_snapshot_plans_nothing() -> None:
    found = plan(new_table())
    assert list(found) == []
    assert found.total_files == 0
    assert found.frame.height == 0
    assert found.record_count == found.size_in_bytes == 0
    assert not found.has_deletes


def test_removed_files_are_not_planned() -> None:
    table = partitioned_table()
    victim = next(task.data_file for task in plan(table) if task.data_file.file_path.endswith("d2-1.parquet"))
    table._commit(DeleteFiles(removed=[victim]))
    assert "d2-1" not in names(table, plan(table))
    assert plan(table).total_files == 8


def test_residuals_leave_out_what_the_partition_proves() -> None:
    table = partitioned_table()
    where = (col("day") == date(1970, 1, 3)) & (col("id") > 200)
    assert {str(task.residual) for task in plan(table, where=where)} == {"id > 200"}
    assert {str(task.residual) for task in plan(table, where=col("day") <= date(1970, 1, 3))} == {"TRUE"}


def test_a_plan_says_what_was_left_out_at_each_level_and_why() -> None:
    table = partitioned_table()
    found = plan(table, where=(col("day") >= date(1970, 1, 3)) & (col("id") < 210)).explanation
    assert (found.data.manifests, found.data.manifests_read, found.data.manifests_skipped_by_partition) == (3, 2, 1)
    assert (found.data.files, found.data.files_in_skipped_manifests, found.data.files_kept) == (9, 3, 1)
    assert found.data.files_skipped_by_metrics == 5
    assert (found.metrics_reasons[0].condition, found.metrics_reasons[0].files) == ("id < 210", 5)
    assert "data files kept: 1 of 9 (3 in skipped manifests, 0 skipped by partition, 5 by metrics)" in str(found)
    assert "on partitions of spec 0: day >= DATE '1970-01-03'" in str(found)


def test_a_plan_is_a_sequence_of_tasks_and_a_frame() -> None:
    table = partitioned_table()
    found = plan(table)
    tasks = list(found)
    assert found[0] == tasks[0]
    assert found[-1] == tasks[-1]
    assert found[2:5] == tasks[2:5]
    assert found.frame.get_column("file_path").to_list() == [task.data_file.file_path for task in tasks]
    assert found.record_count == 90
    assert found.size_in_bytes == 9_000
    with pytest.raises(IndexError):
        found[9]
    assert tasks[0].data_file.lower_bounds is None


def test_metrics_are_in_the_tasks_when_asked_for() -> None:
    table = partitioned_table()
    files = {task.data_file.file_path: task.data_file for task in plan(table, with_metrics=True)}
    known = data_file(table, "d1-0", partition=(1,), id=(100, 109), day=(1, 1))
    assert files[known.file_path] == known


def test_an_equality_delete_is_left_out_only_when_its_keys_cannot_match_the_filter() -> None:
    table = new_table()
    table._commit(Append(files=[data_file(table, "f", id=(1, 100), data=("a", "z"))]))
    small = equality_delete(table, "small", "id", id=(1, 4), data=("old", "old"))
    add_deletes(table, small, equality_delete(table, "large", "id", id=(50, 60), data=("old", "old")))
    assert deletes_by_file(plan(table, where=col("id") == 9)) == {"f": []}
    assert deletes_by_file(plan(table, where=col("id") > 45)) == {"f": ["large"]}
    # Whoever writes the file anew must apply them all.
    assert deletes_by_file(plan(table, where=col("id") > 45, all_deletes=True)) == {"f": ["large", "small"]}
    # Values of other columns in a delete file do not matter: the row with the key may hold another value.
    assert deletes_by_file(plan(table, where=col("data") == "new")) == {"f": ["large", "small"]}
    assert deletes_by_file(plan(table, where=(col("data") == "new") | (col("id") == 9))) == {"f": ["large", "small"]}


def test_deletes_of_other_partitions_are_not_read_when_summaries_rule_them_out() -> None:
    table = partitioned_table()
    one = next(task.data_file for task in plan(table) if task.data_file.file_path.endswith("d1-0.parquet"))
    add_deletes(table, position_delete(table, "p1", one, partition=(1,)))
    stores = CountingStores(table)
    found = plan(table, store_for=stores.store_for, where=col("day") == date(1970, 1, 3))
    assert len(stores.calls) == 2
    assert not found.has_deletes
    assert [delete.file.file_path for delete in plan(table).delete_files] == [f"{table.location}/data/p1.parquet"]
    assert plan(table).explanation.deletes_applied == 1


def test_an_unknown_column_in_the_filter_is_refused() -> None:
    with pytest.raises(InvalidInput, match="nowhere"):
        plan(new_table(), where=col("nowhere") == 1)


def test_encrypted_snapshots_manifests_and_files_are_refused_before_data_is_read() -> None:
    table = partitioned_table()
    snapshot = table.current_snapshot
    assert snapshot is not None
    stores = CountingStores(table)
    with pytest.raises(UnsupportedFeature, match="key-id"):
        plan_files(
            table.metadata, SnapshotChoice(replace(snapshot, key_id="k1"), table.schema), store_for=stores.store_for
        )
    assert not stores.calls
    table._commit(Append(files=[data_file(table, "locked", partition=(9,), key_metadata=b"secret")]))
    with pytest.raises(UnsupportedFeature, match=r"locked\.parquet is encrypted"):
        plan(table)
    assert len(plan(table, where=col("day") == date(1970, 1, 2))) == 3


def test_a_damaged_manifest_is_named() -> None:
    table = partitioned_table()
    path = next(location for _, location in calls_of(table) if not location.rpartition("/")[2].startswith("snap-"))
    store = table._pointer.store_for(path)
    store.replace(path, store.read(path)[:-20])
    with pytest.raises(ManifestCorrupt, match=path):
        plan(table)


def calls_of(table: Table) -> list[tuple[str, str]]:
    stores = CountingStores(table)
    plan(table, store_for=stores.store_for)
    return stores.calls
