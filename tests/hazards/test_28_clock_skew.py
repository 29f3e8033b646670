"""Hazard 28: clocks that jump by an hour. A minute back is believed; beyond it a commit is recorded a millisecond after the one
before. Order is never taken from the wall clock."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from floeberg.commit import snapshot_writer
from floeberg.spec.changes import table_builder as spec_builder
from floeberg.spec.snapshots import history as spec_history
from floeberg.testing.crashes import quiet_setting
from floeberg.testing.decoding import decoded_once
from floeberg.testing.sim_catalogs import FILESYSTEM, ROWS
from floeberg.testing.simulate import run_history
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
JUMPS = (0, HOUR_MS, -HOUR_MS, 0, -30_000, -90_000, 2 * HOUR_MS, 0, -HOUR_MS)


def jumping() -> tuple[TableBuilder, list[int]]:
    """A table whose writer's clock jumps before each commit, and the snapshots in the order of their commits."""
    world = SimWorld(28)
    process = world.process("writer")
    builder = TableBuilder(effects=process.effects)
    order = []
    for number, skew_ms in enumerate(JUMPS):
        process.clock.skew_ms = skew_ms
        world.time_ms += 1000
        order.append(builder.append((number,)).table.current_snapshot.snapshot_id)
    return builder, order


def steps_back(times_ms: list[int]) -> int:
    return max((before - after for before, after in pairwise(times_ms)), default=0)


def worst_step(builder: TableBuilder) -> int:
    metadata = builder.table.metadata
    return max(
        steps_back([entry.timestamp_ms for entry in metadata.snapshot_log]),
        steps_back([entry.timestamp_ms for entry in metadata.metadata_log]),
        steps_back([snapshot.timestamp_ms for snapshot in metadata.snapshots]),
    )


def test_recorded_times_never_go_back_by_more_than_a_minute():
    builder, order = jumping()
    assert worst_step(builder) <= MINUTE_MS
    assert [entry.snapshot_id for entry in builder.table.metadata.snapshot_log] == order
    assert list(builder.table.metadata.ancestor_ids(order[-1])) == order[::-1]
    assert builder.table.metadata.last_updated_ms >= max(s.timestamp_ms for s in builder.table.snapshots) - MINUTE_MS


def test_the_current_state_is_the_last_commit_whatever_its_clock_said():
    builder, order = jumping()
    assert builder.table.current_snapshot.snapshot_id == order[-1]
    assert [row[0] for row in builder.rows()] == list(range(len(JUMPS)))
    latest_ms = max(entry.timestamp_ms for entry in builder.table.metadata.snapshot_log)
    assert builder.table.metadata.snapshot_id_as_of(latest_ms) == order[-1]


def test_snapshot_and_log_say_the_same_time():
    builder, _ = jumping()
    logged = {entry.snapshot_id: entry.timestamp_ms for entry in builder.table.metadata.snapshot_log}
    assert all(logged[snapshot.snapshot_id] == snapshot.timestamp_ms for snapshot in builder.table.snapshots)


def test_believing_the_clock_would_record_a_history_that_runs_backwards(monkeypatch):
    for module in (snapshot_writer, spec_builder, spec_history):
        monkeypatch.setattr(module, "commit_time_ms", lambda now_ms, previous_ms: now_ms, raising=False)
    builder, _ = jumping()
    assert worst_step(builder) > MINUTE_MS


@pytest.mark.parametrize("catalog", [FILESYSTEM, ROWS])
def test_writers_with_different_clocks_make_no_anomaly(catalog):
    setting = replace(quiet_setting(catalog, 3), writers=4, skewed_clocks=True)
    with decoded_once():
        for seed in range(8):
            run_history(f"28-{seed}", setting)
