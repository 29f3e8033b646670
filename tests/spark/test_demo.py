"""`make demo` tells its story on local Spark, start to end, with nothing of Spark's own chatter in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


@pytest.mark.spark
def test_the_demo_runs(tmp_path: Path) -> None:
    quick = {**os.environ, "PYSPARK_SUBMIT_ARGS": "--driver-java-options -XX:TieredStopAtLevel=1 pyspark-shell"}
    command = [sys.executable, str(DEMO), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quick)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "DuckDB reads the same rows" in done.stdout or "is not installed" in done.stdout
    assert "the totals are those of the source" in done.stdout
    assert done.stderr == ""
    assert "WARN" not in done.stdout
