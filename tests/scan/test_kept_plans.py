"""A plan is kept for as long as it is that of the same snapshot, schemas and condition."""

from __future__ import annotations

from array import array
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.expr.nodes import TRUE
from floeberg.scan import kept_plans
from floeberg.scan.explanation import Tally
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.kept_keys import KeptKeys
from floeberg.scan.kept_plans import Same, kept_plan, plan_again
from floeberg.scan.manifest_frames import FilesOfSpec
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import StructType
from floeberg.sql.conditions.filters import parse_where


@pytest.fixture
def lake(tmp_path: Path) -> Catalog:
    made = catalog("lake", warehouse=str(tmp_path))
    made.create_namespace("db")
    return made


@pytest.fixture
def table(lake: Catalog) -> Table:
    made = lake.create_table("db.t", "id BIGINT, v STRING")
    for first in (0, 10):
        made.append(pa.table({"id": [first, first + 1], "v": ["a", "b"]}))
    return made


def plan(table: Table, cache: FrameCache | None, where: str = "id < 5", snapshot_id: int | None = None) -> ScanPlan:
    metadata = table.metadata
    chosen = choose_snapshot(metadata, snapshot_id=snapshot_id)
    return plan_again(metadata, chosen, store_for=table._pointer.store_for, where=parse_where(where), cache=cache)


def test_the_same_question_has_the_same_plan(table: Table) -> None:
    cache = FrameCache()
    first = plan(table, cache)
    assert len(first) == 1
    assert plan(table, cache) is first
    assert plan(table, None) is not first
    assert plan(table, FrameCache()) is not first


def test_another_state_or_question_has_another_plan(table: Table) -> None:
    cache = FrameCache()
    first = plan(table, cache)
    assert len(plan(table, cache, "id < 50")) == 2
    before = table.current_snapshot
    assert before is not None
    table.append(pa.table({"id": [2], "v": ["c"]}))
    assert len(plan(table, cache)) == 2
    assert plan(table, cache, snapshot_id=before.snapshot_id).paths == first.paths
    with table.update_schema() as change:
        change.add_column("w", "int")
    assert plan(table, cache).schema == table.schema
    assert len(plan(table, cache, "w is null")) == 3


def test_a_table_of_the_same_name_has_its_own_plans(lake: Catalog, table: Table) -> None:
    cache = FrameCache()
    assert len(plan(table, cache)) == 1
    lake.drop_table("db.t")
    made = lake.create_table("db.t", "id BIGINT, v STRING")
    assert len(plan(made, cache)) == 0


def test_what_a_key_holds_counts_as_well(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = FrameCache()
    whole = plan(table, cache, "id >= 0")
    made = []

    def again() -> ScanPlan:
        made.append(1)
        return whole

    key = (Same(whole), "k")
    for _ in range(2):
        assert kept_plan(cache, key, again, key_files=2) is whole
    assert len(made) == 1
    monkeypatch.setattr(cache.plans, "_most_size", 3)
    for _ in range(2):
        kept_plan(cache, (Same(whole), "other"), again, key_files=2)
    assert len(made) == 3  # of four files in all, too many to keep
    monkeypatch.setattr(kept_plans, "plan_files", None)  # what was kept before is there without planning
    assert plan(table, cache, "id >= 0") is whole


def test_equal_values_are_the_same_only_if_they_are_one_object() -> None:
    one, other = (tuple(range(1000, 1003 + zero)) for zero in (0, 0))
    assert one == other
    assert Same(one) == Same(one)
    assert Same(one) != Same(other)


def test_the_delete_files_that_a_plan_holds_count_as_well(lake: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    properties = {"write.delete.mode": "merge-on-read"}
    made = lake.create_table("db.v", "id BIGINT, v STRING", properties=properties)
    for first in (0, 10, 20):
        made.append(pa.table({"id": [first, first + 1], "v": ["a", "b"]}))
    made.delete("id in (0, 10, 20)")
    narrow = plan(made, None, "id < 5")
    assert (len(narrow), narrow.held_files) == (1, 2)  # the deletes of other files are not held
    deletes = {task.data_file.file_path: task.deletes for task in plan(made, None, "id >= 0")}
    assert [task.deletes for task in narrow] == [deletes[task.data_file.file_path] for task in narrow]
    cache = FrameCache()
    monkeypatch.setattr(cache.plans, "_most_size", 5)
    whole = plan(made, cache, "id >= 0")
    assert (len(whole), whole.held_files) == (3, 6)
    assert plan(made, cache, "id >= 0") is not whole
    monkeypatch.setattr(cache.plans, "_most_size", 6)
    kept = plan(made, cache, "id >= 0")
    assert plan(made, cache, "id >= 0") is kept
    assert kept.with_parts(kept.parts[:0]).held_files == 3


def test_which_deletes_apply_counts_where_many_do() -> None:
    everywhere = pl.DataFrame({"deletes": [list(range(50))] * 10}, schema={"deletes": pl.List(pl.UInt32)})
    unpartitioned = PartitionSpec(0)
    files = FilesOfSpec(unpartitioned, StructType(()), everywhere)
    explanation = Tally(TRUE).explanation(deletes_applied=50)
    made = ScanPlan(parts=[files], deletes=[], schema=Schema(), filter=TRUE, explanation=explanation)
    assert made.held_files == 10 + 500 // 100


def test_key_values_are_kept_within_a_bound_of_their_own() -> None:
    for values in (array("q", [1]) * 2_500_000, ("a",) * 300_000):
        kept = KeptKeys()
        for number in range(5):
            kept.keep(number, values)
        assert [kept.get(number) is None for number in range(5)] == [True, True, False, False, False]
