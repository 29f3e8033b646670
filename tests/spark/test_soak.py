"""A short soak; `make soak` runs ten minutes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spark_runs.soak import ENOUGH_COMMITS, Soak, by_writer


def test_a_stream_two_mergers_and_maintenance_leave_what_their_logs_say(
    session: Any, tmp_path: Path, few: bool, is_connect: bool
) -> None:
    if few or is_connect:
        pytest.skip("once, on a classic session of this Spark")
    report = Soak(session, session.lake, tmp_path).run(20)
    commits = by_writer(report)
    assert {*commits} == {"A", "B", "cdc"}
    assert min(commits.values()) >= ENOUGH_COMMITS
    assert report.carried >= 1
    half = len(report.files) // 2
    assert max(report.files[half:]) <= 2 * max(report.files[:half] or [0]) + 20
    assert report.added_files > max(report.files)
