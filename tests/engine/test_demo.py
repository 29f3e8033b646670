"""The demo without Spark runs, start to end, and its last chapter agrees with DuckDB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "without_spark.py"


def test_the_demo_runs(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(DEMO), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "the story of a table" in done.stdout
    assert "DuckDB reads the same rows" in done.stdout or "is not installed" in done.stdout
