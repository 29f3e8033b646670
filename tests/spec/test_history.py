"""Hazard 28 at the level of metadata: clocks that jump never make history run backwards."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.spec.metadata.table_metadata_json import parse_table_metadata, write_table_metadata
from floeberg.spec.snapshots.history import CLOCK_SKEW_TOLERANCE_MS, commit_time_ms
from strategies.metadata import NOW_MS, committed, new_table

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("now_ms", "recorded_ms"),
    [(1_000_000, 1_000_000), (1_000_500, 1_000_500), (940_000, 940_000), (939_999, 1_000_001), (0, 1_000_001)],
)
def test_hazard_28_a_clock_is_believed_a_minute_back_and_no_more(now_ms: int, recorded_ms: int) -> None:
    assert commit_time_ms(now_ms, 1_000_000) == recorded_ms


@given(st.lists(st.integers(-HOUR_MS, HOUR_MS), min_size=1, max_size=20))
def test_hazard_28_logs_never_run_back_by_more_than_a_minute(jumps_ms: list[int]) -> None:
    metadata = new_table()
    for position, jump_ms in enumerate(jumps_ms):
        metadata = committed(metadata, position + 1, now_ms=NOW_MS + jump_ms)
    times = [entry.timestamp_ms for entry in metadata.snapshot_log]
    files = [entry.timestamp_ms for entry in metadata.metadata_log]
    for series in (times, files):
        for earlier, later in itertools.pairwise(series):
            assert later >= earlier - CLOCK_SKEW_TOLERANCE_MS
    assert len(times) == len(jumps_ms)
    assert metadata.last_updated_ms >= times[-1]
    assert metadata.last_updated_ms >= files[-1] - CLOCK_SKEW_TOLERANCE_MS


def test_hazard_28_a_log_that_another_writer_let_jump_is_read_and_trimmed_on_the_next_commit() -> None:
    base = committed(committed(committed(new_table(), 11), 12), 13)
    value = json.loads(write_table_metadata(base))
    value["snapshot-log"][0]["timestamp-ms"] += HOUR_MS
    value["metadata-log"][0]["timestamp-ms"] += HOUR_MS
    skewed = parse_table_metadata(json.dumps(value).encode())
    assert [entry.snapshot_id for entry in skewed.snapshot_log] == [11, 12, 13]
    after = committed(skewed, 14)
    assert [entry.snapshot_id for entry in after.snapshot_log] == [12, 13, 14]
    assert len(after.metadata_log) == 3
