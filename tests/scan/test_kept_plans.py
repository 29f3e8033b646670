"""A plan is kept for as long as it is that of the same snapshot, schemas and condition."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.scan import kept_plans
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.kept_plans import Same, kept_plan, plan_again
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import choose_snapshot
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
    monkeypatch.setattr(cache.plans, "_most_files", 3)
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
