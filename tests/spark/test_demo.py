"""`make demo` tells its story on local Spark, start to end, with nothing of Spark's own chatter in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


@pytest.mark.spark
def test_the_demo_runs(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(DEMO), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "DuckDB reads the same rows" in done.stdout or "is not installed" in done.stdout
    assert done.stderr == ""
    assert "WARN" not in done.stdout
