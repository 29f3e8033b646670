"""Hazard 22: a query that is killed at any point of an epoch and started again writes every row once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import floeberg as fb
from spark_runs.spark_session import KIND

POINTS = ("files written", "reply lost", "before the commit log")
BATCHES = 5


def run(folder: Path, point: str, epoch: int) -> int:
    """Runs the query in a process group of its own; gives its exit code."""
    script = Path(__file__).with_name("killed_query.py")
    tests = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(script), str(folder), point, str(epoch)]
    done = subprocess.run(
        command, env=env, cwd=folder, start_new_session=True, capture_output=True, text=True, check=False
    )
    if point == "-":
        assert done.returncode == 0, done.stderr[-3000:]
    return done.returncode


@pytest.mark.spark
@pytest.mark.skipif(KIND != "classic", reason="the query starts a session of its own")
def test_a_killed_query_that_is_started_again_writes_each_row_once(tmp_path):
    lake = fb.catalog("lake", warehouse=str(tmp_path / "lake"))
    lake.create_namespace("db")
    table = lake.create_table("db.t", "id bigint")
    (tmp_path / "input").mkdir()
    for number in range(BATCHES):
        (tmp_path / "input" / f"{number}.json").write_text(f'{{"id": {number}}}')
    for number, point in enumerate(POINTS):
        # A process that dies after its swap has committed the epoch, and is killed in the next one by the following run.
        assert run(tmp_path, point, number + 1) == -signal.SIGKILL
        assert (tmp_path / "hit").read_text() == point
        (tmp_path / "hit").unlink()
        commits = {one.name for one in (tmp_path / "checkpoint" / "commits").iterdir() if one.name.isdecimal()}
        assert str(number + 1) not in commits
        epochs = [one.summary["spark.sql.streaming.epochId"] for one in table.refresh().snapshots]
        assert (str(number + 1) in epochs) == (point != "files written")
    run(tmp_path, "-", 0)
    assert sorted(row["id"] for row in table.refresh().scan().to_arrow().to_pylist()) == [*range(BATCHES)]
    epochs = [one.summary["spark.sql.streaming.epochId"] for one in table.snapshots]
    assert epochs == [str(number) for number in range(BATCHES)]
